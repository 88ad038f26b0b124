// How it goes, while it goes, on standard error: a bar or a live rate on a terminal; elsewhere a
// line a second, once a second has passed. Owner thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <netio/loop.hpp>

#include "note_sums.hpp"

namespace netio::cli {

struct ProgressSample {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::optional<double> fraction;  // done, of what is known to come
  std::string waits_for = {};      // said instead of rates; empty: nothing is waited for
  std::string_view noun = "message";
  std::string more = {};  // said behind the rates
  bool has_bytes = true;  // false: `bytes` is not known, and not said
};

class Progress {
 public:
  // `prefix` begins every note. A quiet one prints nothing but errors.
  Progress(Loop& loop, std::string prefix, bool quiet, std::function<ProgressSample()> sample);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The terminal is needed for the data itself, written or typed: what is shown would be mixed into
  // it.
  void stay_off_terminal() noexcept { mute_ = mute_ || terminal_; }
  // A line so often where it is no terminal; 0: neither lines nor a bar. Before start().
  void show_every(std::chrono::seconds pause) noexcept {
    mute_ = mute_ || pause.count() == 0;
    period_ = pause;
  }
  void start();
  // Removes the bar. Nothing is shown afterwards but notes.
  void finish() noexcept;
  // A line of its own, but for notes that come in numbers: see NoteSums.
  void note(std::string_view text);
  void error(std::string_view text, std::string_view advice);

 private:
  void show();
  void clear_line() noexcept;
  [[nodiscard]] std::string line(const ProgressSample& sample, double elapsed_seconds,
                                 double interval_seconds) const;

  Loop& loop_;
  std::string prefix_;
  bool quiet_;
  bool terminal_;
  bool mute_;
  std::chrono::nanoseconds period_ = std::chrono::seconds(1);
  bool line_shown_ = false;
  std::function<ProgressSample()> sample_;
  std::chrono::nanoseconds started_{0};
  std::chrono::nanoseconds shown_{0};
  ProgressSample last_;
  NoteSums notes_;
  Timer timer_;
};

}  // namespace netio::cli

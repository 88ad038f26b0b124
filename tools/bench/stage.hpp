// What every kind of measurement stands on: the loop, Ctrl-C, the places where ends run, the cores
// they run on, and where they meet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <netio/context.hpp>

#include "bench/arguments.hpp"
#include "bench/measure.hpp"
#include "interrupt.hpp"
#include "progress.hpp"

namespace netio::cli {

class Stage {
 public:
  // Connects to the other machine if there is one. Throws Failure.
  explicit Stage(const BenchArguments& arguments);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] Places places() noexcept { return {*here_, *there_, cpu_here_, cpu_there_, -1}; }
  // A core for each of the three; where there are fewer cores, none is pinned.
  [[nodiscard]] Places places_with_relay() noexcept;
  // Where the address says, and what else the arguments say.
  [[nodiscard]] Case first_case() const;
  [[nodiscard]] Loop& loop() noexcept { return context_.loop(); }
  // A line on standard error, unless quiet.
  void note(const std::string& text) const;
  // Notes go through this, which may have a bar on the terminal; null: none has. It must outlive
  // its use here.
  void set_progress(Progress* progress) noexcept { progress_ = progress; }

 private:
  const BenchArguments& arguments_;
  Progress* progress_ = nullptr;
  Meeting meeting_;
  Context context_;
  Interrupt interrupt_;
  std::unique_ptr<Place> here_;
  std::unique_ptr<Place> there_;
  int cpu_here_ = -1;
  int cpu_there_ = -1;
  int cpu_between_ = -1;
};

}  // namespace netio::cli

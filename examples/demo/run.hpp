// One run of the demo: it is the event manager, starts the other processes, lets some of them have
// a hard time, ends all of them in order, and judges. One loop, no waiting anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <netio/netio.hpp>

#include "children.hpp"
#include "disturbances.hpp"
#include "ledger.hpp"
#include "live.hpp"
#include "options.hpp"
#include "report.hpp"
#include "snapshot.hpp"

namespace demo {

class Run {
 public:
  explicit Run(const Options& options);
  // The exit code.
  int run();

 private:
  enum class Phase : std::uint8_t { connecting, starting, running, ending, over };

  void listen();
  void start_child(std::size_t index);
  void start_cards_if_connected();
  void begin();
  void stop_recorder();
  void continue_recorder();
  void kill_builder();
  void strike();
  void restart_builder();
  void restart_if_gone();
  void watch();
  void show();
  void note(std::string_view what);
  void on_signal(int signal);
  void on_report(const netio::MessageView& message);
  void on_child_ended(const Children::Ended& ended);
  void end();
  void end_once_all_are_there();
  void close_manager_if_settled();
  void finish_if_done();
  void fail(int code, const std::string& what);
  [[nodiscard]] double passed() const noexcept;
  [[nodiscard]] Snapshot snapshot() const;
  int judge();

  Options options_;
  std::string name_;
  Ledger ledger_;
  netio::Context context_;
  netio::PosixSignals signals_;
  netio::EventManager manager_;
  netio::Pull reports_;
  std::string report_address_;
  netio::Timer begin_;
  netio::Timer tick_;
  netio::Timer watch_;
  netio::Timer strike_;
  netio::Timer give_up_;
  Disturbances disturbances_;
  Live live_;
  std::int64_t start_ns_ = 0;  // when event 0 is due
  std::array<Report, child_count> last_reports_{};
  std::array<State, child_count> states_{};
  Phase phase_ = Phase::connecting;
  std::size_t cards_running_ = 0;
  bool builder_killed_ = false;
  bool restart_wanted_ = false;
  bool taken_over_ = false;
  bool builds_again_ = false;
  bool told_busy_ = false;
  bool to_end_ = false;
  bool settled_ = false;  // all that is built
  bool manager_closing_ = false;
  bool manager_closed_ = false;
  bool interrupted_ = false;
  std::uint64_t built_before_kill_ = 0;  // events
  std::uint64_t revoked_before_kill_ = 0;
  std::uint64_t end_number_ = 0;  // no event at or above it is built
  double seconds_ = 0;            // until everything was settled
  int exit_code_ = 0;
  std::string failure_;
  Children children_;  // last: the first to be destroyed
};

}  // namespace demo

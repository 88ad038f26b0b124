// One run of the demo: starts the other processes, lets the card work for a while and some of them
// have a hard time, ends everything in order, and judges. One loop, no waiting anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <netio/netio.hpp>

#include "card.hpp"
#include "children.hpp"
#include "cpu_time.hpp"
#include "disturbances.hpp"
#include "ledger.hpp"
#include "options.hpp"
#include "readout.hpp"
#include "snapshot.hpp"
#include "table.hpp"

namespace demo {

class Run {
 public:
  explicit Run(const Options& options);
  // The exit code.
  int run();

 private:
  enum class Phase : std::uint8_t { connecting, running, ending, over };

  void start_children();
  void start_subscriber(std::size_t index);
  void stop_recorder();
  void continue_recorder();
  void kill_monitor();
  void restart_monitor();
  void on_signal(int signal);
  void on_report(const netio::MessageView& message);
  void on_child_ended(const Children::Ended& ended);
  void start_if_connected();
  void end();
  void end_once_all_are_there();
  void finish_if_done();
  void fail(int code, const std::string& what);
  void show();
  [[nodiscard]] Snapshot snapshot() const;
  int judge();

  Options options_;
  netio::Context context_;
  netio::PosixSignals signals_;
  Card card_;
  Readout readout_;
  netio::Pull reports_;
  std::string report_address_;
  netio::Timer tick_;
  netio::Timer end_;
  netio::Timer give_up_;
  Disturbances disturbances_;
  Table table_;
  Stopwatch stopwatch_;
  std::array<Report, child_count> last_reports_;
  std::array<Ledger, builder_count> ledgers_;
  Phase phase_ = Phase::connecting;
  bool recorder_stopped_ = false;
  bool monitor_killed_ = false;
  bool monitor_restarted_ = false;
  bool to_end_ = false;
  bool readout_closed_ = false;
  bool interrupted_ = false;
  double card_seconds_ = 0;  // for which it worked
  double seconds_ = 0;       // from the card's start to the read-out's end
  double cpu_seconds_ = 0;   // used in that time
  int exit_code_ = 0;
  std::string failure_;
  Children children_;  // last: the first to be destroyed
};

}  // namespace demo

// The trigger process: 2,000 triggers a second over an unbuffered Pair, each echoed by the read-out
// at once. While the read-out is busy it holds the card off.
#pragma once

#include <chrono>
#include <cstdint>

#include <netio/netio.hpp>

#include "cpu_time.hpp"
#include "percentiles.hpp"
#include "report.hpp"
#include "reporter.hpp"
#include "subscriber.hpp"

namespace demo {

class Trigger {
 public:
  explicit Trigger(const ChildOptions& options);
  // Until the read-out has said good-bye. The exit code.
  int run();

 private:
  void send_trigger();
  void on_message(const netio::MessageView& message);
  void on_down(const netio::Down& down);
  [[nodiscard]] Report report(bool final);

  ChildOptions options_;
  netio::Context context_;
  netio::Pair pair_;
  netio::Timer timer_;
  Reporter reporter_;
  Percentiles all_;
  Percentiles recent_;
  Report report_;
  std::uint32_t busy_ = 0;  // the read-out's level
  Stopwatch stopwatch_;     // since the connection came up
};

}  // namespace demo

// A child's line to the read-out: a Push that carries its reports, and ends the child in order.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <netio/netio.hpp>

#include "report.hpp"

namespace demo {

class Reporter {
 public:
  // `make` is asked for each report, four times a second from start() on.
  Reporter(netio::Context& context, const std::string& address,
           std::function<Report(bool final)> make);

  void start();
  // The last report with `more` behind it; the loop stops when it has arrived.
  void finish(const std::vector<std::byte>& more);
  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  void send_report();
  void send_final();

  netio::Context& context_;
  std::function<Report(bool)> make_;
  netio::Push push_;
  netio::Timer timer_;
  std::vector<std::byte> final_;
  bool finished_ = false;
};

}  // namespace demo

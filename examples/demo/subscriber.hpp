// A process that subscribes to links of the read-out, and checks and enters each fragment. Builders
// pause once at half-time, as one does that is busy with something else; a monitor looks ten times
// a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <netio/netio.hpp>

#include "cpu_time.hpp"
#include "ledger.hpp"
#include "report.hpp"
#include "reporter.hpp"
#include "roles.hpp"

namespace demo {

struct ChildOptions {
  std::uint32_t index = 0;
  std::string address;         // of the read-out, for this child's business
  std::string report_address;  // and for its reports
  std::chrono::nanoseconds run{};
};

class Subscriber {
 public:
  explicit Subscriber(const ChildOptions& options);
  // Until the read-out has said good-bye. The exit code.
  int run();

 private:
  void on_fragment(const netio::MessageView& message);
  void rest();
  void on_down(const netio::Down& down);
  [[nodiscard]] Report report(bool final) const;

  ChildOptions options_;
  const Role& role_;
  netio::Context context_;
  netio::Subscribe subscribe_;
  netio::Timer pause_;
  netio::Timer resume_;
  Reporter reporter_;
  Ledger ledger_;
  Report report_;
  Stopwatch stopwatch_;  // since the first fragment
};

}  // namespace demo

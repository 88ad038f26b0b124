// A builder process: receives fragments, checks and enters each, and pauses once at half-time, as
// one does that is busy with something else.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <netio/netio.hpp>

#include "cpu_time.hpp"
#include "ledger.hpp"
#include "report.hpp"
#include "reporter.hpp"

namespace demo {

struct ChildOptions {
  std::uint32_t index = 0;
  std::string address;         // of the read-out, for this child's business
  std::string report_address;  // and for its reports
  std::chrono::nanoseconds run{};
};

class Builder {
 public:
  explicit Builder(const ChildOptions& options);
  // Until the read-out has said good-bye. The exit code.
  int run();

 private:
  void on_fragment(const netio::MessageView& message);
  void on_down(const netio::Down& down);
  [[nodiscard]] Report report(bool final) const;

  ChildOptions options_;
  netio::Context context_;
  netio::Pull pull_;
  netio::Timer pause_;
  netio::Timer resume_;
  Reporter reporter_;
  Ledger ledger_;
  Report report_;
  Stopwatch stopwatch_;  // since the connection came up
};

}  // namespace demo

// A child's line to the demo: a Push that carries its reports, and ends the child in order.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include <netio/netio.hpp>

#include "child_options.hpp"
#include "report.hpp"

namespace demo {

class Reporter {
 public:
  // `fill` writes what belongs to the role into each report, ten times a second.
  Reporter(netio::Context& context, const ChildOptions& options,
           std::function<void(Report&, bool final)> fill);

  // A report now, because something has changed that the demo waits for.
  void tell();
  // The last report. The loop stops when it has arrived.
  void finish();
  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  [[nodiscard]] Report make(bool final);
  void send_final();

  netio::Context& context_;
  std::uint32_t child_;
  std::function<void(Report&, bool)> fill_;
  netio::Push push_;
  netio::Timer timer_;
  std::optional<Report> final_;
  bool ending_ = false;
  bool finished_ = false;
};

}  // namespace demo

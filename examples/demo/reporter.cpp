// A report that finds the wire full is left out: the next one says more.
#include "reporter.hpp"

#include <chrono>
#include <span>
#include <utility>

#include "cpu_time.hpp"

namespace demo {

Reporter::Reporter(netio::Context& context, const ChildOptions& options,
                   std::function<void(Report&, bool final)> fill)
    : context_(context),
      child_(static_cast<std::uint32_t>(options.index)),
      fill_(std::move(fill)),
      push_(context),
      timer_(context.loop(), [this] { tell(); }) {
  push_.on_writable([this] {
    if (final_) send_final();
  });
  push_.on_closed([this](const netio::Books& books) {
    finished_ = books.dropped() == 0;
    context_.stop();
  });
  push_.connect(options.report_address);
  timer_.start_periodic(std::chrono::milliseconds(100));
}

Report Reporter::make(bool final) {
  Report report;
  report.child = child_;
  report.final = final ? 1 : 0;
  report.at_ns = steady_ns();
  report.cpu_seconds = cpu_seconds();
  fill_(report, final);
  return report;
}

void Reporter::tell() {
  const Report report = make(false);
  (void)push_.send(std::as_bytes(std::span(&report, 1)));
}

void Reporter::finish() {
  if (std::exchange(ending_, true)) return;
  timer_.stop();
  final_ = make(true);
  send_final();
}

void Reporter::send_final() {
  if (push_.send(std::as_bytes(std::span(&*final_, 1))) != netio::Status::ok) return;
  final_.reset();
  push_.close();
}

}  // namespace demo

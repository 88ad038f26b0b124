// Reports that find the wire full are left out: the next one says more.
#include "reporter.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace demo {

Reporter::Reporter(netio::Context& context, const std::string& address,
                   std::function<Report(bool final)> make)
    : context_(context),
      make_(std::move(make)),
      push_(context),
      timer_(context.loop(), [this] { send_report(); }) {
  push_.on_writable([this] {
    if (!final_.empty()) send_final();
  });
  push_.on_closed([this](const netio::Books& books) {
    finished_ = books.dropped() == 0;
    context_.stop();
  });
  push_.connect(address);
}

void Reporter::start() { timer_.start_periodic(std::chrono::milliseconds(250)); }

void Reporter::send_report() {
  const Report report = make_(false);
  (void)push_.send(std::as_bytes(std::span(&report, 1)));
}

void Reporter::finish(const std::vector<std::byte>& more) {
  timer_.stop();
  const Report report = make_(true);
  const auto bytes = std::as_bytes(std::span(&report, 1));
  final_.assign(bytes.begin(), bytes.end());
  final_.insert(final_.end(), more.begin(), more.end());
  send_final();
}

void Reporter::send_final() {
  if (push_.send(final_) != netio::Status::ok) return;  // on_writable tries again
  final_.clear();
  push_.close();
}

}  // namespace demo

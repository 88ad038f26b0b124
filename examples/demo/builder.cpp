// What a builder does with each fragment is all in on_fragment().
#include "builder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fragment.hpp"
#include "text.hpp"

namespace demo {

Builder::Builder(const ChildOptions& options)
    : options_(options),
      pull_(context_),
      pause_(context_.loop(),
             [this] {
               pull_.pause();
               resume_.start_once(std::min<std::chrono::nanoseconds>(
                   options_.run / 20, std::chrono::milliseconds(300)));
             }),
      resume_(context_.loop(), [this] { pull_.resume(); }),
      reporter_(context_, options.report_address, [this](bool final) { return report(final); }) {
  report_.child = options.index;
  pull_.on_message([this](const netio::MessageView& message) { on_fragment(message); });
  pull_.on_up([this](const netio::PeerInfo&) { reporter_.start(); });
  pull_.on_down([this](const netio::PeerInfo&, const netio::Down& down) { on_down(down); });
}

int Builder::run() {
  pull_.connect(options_.address);
  context_.run();
  return reporter_.finished() ? 0 : 1;
}

void Builder::on_fragment(const netio::MessageView& message) {
  FragmentHeader header;
  if (!read_fragment(message.bytes(), header)) {
    ++report_.damaged;
    return;
  }
  // All builders at the same time: one alone would only leave its share to the other.
  if (report_.fragments++ == 0) {
    stopwatch_.reset();
    pause_.start_once(options_.run / 2);
  }
  report_.bytes += message.size();
  switch (ledger_.enter(header.link, header.sequence)) {
    case Ledger::Entry::in_order:
      break;
    case Ledger::Entry::late:
      ++report_.out_of_order;
      break;
    case Ledger::Entry::twice:
      ++report_.twice;
      break;
  }
}

void Builder::on_down(const netio::Down& down) {
  if (down.reason != netio::DownReason::closed_by_peer) {
    print(stderr, "builder {}: {}\n", options_.index + 1, down.detail);
    context_.stop();
    return;
  }
  pause_.stop();
  std::vector<std::byte> ledger;
  ledger_.pack(ledger);
  pull_.close();
  reporter_.finish(ledger);
}

Report Builder::report(bool final) const {
  Report report = report_;
  report.final = final;
  if (report.fragments == 0) return report;
  report.seconds = stopwatch_.seconds();
  report.cpu_seconds = stopwatch_.cpu_seconds();
  return report;
}

}  // namespace demo

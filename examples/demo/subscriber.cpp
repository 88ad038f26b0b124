// What a subscriber does with each fragment is all in on_fragment().
#include "subscriber.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "fragment.hpp"
#include "text.hpp"

namespace demo {

namespace {

// A monitor's: so many fragments, ten times a second.
constexpr std::uint64_t fragments_per_look = 4000;
constexpr std::chrono::milliseconds look_period{100};

netio::SubscribeOptions options_of(const Role& role) {
  netio::SubscribeOptions options;
  options.policy = role.policy;
  options.behind_bytes_max = role.behind_bytes_max;
  return options;
}

}  // namespace

Subscriber::Subscriber(const ChildOptions& options)
    : options_(options),
      role_(roles[options.index]),
      subscribe_(context_, options_of(role_)),
      pause_(context_.loop(),
             [this] {
               subscribe_.pause();
               resume_.start_once(std::min<std::chrono::nanoseconds>(
                   options_.run / 20, std::chrono::milliseconds(300)));
             }),
      resume_(context_.loop(), [this] { subscribe_.resume(); }),
      reporter_(context_, options.report_address, [this](bool final) { return report(final); }) {
  report_.child = options.index;
  subscribe_.subscribe(role_.links);
  subscribe_.subscribe(name_tag(options.index));
  subscribe_.on_message([this](const netio::MessageView& message) { on_fragment(message); });
  subscribe_.on_gap([this](const netio::PeerInfo&, const netio::Gap& gap) {
    report_.missed_by[static_cast<std::size_t>(gap.reason)] += gap.count;
  });
  subscribe_.on_up([this](const netio::PeerInfo&) { reporter_.start(); });
  subscribe_.on_down([this](const netio::PeerInfo&, const netio::Down& down) { on_down(down); });
}

int Subscriber::run() {
  subscribe_.connect(options_.address);
  context_.run();
  return reporter_.finished() ? 0 : 1;
}

void Subscriber::on_fragment(const netio::MessageView& message) {
  FragmentHeader header;
  const bool first = report_.fragments++ == 0;
  if (first) stopwatch_.reset();
  report_.bytes += message.size();
  if (!read_fragment(message.bytes(), header) || header.link != message.tag()) {
    ++report_.damaged;
    return;
  }
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
  if (role_.policy == netio::Policy::sample) {
    if (report_.fragments % fragments_per_look == 0) rest();
  } else if (first && role_.policy == netio::Policy::block) {
    pause_.start_once(options_.run / 2);
  }
}

// Until it is time to look again.
void Subscriber::rest() {
  subscribe_.pause();
  resume_.start_once(look_period);
}

void Subscriber::on_down(const netio::Down& down) {
  if (down.reason != netio::DownReason::closed_by_peer) {
    print(stderr, "{}: {}\n", role_.name, down.detail);
    context_.stop();
    return;
  }
  pause_.stop();
  std::vector<std::byte> ledger;
  if (role_.policy == netio::Policy::block) ledger_.pack(ledger);
  subscribe_.close();
  reporter_.finish(ledger);
}

Report Subscriber::report(bool final) const {
  Report report = report_;
  report.final = final;
  const netio::Books books = subscribe_.books();
  report.delivered = books.delivered;
  report.missed = books.missed;
  if (report.fragments == 0) return report;
  report.seconds = stopwatch_.seconds();
  report.cpu_seconds = stopwatch_.cpu_seconds();
  return report;
}

}  // namespace demo

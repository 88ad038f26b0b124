// What a subscriber does with each event is all in on_event().
#include "subscriber.hpp"

#include <chrono>

#include "context_options.hpp"
#include "cpu_time.hpp"
#include "event_message.hpp"

namespace demo {

namespace {

// A monitor's: so many events, ten times a second. With fewer, it would see older events: the wire
// holds some hundred.
constexpr std::uint64_t events_per_look = 200;
constexpr std::chrono::milliseconds look_period{100};
// Of so many events the recorder notes the age of one.
constexpr std::uint64_t events_per_age = 16;

netio::SubscribeOptions subscribe_options(bool recorder) {
  netio::SubscribeOptions options;
  options.policy = recorder ? netio::Policy::block : netio::Policy::sample;
  options.behind_bytes_max = std::size_t{1} << 20U;
  return options;
}

// A builder that was killed is found soon after it was started again.
netio::SocketOptions socket_options() {
  netio::SocketOptions options;
  options.reconnect_after_max = std::chrono::milliseconds(100);
  return options;
}

}  // namespace

Subscriber::Subscriber(const ChildOptions& options)
    : options_(options),
      recorder_(roles[options.index].kind == Kind::recorder),
      ledger_(Ledger::of_parent(options.ledger_fd)),
      context_(context_options()),
      subscribe_(context_, subscribe_options(recorder_), socket_options()),
      look_(context_.loop(), [this] { subscribe_.resume(); }),
      reporter_(context_, options, [this](Report& report, bool final) { fill(report, final); }) {
  subscribe_.subscribe(event_tags);
  if (recorder_) subscribe_.subscribe(recorder_tag);
  subscribe_.on_message([this](const netio::MessageView& message) { on_event(message); });
  subscribe_.on_gap([this](const netio::PeerInfo& peer, const netio::Gap& gap) {
    report_.missed_of[process_of(peer)] += gap.count;
  });
  subscribe_.on_up([this](const netio::PeerInfo&) { ++builders_; });
  subscribe_.on_down(
      [this](const netio::PeerInfo& peer, const netio::Down& down) { on_down(peer, down); });
}

int Subscriber::run() {
  for (std::uint32_t builder = 0; builder < builder_count; ++builder) {
    subscribe_.connect(events_address(options_.name, builder));
  }
  context_.run();
  return reporter_.finished() ? 0 : 1;
}

void Subscriber::on_event(const netio::MessageView& message) {
  EventHeader header;
  std::int64_t due_ns = 0;
  if (is_event(message, header, due_ns)) {
    ++report_.events_of[header.builder];
    if (recorder_) ledger_.enter_recorded(header.event, header.again != 0);
    if (seen_ % events_per_age == 0) ages_.add(steady_ns() - due_ns);
  } else {
    ++report_.damaged;
  }
  ++seen_;
  if (!recorder_ && seen_ % events_per_look == 0) rest();
}

// The index of the builder's process: the one that was killed comes back as another one.
std::size_t Subscriber::process_of(const netio::PeerInfo& builder) const {
  if (builder.address == events_address(options_.name, 0)) return 0;
  return builder.restarts == 0 ? killed_builder - first_builder : restarted_builder - first_builder;
}

// Until it is time to look again.
void Subscriber::rest() {
  subscribe_.pause();
  look_.start_once(look_period);
}

// A builder that was killed comes back. One that has said good-bye does not.
void Subscriber::on_down(const netio::PeerInfo& peer, const netio::Down& down) {
  if (peer.was_up) --builders_;
  if (down.reason != netio::DownReason::closed_by_peer || builders_ != 0) return;
  subscribe_.close();
  reporter_.finish();
}

void Subscriber::fill(Report& report, bool final) {
  report.subscriber = report_;
  report.subscriber.missed = subscribe_.books().missed;
  if (!final) return;
  report.subscriber.age_p50_ns = ages_.at(0.5);
  report.subscriber.age_p99_ns = ages_.at(0.99);
  report.subscriber.age_max_ns = ages_.at(1);
}

}  // namespace demo

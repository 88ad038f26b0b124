// What a builder does with each event begins in take().
#include "builder.hpp"

#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include "context_options.hpp"
#include "event_message.hpp"
#include "text.hpp"

namespace demo {

namespace {

constexpr std::chrono::milliseconds release_period{2};
constexpr std::chrono::seconds good_bye_within{60};

netio::BuilderOptions builder_options(std::uint32_t number) {
  netio::BuilderOptions options;
  options.plan = plan;
  options.builder = number;
  // No card fails in this demo, so every event is complete in the end, however busy the machine is.
  options.deadline = std::chrono::hours(1);
  options.window_bytes = std::size_t{2} << 20U;
  options.keep_bytes_max = std::size_t{8} << 20U;
  options.settle_released = true;
  options.credit = 4;
  return options;
}

// Events wait until the recorder is there, and for as long as it takes.
netio::PublishOptions publish_options() {
  netio::PublishOptions options;
  options.subscribers_min = 1;
  options.block_for_max = std::chrono::nanoseconds(0);
  return options;
}

}  // namespace

Builder::Builder(const ChildOptions& options)
    : options_(options),
      process_(options.index - first_builder),
      ledger_(Ledger::of_parent(options.ledger_fd)),
      context_(netio::BuilderUnit::with_memory(builder_options(roles[options.index].number),
                                               context_options())),
      unit_(context_, builder_options(roles[options.index].number)),
      publish_(context_, publish_options()),
      release_timer_(context_.loop(), [this] { release_acknowledged(); }),
      reporter_(context_, options, [this](Report& report, bool) {
        update_books();
        report.builder = report_;
      }) {
  listen_to_units();
  listen_to_subscribers();
}

void Builder::listen_to_units() {
  unit_.on_event([this](const netio::Event& event) { take(event); });
  unit_.on_refused([this](const netio::PeerInfo&, std::string_view why) {
    print(stderr, "{}: {}\n", roles[options_.index].name, why);
  });
  unit_.on_manager_refused(
      [this](std::string_view why) { print(stderr, "{}: {}\n", roles[options_.index].name, why); });
  unit_.on_manager_down(
      [this](const netio::PeerInfo&, const netio::Down& down) { on_manager_down(down); });
}

void Builder::listen_to_subscribers() {
  publish_.on_writable([this] { publish_waiting(); });
  publish_.on_subscribe([this](const netio::PeerInfo& peer, std::span<const netio::TagRange> tags) {
    on_subscriber(peer, tags);
  });
  publish_.on_down(
      [this](const netio::PeerInfo& peer, const netio::Down&) { on_subscriber_down(peer); });
  publish_.on_closed([this](const netio::Books&) { reporter_.finish(); });
}

int Builder::run() {
  const std::uint32_t number = roles[options_.index].number;
  publish_.bind(events_address(options_.name, number));
  unit_.bind(fragments_address(options_.name, number));
  unit_.join(manager_address(options_.name));
  release_timer_.start_periodic(release_period);
  context_.run();
  return reporter_.finished() ? 0 : 1;
}

// The event is handed over here. What is not settled when this process dies is handed over again,
// by another one, and marked.
void Builder::take(const netio::Event& event) {
  check(event);
  ledger_.enter_built(process_, event.id().number, event.again(), event.bytes());
  waiting_.push_back(event.keep());
  publish_waiting();
}

void Builder::check(const netio::Event& event) {
  if (!event.complete()) ++report_.incomplete;
  for (std::uint32_t source = 0; source < card_count; ++source) {
    const netio::EventFragment fragment = event[source];
    FragmentHeader header;
    if (!is_fragment(fragment.bytes(), source, event.id().number, header)) ++report_.damaged;
  }
}

// If the recorder is behind, events wait here. When too many wait, the unit hands over no more, its
// window shuts, and the stores of the cards fill up.
void Builder::publish_waiting() {
  while (!waiting_.empty() && publish(waiting_.front()) == netio::Status::ok) {
    published_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

netio::Status Builder::publish(const netio::KeptEvent& event) {
  const EventHeader header{event.id().number, static_cast<std::uint32_t>(process_),
                           event.again() ? 1U : 0U};
  const auto& fragments = event.fragments();
  static_assert(card_count == 4);
  return publish_.send_segments({std::as_bytes(std::span(&header, 1)), fragments[0].bytes(),
                                 fragments[1].bytes(), fragments[2].bytes(), fragments[3].bytes()},
                                tag_of(header.event));
}

void Builder::release_acknowledged() {
  if (published_.empty()) return;
  update_books();
  for (; released_ < report_.recorder.acknowledged && !published_.empty(); ++released_) {
    published_.pop_front();
  }
}

void Builder::on_subscriber(const netio::PeerInfo& peer, std::span<const netio::TagRange> tags) {
  const bool recorder = tags.back().last == recorder_tag;
  (recorder ? recorder_ : monitor_) = peer.id;
  update_books();
  reporter_.tell();
}

void Builder::on_subscriber_down(const netio::PeerInfo& peer) {
  if (peer.id == recorder_) report_.recorder = peer.books;
  if (peer.id == monitor_) report_.monitor = peer.books;
  release_acknowledged();
}

void Builder::update_books() {
  report_.subscribers = 0;
  for (const netio::PeerSnapshot& peer : publish_.peers()) {
    if (!peer.up || !peer.policy) continue;
    ++report_.subscribers;
    if (peer.id == recorder_) report_.recorder = peer.books;
    if (peer.id == monitor_) report_.monitor = peer.books;
  }
}

// The manager says good-bye when everything is settled. While it is away, no event is handed over.
void Builder::on_manager_down(const netio::Down& down) {
  if (down.reason != netio::DownReason::closed_by_peer || std::exchange(closing_, true)) return;
  unit_.close(good_bye_within, [this] { publish_.close(good_bye_within); });
}

}  // namespace demo

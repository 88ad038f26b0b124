// See unit_protocol.hpp. Here: what the user and builders say. What builders are told is in
// unit_saying.cpp.
#include "build/unit_protocol.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace netio::detail {

namespace {
// With a manager the owner holds the fragments.
constexpr auto forgets_nothing = [](std::uint64_t, std::uint64_t) {};
}  // namespace

std::string UnitSettings::fault() const {
  if (std::string why = plan.fault(); !why.empty()) return why;
  if (source >= plan.sources) {
    return "no source " + std::to_string(source) + ": there are 0 to " +
           std::to_string(plan.sources - 1);
  }
  if (unit_run == 0) return "a run of a unit is never 0";
  if (store_bytes_max < fragment_cost) return "the store does not take one fragment";
  return {};
}

UnitProtocol::UnitProtocol(const UnitSettings& settings, UnitOutput& output)
    : settings_(settings),
      range_(settings.plan),
      output_(output),
      builders_(settings.plan.builders) {
  assert(settings.fault().empty());
  begun_ = settings.plan.managed;
}

// Nearly every fragment lies in the range of the one before it, and goes to a builder that has room
// for it and was sent all others.
[[gnu::always_inline]] inline bool UnitProtocol::flows(EventId event,
                                                       std::uint64_t cost) const noexcept {
  const Builder& builder = builders_[range_.builder()];
  const Connection& connection = builder.connection;
  return range_.holds(event) && range_.holds(advanced_) && advanced_ <= event &&
         event.next() < range_.end() && connection.flows && !busy_ &&
         (!short_ || connection.short_said) && builder.outbox.all_sent() &&
         event >= builder.settled && event >= connection.said &&
         connection.used <= connection.window && cost <= connection.window - connection.used &&
         cost <= settings_.store_bytes_max - books_.held_cost;
}

Status UnitProtocol::send(EventId event, std::uint64_t bytes, std::uint64_t memory,
                          FragmentStatus status) noexcept {
  if (bytes <= fragment_bytes_max && flows(event, window_cost(bytes))) [[likely]] {
    const std::uint32_t number = range_.builder();
    Builder& builder = builders_[number];
    full_ = !builder.outbox.add(event, bytes, memory, status, behind());
    if (full_) return Status::again;
    count_held(1, window_cost(bytes));
    advanced_ = event.next();
    const Fragment fragment{event, bytes, builder.connection.fragments, status};
    if (output_.send(number, fragment, memory)) sent(builder, event, {1, window_cost(bytes)});
    return Status::ok;
  }
  return send_slow(event, bytes, memory, status);
}

// Behind the last event of a range its builder is told of the end, so that event is none that
// flows.
UnitProtocol::Flow UnitProtocol::flow() noexcept {
  if (!begun_ || !range_.holds(advanced_) || advanced_.next() >= range_.end()) return {};
  Builder& builder = builders_[range_.builder()];
  if (advanced_ < builder.settled) return {};  // the fragment would be late
  if (!builder.outbox.make_room(StoredRun::fragments_max)) return {};
  const EventId last{range_.end().run, range_.end().number - 1};
  return {advanced_, last, settings_.store_bytes_max - books_.held_cost, range_.builder()};
}

void UnitProtocol::send(const StoredRun& run) noexcept {
  const std::uint32_t number = range_.builder();
  builders_[number].outbox.add(run);
  count_held(run.sizes().size(), run.cost());
  advanced_ = run.below();
  if (busy_) [[unlikely]] {
    end_wait();
    return pump_all();
  }
  pump(number);
}

void UnitProtocol::count_held(std::uint64_t fragments, std::uint64_t cost) noexcept {
  books_.sent += fragments;
  books_.held += fragments;
  books_.held_cost += cost;
}

// So many fragments, from this event on, the next of the outbox, were put on the wire.
void UnitProtocol::sent(Builder& builder, EventId first, const FragmentCount& count) noexcept {
  Connection& connection = builder.connection;
  connection.used += count.cost;
  connection.fragments += count.fragments;
  connection.waits_for = {};
  connection.said = {first.run, first.number + count.fragments};
  const EventId known = std::max(builder.sent_before, builder.sent_below);
  if (first < known) {
    const bool all = first.run < known.run;
    books_.resent += all ? count.fragments : std::min(count.fragments, known.number - first.number);
  }
  builder.sent_below = std::max(builder.sent_below, connection.said);
  builder.outbox.sent(count.fragments, behind());
}

Status UnitProtocol::send_slow(EventId event, std::uint64_t bytes, std::uint64_t memory,
                               FragmentStatus status) noexcept {
  if (event < advanced_ || event.number > event_number_max) return Status::invalid;
  if (bytes > fragment_bytes_max) return Status::too_big;
  const std::uint64_t cost = window_cost(bytes);
  if (cost > settings_.store_bytes_max) return Status::too_big;
  const std::uint32_t number = range_.builder_of(event);
  Builder& builder = builders_[number];
  const bool was_busy = busy_;
  bool asks = false;
  if (event < builder.settled) {  // the others are far ahead, and nobody waits for this unit
    ++books_.sent;
    ++books_.late;
    output_.forget(memory, 1);
  } else if (cost > settings_.store_bytes_max - books_.held_cost) {
    asks = !std::exchange(short_, true);
    if (settings_.when_full == WhenFull::again || !drop(event, number, memory)) {
      begin_wait({event, number, cost});
      asks || !was_busy ? pump_all() : pump(number);
      return Status::again;
    }
    ++books_.sent;
  } else {
    if (!builder.outbox.add(event, bytes, memory, status, behind())) {
      full_ = true;
      return Status::again;
    }
    count_held(1, cost);
  }
  end_wait();
  moved_to(event, event.next());
  if (asks || was_busy) pump_all();
  return Status::ok;
}

void UnitProtocol::begin_wait(const Refused& refused) noexcept {
  emptied_ = (full_ && emptied_) || builders_[refused.builder].outbox.empty();
  refused_ = refused;
  full_ = busy_ = true;
}

// The source goes on, or is about to hear that it may.
void UnitProtocol::end_wait() noexcept {
  full_ = busy_ = false;
  refused_.reset();
}

bool UnitProtocol::drop(EventId event, std::uint32_t number, std::uint64_t memory) noexcept {
  const auto follows = [&](EventId position) {
    return position >= event ||
           (position.run == event.run && settings_.plan.first_of(number, position) == event);
  };
  if (!builders_[number].outbox.add_dropped(event, follows)) return false;
  ++books_.dropped;
  output_.forget(memory, 1);
  return true;
}

void UnitProtocol::advance(EventId below) noexcept {
  if (begun_ && below <= advanced_) return;
  moved_to(below, below);
  if (!refused_ || refused_->event >= below) return;
  end_wait();  // the source has given it up
  output_.on_room();
  pump_all();
}

void UnitProtocol::ask_settled() noexcept {
  asks_ = short_ = true;
  busy_ = false;  // nothing more waits for room
  pump_all();
}

// Within a range only its builder has anything to hear.
void UnitProtocol::moved_to(EventId begins, EventId below) noexcept {
  const EventId before = std::exchange(advanced_, below);
  const bool first = !std::exchange(begun_, true);
  if (first) begins_ = begins;
  const std::uint32_t number = range_.builder_of(before);
  if (first || before.run != below.run || below > range_.end()) return pump_all();
  pump(number);
}

bool UnitProtocol::add(std::uint32_t builder, EventId position, std::uint64_t bytes,
                       std::uint64_t memory, FragmentStatus status) noexcept {
  return builders_[builder].outbox.add(position, bytes, memory, status, behind());
}

bool UnitProtocol::add_lacking(std::uint32_t builder, EventId from, EventId below,
                               Missing why) noexcept {
  return builders_[builder].outbox.add_lacking(from, below, why);
}

void UnitProtocol::added(std::uint32_t builder, EventId below) noexcept {
  builders_[builder].added = below;
  pump(builder);
}

void UnitProtocol::forsake(std::uint32_t number, EventId below) noexcept {
  Builder& builder = builders_[number];
  builder.outbox.settle(below, behind(), forgets_nothing);
  builder.connection.waits_for = {};
  builder.added = std::max(builder.added, below);
  pump(number);
}

HeldForOne UnitProtocol::held_for(std::uint32_t builder) const noexcept {
  const Connection& connection = builders_[builder].connection;
  HeldForOne held;
  held.window = connection.window - std::min(connection.window, connection.used);
  const UnitOutbox& outbox = builders_[builder].outbox;
  const FragmentCount count = outbox.count();
  held.fragments = count.fragments;
  held.cost = count.cost;
  if (held.fragments != 0) held.oldest = outbox.oldest_fragment();
  return held;
}

EventId UnitProtocol::settled() const noexcept {
  EventId settled = advanced_;
  for (const Builder& builder : builders_) {
    if (!builder.outbox.empty()) settled = std::min(settled, builder.outbox.oldest());
  }
  return settled;
}

bool UnitProtocol::idle() const noexcept {
  if (books_.held != 0) return false;
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    if (builders_[number].connection.up && owes_mark(number, builders_[number])) return false;
  }
  return true;
}

void UnitProtocol::connected(std::uint32_t builder) {
  builders_[builder].connection.up = true;
  pump(builder);
}

void UnitProtocol::disconnected(std::uint32_t builder) noexcept {
  builders_[builder].connection = {};
}

void UnitProtocol::received(std::uint32_t builder, const BuilderMessage& message) {
  const Connection& connection = builders_[builder].connection;
  if (!connection.up) return;
  const bool hello = std::holds_alternative<BuilderHello>(message);
  if (hello == connection.welcome || (hello && !connection.hello_said)) {
    refuse(builder, !hello               ? "did not begin with a hello"
                    : connection.welcome ? "said hello twice"
                                         : "said hello before it was asked");
    return;
  }
  std::visit([&](const auto& each) { take(builder, each); }, message);
}

void UnitProtocol::writable(std::uint32_t builder) noexcept { pump(builder); }

void UnitProtocol::take(std::uint32_t number, const BuilderHello& hello) {
  if (const std::string why = settings_.plan.difference("unit", "builder", hello.plan);
      !why.empty()) {
    return refuse(number, "has another plan: " + why);
  }
  if (hello.builder != number) {
    return refuse(
        number, "is builder " + std::to_string(hello.builder) + ", not " + std::to_string(number));
  }
  if (hello.builder_run == 0 || hello.settled > hello.wanted) {
    return refuse(number, "said a hello that makes no sense");
  }
  Builder& builder = builders_[number];
  if (builder.run != hello.builder_run) {
    builder.runs_before += builder.run == 0 ? 0 : 1;
    builder.run = hello.builder_run;
    builder.sent_before = std::max(builder.sent_before, std::exchange(builder.sent_below, {}));
    builder.used = hello.used;  // of a run that was here before; otherwise there is nothing in it
  }
  // It counts anew if another unit of this source was there in between.
  if (hello.used.built < builder.used.built || hello.used.incomplete < builder.used.incomplete) {
    builder.used = {};
  }
  Connection& connection = builder.connection;
  connection.welcome = true;
  connection.turns = hello.turns;
  connection.flows = !hello.turns;
  connection.window = connection.at_hello = hello.window;
  connection.said = hello.wanted;
  const bool was_busy = busy_;
  settle(number, hello.settled, hello.used);
  builder.outbox.go_to(hello.wanted, behind());
  pump_settled(number, was_busy);
}

void UnitProtocol::take(std::uint32_t number, const BuilderDone& done) {
  Builder& builder = builders_[number];
  Connection& connection = builder.connection;
  if (done.returned > UINT64_MAX - connection.at_hello) {
    return refuse(number, "returned more of its window than there is");
  }
  connection.window = std::max(connection.window, connection.at_hello + done.returned);
  connection.short_said = false;
  const bool was_busy = busy_;
  settle(number, done.settled, done.used);
  pump_settled(number, was_busy);
}

void UnitProtocol::take(std::uint32_t number, const BuilderGrant& grant) {
  if (grant.event.number > event_number_max) return refuse(number, "granted what is no event");
  builders_[number].connection.granted = grant.event.next();
  pump(number);
}

void UnitProtocol::take(std::uint32_t number, const BuilderWanted& wanted) {
  Builder& builder = builders_[number];
  builder.connection.said = std::max(builder.connection.said, wanted.from);
  builder.connection.waits_for = {};
  pump(number);
}

void UnitProtocol::take(std::uint32_t number, const BuilderTurn&) {
  builders_[number].connection.turn = true;
  builders_[number].connection.wants_said = false;
  pump(number);
}

void UnitProtocol::take(std::uint32_t number, const BuilderAsks&) {
  builders_[number].connection.busy_asked = true;
  pump(number);
}

// A builder is refused if it says what makes no sense.
void UnitProtocol::settle(std::uint32_t number, EventId below, const UsedFragments& used) {
  Builder& builder = builders_[number];
  builder.settled = std::max(builder.settled, below);
  if (settings_.plan.managed) {
    builder.outbox.settle(builder.settled, behind(), forgets_nothing);
    return;
  }
  const auto forget = [this](std::uint64_t memory, std::uint64_t fragments) {
    output_.forget(memory, fragments);
  };
  const FragmentCount of_earlier_runs =
      builder.outbox.settle(std::min(builder.settled, used.since), behind(), forget);
  const FragmentCount own = builder.outbox.settle(builder.settled, behind(), forget);
  FragmentCount all = of_earlier_runs;
  all += own;
  books_.held -= all.fragments;
  books_.held_cost -= all.cost;
  const bool makes_sense = count_settled(builder, all.fragments, own.fragments, used);
  emptied_ = emptied_ || (all.fragments != 0 && builder.outbox.empty());
  look_for_room();
  if (!makes_sense) refuse(number, "used other fragments than those it settled");
}

// Whether the source, which waits, may go on.
bool UnitProtocol::may_go_on() const noexcept {
  // There was no memory, or it is late now.
  if (!refused_ || refused_->event < builders_[refused_->builder].settled) return true;
  const std::uint64_t free = settings_.store_bytes_max - books_.held_cost;
  return free >= refused_->cost && (emptied_ || free >= room_bytes(settings_.store_bytes_max));
}

void UnitProtocol::look_for_room() noexcept {
  if (full_ && may_go_on()) {
    end_wait();
    output_.on_room();
  }
  if (!busy_ && books_.held_cost <= settings_.store_bytes_max / 2) short_ = asks_;
}

// So many fragments are settled, and so many of them by this run of the builder. False if it cannot
// have used what it says.
bool UnitProtocol::count_settled(Builder& builder, std::uint64_t fragments, std::uint64_t own,
                                 const UsedFragments& used) noexcept {
  const std::uint64_t built = used.built - builder.used.built;
  const std::uint64_t incomplete = used.incomplete - builder.used.incomplete;
  const bool makes_sense = used.built >= builder.used.built &&
                           used.incomplete >= builder.used.incomplete && built <= fragments &&
                           incomplete <= fragments - built;
  builder.used = used;  // so that it is refused once, and not on each connection
  if (!makes_sense) {
    books_.settled += fragments;
    return false;
  }
  const std::uint64_t late = own - std::min(own, built + incomplete);
  books_.settled += fragments - late;
  books_.built += built;
  books_.incomplete += incomplete;
  books_.late += late;
  return true;
}

// What this builder has settled may have ended a wait that all builders were told of.
void UnitProtocol::pump_settled(std::uint32_t number, bool was_busy) noexcept {
  if (was_busy && !busy_) return pump_all();
  pump(number);
}

void UnitProtocol::refuse(std::uint32_t number, std::string why) {
  disconnected(number);
  output_.refuse(number, std::move(why));
}

}  // namespace netio::detail

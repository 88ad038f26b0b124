// See builder_protocol.hpp. Here: what units say. builder_closing.cpp finds out what is over and
// hands it over, and builder_saying.cpp tells units of it.
#include "build/builder_protocol.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace netio::detail {

namespace {
// More ends of ranges than these are not told apart.
constexpr std::size_t range_ends_max = 1024;
}  // namespace

std::string BuilderSettings::fault() const {
  if (std::string why = plan.fault(); !why.empty()) return why;
  if (builder >= plan.builders) {
    return "no builder " + std::to_string(builder) + ": there are 0 to " +
           std::to_string(plan.builders - 1);
  }
  if (builder_run == 0) return "a run of a builder is never 0";
  if (window_bytes < fragment_cost) return "the window does not take one fragment";
  if (deadline_ns <= 0) return "the deadline is no time";
  return {};
}

BuilderProtocol::BuilderProtocol(const BuilderSettings& settings, BuilderOutput& output)
    : settings_(settings),
      range_(settings.plan, settings.builder),
      output_(output),
      sources_(settings.plan.sources),
      events_(settings.plan.sources),
      settled_fragments_(settings.plan.sources,
                         settings.done_with_release && !settings.plan.managed),
      missing_(settings.plan.sources) {
  assert(settings.fault().empty());
  for (BuilderSource& source : sources_) source.place = events_.front();
  // Sums of a time and a few deadlines must not wrap.
  settings_.deadline_ns = std::clamp<std::int64_t>(settings.deadline_ns, 1'000, INT64_MAX / 16);
  settings_.meet_within_ns =
      std::clamp<std::int64_t>(settings.meet_within_ns, settings_.deadline_ns, INT64_MAX / 16);
}

// For more ends of ranges.
[[gnu::always_inline]] inline void BuilderProtocol::make_room(std::size_t more) {
  if (!range_ends_.make_room(more)) throw std::bad_alloc();
}

bool BuilderProtocol::has_turn(const BuilderSource& source) const noexcept {
  const Turn turn = source.connection.turn;
  return settings_.turns == 0 || turn == Turn::has || turn == Turn::overdue;
}

// There is room: see make_room().
[[gnu::always_inline]] inline void BuilderProtocol::move_on(BuilderSource& source,
                                                            EventId position) noexcept {
  if (position <= source.position) return;
  source.position = position;
  const EventId end = range_.last_end_of(position);
  if (end == closed_end_) return;
  const std::size_t count = range_ends_.size();
  if (end <= (count == 0 ? closed_end_ : range_ends_[count - 1].at)) return;
  if (count >= range_ends_max) {
    range_ends_[count - 1] = {end, now_ns_};
  } else {
    range_ends_.push_back({end, now_ns_});
  }
}

Objection BuilderProtocol::objection_to(const BuildPlan& plan, std::uint32_t source,
                                        std::uint32_t builder) const {
  if (std::string why = settings_.plan.difference("builder", "unit", plan); !why.empty()) {
    return {"another plan: " + why};
  }
  const std::string name = "source " + std::to_string(source);
  if (source >= sources_.size()) {
    return {"no " + name + ": there are 0 to " + std::to_string(sources_.size() - 1)};
  }
  if (builder != settings_.builder) {
    return {"it looks for builder " + std::to_string(builder) + ", and this is builder " +
            std::to_string(settings_.builder)};
  }
  if (sources_[source].connected) return {name + " is connected already", true};
  return {};
}

Objection BuilderProtocol::objection_to(const UnitHello& hello) const {
  if (Objection first = objection_to(hello.plan, hello.source, settings_.builder)) return first;
  const bool mine = hello.builder_run == settings_.builder_run;
  if (hello.unit_run == 0) return {"a run of a unit is never 0"};
  if (mine && hello.settled > settled_)
    return {"it knows more of what is settled than this builder"};
  const EventId known = std::max({hello.settled, hello.sent_below, hello.sent_before});
  if (hello.builder_run == 0 && (hello.runs_before != 0 || known != EventId{})) {
    return {"it knows of an earlier run of this builder, and none has greeted it"};
  }
  return {};
}

Objection BuilderProtocol::connected(const UnitHello& hello) {
  if (Objection objection = objection_to(hello)) return objection;
  BuilderSource& source = sources_[hello.source];
  make_room();
  if (!source.lost.make_room()) throw std::bad_alloc();
  learn(hello);
  note_return();
  if (hello.builder_run != settings_.builder_run) {
    settled_fragments_.settled_before(hello.settled);
  }
  if (hello.settled > settled_) {
    take_settled(hello.settled);
    tell_settled();  // before more is used of what lies behind it
  }
  source.connected = true;
  source.connection.able_ns = now_ns_;
  const auto is_connected = [](const BuilderSource& each) { return each.connected; };
  if (std::ranges::all_of(sources_, is_connected)) gone_until_ns_ = INT64_MIN;
  if (source.unit_run != hello.unit_run) {
    if (source.unit_run == 0) source.known_from = hello.begins;
    source.lost.add(std::max(source.position, closed_), hello.begins, Missing::not_begun);
    source.unit_run = hello.unit_run;
    settled_fragments_.begin(hello.source, source.books, events_.with(hello.source));
    move_on(source, hello.begins);
  }
  move_on(source, closed_);
  go_on();
  pump(hello.source);
  return {};
}

// What the unit knows of earlier runs of this builder.
void BuilderProtocol::learn(const UnitHello& hello) noexcept {
  const bool mine = hello.builder_run == settings_.builder_run;
  again_below_ = std::max(again_below_, hello.sent_before);
  if (!mine) again_below_ = std::max(again_below_, hello.sent_below);
  earlier_run_ = earlier_run_ || hello.runs_before != 0 || (!mine && hello.builder_run != 0);
}

void BuilderProtocol::disconnected(std::uint32_t number) noexcept {
  BuilderSource& source = sources_[number];
  if (!source.connected) return;
  end_connection(source);
  go_on();
}

// If no unit was connected, it was this builder that was away. That time does not count: units come
// back one after the other, and those that were waited for then are met anew.
void BuilderProtocol::note_return() noexcept {
  const auto is_connected = [](const BuilderSource& each) { return each.connected; };
  if (std::ranges::any_of(sources_, is_connected)) return;
  std::int64_t last_ns = 0;
  for (const BuilderSource& each : sources_) last_ns = std::max(last_ns, each.gone_since_ns);
  for (BuilderSource& each : sources_) {
    if (last_ns - each.gone_since_ns < waits_ns(each)) each.to_meet = true;
    each.gone_since_ns += now_ns_ - last_ns;
    each.suspect = false;
  }
  gone_until_ns_ = now_ns_ + settings_.meet_within_ns;
}

void BuilderProtocol::end_connection(BuilderSource& source) noexcept {
  end_turn(source);
  if (source.waits) --waiting_;
  source.waits.reset();
  source.connection = {};
  source.connected = false;
  source.to_meet = false;
  source.gone_since_ns = now_ns_;
  gone_until_ns_ = std::max(gone_until_ns_, now_ns_ + settings_.deadline_ns);
}

void BuilderProtocol::received(std::uint32_t number, const UnitMessage& message) {
  if (!sources_[number].connected) return;
  std::visit([&](const auto& each) { take(number, each); }, message);
}

[[gnu::always_inline]] inline const char* BuilderProtocol::breach(const BuilderSource& source,
                                                                  const Fragment& fragment) {
  if (fragment.event.number > event_number_max || fragment.bytes > fragment_bytes_max) {
    return "sent what is no fragment";
  }
  if (fragment.before != source.connection.fragments) return "sent a fragment that did not arrive";
  if (!range_.has(fragment.event)) {
    return "sent a fragment that is for another builder";
  }
  if (fragment.event < source.position) return "sent a fragment twice, or out of order";
  if (!source.connection.hello_said) return "sent a fragment before it was greeted";
  if (!source.takes(fragment.event, window_cost(fragment.bytes))) {
    return "sent more than its window";
  }
  return has_turn(source) ? nullptr : "sent without a turn";
}

// Nearly always nothing is wrong with a run, and none of its events is over.
bool BuilderProtocol::flows(const BuilderSource& source, const FragmentRun& run) noexcept {
  const UnitConnection& connection = source.connection;
  return source.connected && connection.hello_said && run.before() == connection.fragments &&
         run.last().number <= event_number_max && run.first() >= source.position &&
         run.first() >= closed_ && range_.has(run.first(), run.last()) &&
         run.cost() <= source.room() && has_turn(source);
}

bool BuilderProtocol::add(std::uint32_t number, const FragmentRun& run) {
  BuilderSource& source = sources_[number];
  if (!flows(source, run)) return false;
  EventId event = run.first();
  make_room(2);
  events_.make_room(run.fragments().size());
  due_ = due_ || may_end_wait(number, event);
  for (const OpenFragment& each : run.fragments()) {
    OpenEvent& open = events_.open(event, now_ns_, source.place);
    open.fragments[number] = each;
    ++open.here;
    open.cost += window_cost(each.bytes);
    open.moved_ns = now_ns_;
    event = event.next();
  }
  count_received(source, run.fragments().size(), run.cost());
  source.held_cost += run.cost();
  books_.held_cost += run.cost();
  const std::size_t range_ends = range_ends_.size();
  move_on(source, run.first().next());  // which may be behind the end of a range
  move_on(source, event);
  due_ = due_ || range_ends != range_ends_.size();
  return true;
}

void BuilderProtocol::add(std::uint32_t number, const Fragment& fragment, std::uint64_t memory) {
  BuilderSource& source = sources_[number];
  if (const char* wrong = source.connected ? breach(source, fragment) : ""; wrong != nullptr)
      [[unlikely]] {
    std::string why = wrong;
    output_.drop(number, fragment.event, memory);
    if (source.connected) refuse(number, std::move(why));
    return;
  }
  make_room();
  const std::uint64_t cost = window_cost(fragment.bytes);
  if (fragment.event < closed_) [[unlikely]] {
    count_received(source, 1, cost);
    ++source.books.late;
    source.connection.give_back(cost);
    output_.drop(number, fragment.event, memory);
    due_ = true;
  } else {
    const bool may_end = may_end_wait(number, fragment.event);
    OpenEvent& event = events_.open(fragment.event, now_ns_, source.place);
    due_ = due_ || may_end;
    count_received(source, 1, cost);
    event.fragments[number] = {fragment.bytes, memory, fragment.status, true};
    ++event.here;
    event.cost += cost;
    event.moved_ns = now_ns_;
    source.held_cost += cost;
    books_.held_cost += cost;
  }
  const std::size_t range_ends = range_ends_.size();
  move_on(source, fragment.event.next());
  due_ = due_ || range_ends != range_ends_.size();
}

// Mostly what is oldest still waits for another source.
bool BuilderProtocol::may_end_wait(std::uint32_t number, EventId event) const noexcept {
  return !awaits_ || awaited_ == number || events_.empty() || event < events_.oldest().id;
}

void BuilderProtocol::count_received(BuilderSource& source, std::uint64_t fragments,
                                     std::uint64_t cost) noexcept {
  if (source.waits) [[unlikely]] {
    --waiting_;
    source.waits.reset();
  }
  source.suspect = false;
  source.connection.used += cost;
  source.connection.fragments += fragments;
  source.books.received += fragments;
}

void BuilderProtocol::added(std::uint32_t source) noexcept {
  books_.held_cost_max = std::max(books_.held_cost_max, books_.held_cost);
  if (!std::exchange(due_, false) && settings_.turns == 0) return;
  go_on();
  pump(source);
}

void BuilderProtocol::take(std::uint32_t number, const UnitHello&) {
  refuse(number, "said hello twice");
}

void BuilderProtocol::take(std::uint32_t number, const UnitDropped& dropped) {
  BuilderSource& source = sources_[number];
  if (dropped.from < source.position || dropped.from >= dropped.below ||
      dropped.from.run != dropped.below.run) {
    return refuse(number, "dropped what it had sent");
  }
  if (dropped.why == Missing::no || dropped.why == Missing::not_connected ||
      dropped.why > Missing::forgotten) {
    return refuse(number, "has no reason for what it dropped");
  }
  if (!has_all(number, dropped.before)) return;
  make_room();
  if (!source.lost.make_room()) throw std::bad_alloc();
  source.lost.add(std::max(dropped.from, closed_), dropped.below, dropped.why);
  source.suspect = false;
  move_on(source, dropped.below);
  go_on();
}

// Whether all came that the unit has sent on this connection. Otherwise it is refused, because what
// it says next would move its position past a fragment that is lost.
bool BuilderProtocol::has_all(std::uint32_t number, std::uint64_t sent) {
  const std::uint64_t came = sources_[number].connection.fragments;
  if (sent == came) return true;
  refuse(number,
         "has sent " + std::to_string(sent) + " fragments, and " + std::to_string(came) + " came");
  return false;
}

void BuilderProtocol::take(std::uint32_t number, const UnitMark& mark) {
  BuilderSource& source = sources_[number];
  if (!has_all(number, mark.fragments)) return;
  make_room();
  if (mark.below > source.position) source.suspect = false;
  move_on(source, mark.below);
  go_on();
}

// The event exists, though nothing of it is here.
void BuilderProtocol::take(std::uint32_t number, const UnitWaits& waits) {
  BuilderSource& source = sources_[number];
  if (waits.event < source.position || waits.event.number > event_number_max ||
      !range_.has(waits.event)) {
    return refuse(number, "waits for an event that it may not send");
  }
  if (!has_all(number, waits.before)) return;
  make_room();
  if (waits.event >= closed_) (void)events_.open(waits.event, now_ns_, source.place);
  if (!source.waits) ++waiting_;
  source.waits = waits;
  source.suspect = false;
  end_turn(source);
  move_on(source, waits.event);
  go_on();
  pump(number);
}

void BuilderProtocol::take(std::uint32_t number, const UnitWants&) {
  BuilderSource& source = sources_[number];
  if (settings_.turns == 0 || source.connection.turn != Turn::none) {
    return refuse(number, "wants a turn that it has");
  }
  source.connection.turn = Turn::wanted;
  source.suspect = false;
  ++wanting_;
  go_on();
}

void BuilderProtocol::take(std::uint32_t number, const UnitRests&) {
  BuilderSource& source = sources_[number];
  if (source.connection.turn == Turn::none || source.connection.turn == Turn::wanted) {
    return refuse(number, "gives a turn back that it has not");
  }
  end_turn(source);
  go_on();
}

void BuilderProtocol::take(std::uint32_t number, const UnitShort&) {
  sources_[number].connection.is_short = true;
  pump(number);
}

// Its time begins when it is busy no more.
void BuilderProtocol::take(std::uint32_t number, const UnitBusy& is) {
  BuilderSource& source = sources_[number];
  source.connection.is_busy = is.busy;
  source.connection.ask_due = false;
  source.connection.asked_ns.reset();
  source.connection.able_ns = now_ns_;
  source.suspect = false;
  go_on();
}

void BuilderProtocol::forsake(EventId below) noexcept {
  if (below > closed_) take_settled(below);
  go_on();
}

void BuilderProtocol::retry() noexcept { go_on(); }

// An earlier run of this builder was done with all below, or they are another builder's now.
void BuilderProtocol::take_settled(EventId below) noexcept {
  while (!events_.empty() && events_.oldest().id < below) {
    drop(events_.oldest());
    events_.close_oldest();
  }
  while (!range_ends_.empty() && range_ends_[0].at <= below) range_ends_.pop_front();
  settled_ = below;  // whatever is kept
  closed_end_ = std::max(closed_end_, settings_.plan.last_end_of(settings_.builder, below));
  closed_below(below, true);
  tell_closed();
}

void BuilderProtocol::refuse(std::uint32_t number, std::string why) {
  end_connection(sources_[number]);
  output_.refuse(number, std::move(why));
  go_on();
}

}  // namespace netio::detail

// See manager_protocol.hpp. Here: which range goes to whom.
#include <algorithm>
#include <new>
#include <utility>

#include "build/manager_protocol.hpp"

namespace netio::detail {

namespace {
// Shares are looked at over as many assignments for each builder, and not before half of them.
constexpr std::size_t given_of_builder = 8;
}  // namespace

void ManagerProtocol::go_on() {
  if (term_ == 0 || superseded_) return;
  find_units_behind();
  revoke_what_is_over();
  for (;;) {
    pass_over_nothing();
    const bool again = !waiting_.empty();
    const EventSpan span = again ? waiting_.front() : next_span();
    if (span.empty()) break;
    const std::uint32_t builder = choose_builder();
    if (builder == no_builder) break;
    if (term_of(builders_[builder].next + 1) != term_) {  // it has no more numbers
      superseded_ = true;
      return output_.on_superseded(term_);
    }
    if (again) {
      waiting_.erase(waiting_.begin());
    } else {
      assigned_ = span.below;
      short_since_ns_ = 0;
    }
    assign(span, again || span.from < again_below_, builder);
  }
  find_stopped();
}

// --- Units.

// A unit that is gone, or for which the others have waited, is not waited for until it goes on.
void ManagerProtocol::find_units_behind() {
  EventId furthest;
  for (const Unit& each : units_) {
    if (each.connected) furthest = std::max(furthest, each.produced.below);
  }
  const EventId needed = std::min(furthest, settings_.plan.end_of_range(assigned_));
  for (std::uint32_t source = 0; source < units_.size(); ++source) {
    Unit& each = units_[source];
    if (!each.connected) {
      // Nobody waits for it before another unit has begun.
      if (furthest == EventId{}) each.gone_since_ns = now_ns_;
      each.behind = each.behind || now_ns_ - each.gone_since_ns >= settings_.wait_ns;
      continue;
    }
    // A unit whose store is full waits for builders, and not the other way round.
    if (each.behind || each.produced.busy || each.produced.below >= needed) {
      each.behind_since_ns = 0;
    } else if (each.behind_since_ns == 0) {
      each.behind_since_ns = now_ns_;
      tell_unit(source, UnitAsked{});  // it may have produced a part of a range
    } else {
      each.behind = now_ns_ - each.behind_since_ns >= settings_.wait_ns;
    }
  }
}

// How far all units are that are waited for.
UnitProduced ManagerProtocol::produced_by_all() const noexcept {
  UnitProduced all{end_of_all, end_of_all, end_of_all, false, term_};
  bool any = false;
  for (const Unit& each : units_) {
    if (each.behind) continue;
    any = true;
    all.below = std::min(all.below, each.produced.below);
    // A unit that has not been told yet what is assigned does not know what is not.
    const bool knows = each.produced.term == term_;
    all.oldest = std::min(all.oldest, knows ? each.produced.oldest : EventId{});
    all.assigned = std::min(all.assigned, knows ? each.produced.assigned : EventId{});
  }
  for (const Unit& each : units_) all.busy = all.busy || (each.connected && each.produced.busy);
  return any ? all : UnitProduced{};
}

// Ranges of which no unit has anything are not assigned.
void ManagerProtocol::pass_over_nothing() {
  const EventId oldest = produced_by_all().oldest;
  const bool end = oldest.number == UINT64_MAX;
  const BuildPlan& plan = settings_.plan;
  const EventId from =
      end ? oldest : EventId{oldest.run, plan.range_of(oldest) * plan.range_events};
  if (from <= assigned_) return;
  const EventSpan nothing{std::exchange(assigned_, from), from};
  short_since_ns_ = 0;
  tell_units(UnitSettled{nothing});
}

// The next events that all units have produced: a range, or a part of one if that cannot wait.
EventSpan ManagerProtocol::next_span() {
  const UnitProduced all = produced_by_all();
  produced_by_all_ = all.below;
  EventId end = std::min(settings_.plan.end_of_range(assigned_), stop_);
  if (assigned_ < again_below_) end = std::min(end, again_below_);
  // Behind the end of a run nobody has anything, and only the units know where that is.
  const bool run_is_over = all.below.run > assigned_.run || all.below.number == UINT64_MAX;
  if (run_is_over && all.oldest < assigned_ && all.assigned < assigned_) {
    ask();
    return {};
  }
  if (all.below >= end) return {assigned_, end};
  if (all.below <= assigned_) return {};
  if (short_since_ns_ == 0) short_since_ns_ = now_ns_;
  const bool long_enough = now_ns_ - short_since_ns_ >= settings_.lease_ns;
  if (!all.busy && stop_ == end_of_all && !long_enough) return {};
  return {assigned_, all.below};
}

// Once for each position.
void ManagerProtocol::ask() {
  if (std::exchange(asked_at_, assigned_) != assigned_) tell_units(UnitAsked{});
}

// --- Builders.

// Its lease was renewed lately, so that it is not given what is taken away at once.
bool ManagerProtocol::is_alive(const Builder& builder) const noexcept {
  return builder.connected && !builder.welcome_due && builder.credit != 0 &&
         now_ns_ - builder.answered_ns < settings_.lease_ns;
}

bool ManagerProtocol::is_able(const Builder& builder) const noexcept {
  const bool another_holds = !builder.open.empty() && builder.holder != builder.run;
  return is_alive(builder) && !another_holds && builder.open.size() < builder.credit;
}

// A builder that is done at once, because something is wrong with it, must not attract everything:
// it gets twice its share by weight at most.
bool ManagerProtocol::has_its_share(std::uint32_t number) const noexcept {
  std::uint64_t weights = 0;
  std::size_t alive = 0;
  for (const Builder& each : builders_) {
    if (!is_alive(each)) continue;
    weights += each.weight;
    ++alive;
  }
  std::uint64_t all = 0;
  std::uint64_t its = 0;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (now_ns_ - given_[i].at_ns >= 2 * settings_.lease_ns) continue;
    ++all;
    its += given_[i].builder == number ? 1U : 0U;
  }
  if (all < alive * given_of_builder / 2) return false;
  return its * weights > 2 * builders_[number].weight * all;
}

// The one with the fewest open assignments for its weight; among those, each in turn.
std::uint32_t ManagerProtocol::choose_builder() noexcept {
  const auto count = static_cast<std::uint32_t>(builders_.size());
  std::uint32_t best = no_builder;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = (turn_ + i) % count;
    const Builder& each = builders_[number];
    if (!is_able(each) || has_its_share(number)) continue;
    if (best == no_builder ||
        each.open.size() * builders_[best].weight < builders_[best].open.size() * each.weight) {
      best = number;
    }
  }
  if (best != no_builder) turn_ = best + 1 < count ? best + 1 : 0;
  return best;
}

void ManagerProtocol::assign(const EventSpan& span, bool again, std::uint32_t number) {
  Builder& builder = builders_[number];
  if (!builder.open.make_room() || !given_.make_room()) throw std::bad_alloc();
  const Assignment given{builder.next++, number, span, again};
  if (builder.holder != builder.run) builder.lease_seen_ns = builder.answered_ns;
  builder.holder = builder.run;
  builder.open.push_back(given);
  given_.push_back({number, now_ns_});
  while (given_.size() > builders_.size() * given_of_builder) given_.pop_front();
  ++(again ? books_.again : books_.assigned);
  if (!again) books_.events += span.below.number - span.from.number;
  assigned_since_tick_ = true;
  tell_builder(number, BuilderExpects{given});
  tell_units(UnitAssigned{given});
}

// A lease ends before one lease time has passed since the last answer. Another one is waited for,
// because clocks do not run at the same speed.
void ManagerProtocol::revoke_what_is_over() {
  for (std::uint32_t number = 0; number < builders_.size(); ++number) {
    const Builder& builder = builders_[number];
    if (builder.open.empty()) continue;
    if (now_ns_ - builder.lease_seen_ns > 2 * settings_.lease_ns) revoke(number);
  }
}

void ManagerProtocol::revoke(std::uint32_t number) {
  Builder& builder = builders_[number];
  while (!builder.open.empty()) {
    insert(waiting_, builder.open[0].span);
    builder.open.pop_front();
    ++books_.revoked;
  }
  tell_builder(number, BuilderRevoked{builder.next});
  tell_units(UnitRevoked{number, builder.next});
}

void ManagerProtocol::find_stopped() noexcept {
  if (stopped_ || stop_ == end_of_all || !idle()) return;
  const UnitProduced all = produced_by_all();
  if (assigned_ < stop_ && (all.below < stop_ || all.oldest < stop_)) return;
  stopped_ = true;
  output_.on_stopped(stop_);
}

}  // namespace netio::detail

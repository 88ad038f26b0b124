// See builder_protocol.hpp. Here: what is over, and is handed over.
#include <algorithm>
#include <utility>

#include "build/builder_protocol.hpp"

namespace netio::detail {

namespace {
// While something waits, at() is called this often in a deadline. A longer pause is a leap.
constexpr std::int64_t steps_of_deadline = 8;
// A unit that is busy is asked so often in a deadline whether it still is.
constexpr std::int64_t asks_of_deadline = 4;
}  // namespace

void BuilderProtocol::at(std::int64_t now_ns) noexcept {
  const std::int64_t step = settings_.deadline_ns / steps_of_deadline;
  std::int64_t now = std::max(now_ns - skipped_ns_, now_ns_);
  if (waits_for_time() && now - now_ns_ > 2 * step) now = now_ns_ + step;
  skipped_ns_ = now_ns - now;
  now_ns_ = now;
  if (now_ns_ >= std::min(due_ns_, turn_due_ns_)) go_on();
}

std::int64_t BuilderProtocol::next_ns() const noexcept {
  const std::int64_t step = settings_.deadline_ns / steps_of_deadline;
  if (!waits_for_time()) return INT64_MAX;
  return std::min(std::min(due_ns_, turn_due_ns_), now_ns_ + step) + skipped_ns_;
}

bool BuilderProtocol::waits_for_time() const noexcept {
  return !events_.empty() || !range_ends_.empty() || wanting_ != 0 || now_ns_ < gone_until_ns_;
}

void BuilderProtocol::go_on() noexcept {
  close_all();
  if (settings_.turns == 0 || !give_turns()) return;
  close_all();  // those that were given a turn are waited for from now on
}

void BuilderProtocol::close_all() noexcept {
  while (close_next()) {
    if (closed_since_ >= closed_untold_max_) tell_closed();
  }
  if (closed_since_ != 0) tell_closed();
}

// Closes the oldest event, or the end of a range in front of it, if it waits for nothing more.
bool BuilderProtocol::close_next() noexcept {
  due_ns_ = INT64_MAX;
  awaits_ = false;
  const bool at_end =
      !range_ends_.empty() && (events_.empty() || range_ends_[0].at <= events_.oldest().id);
  if (!at_end) return !events_.empty() && close_event(events_.oldest());
  const RangeEnd& end = range_ends_[0];
  const Waiting waiting{end.at, nullptr, since_ns(end.reached_ns), end.reached_ns};
  if (!is_over(waiting) || !output_.may_end_range()) return false;
  suspect_missing(waiting);
  close_range();
  return true;
}

bool BuilderProtocol::close_event(OpenEvent& event) noexcept {
  for (std::uint32_t each = 0; waiting_ != 0 && each < sources_.size(); ++each) {
    const BuilderSource& source = sources_[each];
    if (source.waits && source.waits->event == event.id) grant(each);
  }
  // Mostly nothing is missing, and nothing is waited for.
  const bool full = event.here == sources_.size();
  if ((!full && !is_over(waiting_for(event))) || !user_has_room(event)) return false;
  if (event.here != 0 && !output_.may_hand_over(event.id)) return false;
  if (!full) suspect_missing(waiting_for(event));
  hand_over(event);
  if (event.opened_ns >= front_opened_ns_) {
    front_opened_ns_ = event.opened_ns;
    front_ns_ = now_ns_;
  }
  const EventId below = event.id.next();
  events_.close_oldest();
  closed_below(below);
  return true;
}

BuilderProtocol::Waiting BuilderProtocol::waiting_for(const OpenEvent& event) const noexcept {
  return {event.id, &event, since_ns(event.opened_ns), event.moved_ns};
}

// From when on something is waited for that was opened at this time. If an event in front of it was
// opened later, a unit has much to send that the others do not have, and could not have come here.
std::int64_t BuilderProtocol::since_ns(std::int64_t opened_ns) const noexcept {
  return opened_ns < front_opened_ns_ ? std::max(opened_ns, front_ns_) : opened_ns;
}

void BuilderProtocol::close_range() noexcept {
  const EventId end = range_ends_[0].at;
  range_ends_.pop_front();
  closed_end_ = end;
  closed_below(end);
}

void BuilderProtocol::closed_below(EventId below, bool earlier) noexcept {
  const std::uint64_t run = std::exchange(closed_, std::max(closed_, below)).run;
  ++closed_since_;
  if (closed_.run != run || closed_.number == UINT64_MAX) [[unlikely]]
    output_.runs_closed(closed_, earlier);
}

void BuilderProtocol::tell_closed() noexcept {
  output_.handed_over();
  closed_since_ = 0;
  for (std::uint32_t each = 0; each < sources_.size(); ++each) {
    sources_[each].lost.forget(closed_);
  }
  settle();
  pump_all();
}

// What is kept is not settled, if the user asked for that.
void BuilderProtocol::settle() noexcept {
  const bool keeps = settings_.done_with_release && !kept_.empty();
  settled_ = std::max(settled_, keeps ? std::min(closed_, kept_.oldest()) : closed_);
  settled_end_ = range_.last_end_of(settled_);
  settled_fragments_.settle(settled_, sources_);
}

// Mostly the source that was awaited when this was asked last is awaited still.
bool BuilderProtocol::is_over(const Waiting& waiting) noexcept {
  for (std::size_t looked_at = 0; looked_at < sources_.size(); ++looked_at) {
    const BuilderSource& source = sources_[awaited_];
    if (awaits(waiting, source, awaited_)) {
      const std::int64_t over = over_ns(waiting, source);
      if (over > now_ns_) {
        due_ns_ = over;
        awaits_ = true;
        ask_if_busy(awaited_);
        return false;
      }
    }
    if (++awaited_ == sources_.size()) awaited_ = 0;
  }
  return true;
}

bool BuilderProtocol::awaits(const Waiting& waiting, const BuilderSource& source,
                             std::uint32_t number) const noexcept {
  if (waiting.event == nullptr) return source.position < waiting.at;
  return source.position <= waiting.at && !waiting.event->fragments[number].here;
}

// How long a source that is not connected is waited for.
std::int64_t BuilderProtocol::waits_ns(const BuilderSource& source) const noexcept {
  return source.to_meet ? settings_.meet_within_ns : settings_.deadline_ns;
}

// When the source is not waited for any more. A unit that has been gone for so long is not waited
// for at all. A unit that was waited for in vain, and has said nothing since, is given no more time
// by a connection, a window or a turn. One that is busy is not waited for if it does not answer.
std::int64_t BuilderProtocol::over_ns(const Waiting& waiting,
                                      const BuilderSource& source) const noexcept {
  const std::int64_t deadline = settings_.deadline_ns;
  if (!source.connected) {
    const std::int64_t gone = source.gone_since_ns;
    return (source.suspect ? std::min(gone, waiting.since_ns) : gone) + waits_ns(source);
  }
  const UnitConnection& connection = source.connection;
  if (source.suspect) return waiting.since_ns + deadline;
  if (connection.turn == Turn::wanted) return INT64_MAX;
  if (connection.is_busy) {
    if (!connection.asked_ns) return INT64_MAX;
    return std::max(*connection.asked_ns, waiting.since_ns) + deadline;
  }
  const std::int64_t able = std::max(waiting.since_ns, connection.able_ns);
  return std::max(able, std::min(waiting.moved_ns, able + deadline)) + deadline;
}

// It is waited for as long as it is, unless it hangs.
void BuilderProtocol::ask_if_busy(std::uint32_t number) noexcept {
  UnitConnection& connection = sources_[number].connection;
  if (!connection.is_busy || connection.asked_ns) return;
  const std::int64_t ask_ns = connection.able_ns + settings_.deadline_ns / asks_of_deadline;
  due_ns_ = std::min(due_ns_, ask_ns);
  if (now_ns_ < ask_ns) return;
  connection.asked_ns = now_ns_;
  connection.ask_due = true;
  due_ns_ = now_ns_ + settings_.deadline_ns;
  pump(number);
}

void BuilderProtocol::suspect_missing(const Waiting& waiting) noexcept {
  for (std::uint32_t number = 0; number < sources_.size(); ++number) {
    if (awaits(waiting, sources_[number], number)) sources_[number].suspect = true;
  }
}

bool BuilderProtocol::user_has_room(const OpenEvent& event) noexcept {
  if (!kept_.make_room() || !settled_fragments_.make_room()) {  // tried again with the next step
    due_ns_ = now_ns_ + settings_.deadline_ns;
    return false;
  }
  const std::uint64_t room =
      settings_.keep_bytes_max - std::min(settings_.keep_bytes_max, kept_.cost());
  return kept_.cost() == 0 || event.cost <= room;
}

bool BuilderProtocol::release(EventId event) noexcept {
  if (!kept_.release(event)) return false;
  books_.kept_cost = kept_.cost();
  settle();
  pump_all();
  go_on();
  return true;
}

Missing BuilderProtocol::missing(const OpenEvent& event, std::uint32_t number) const noexcept {
  if (event.fragments[number].here) return Missing::no;
  const BuilderSource& source = sources_[number];
  if (event.id < source.position) return source.lost.why(event.id);
  return source.connected ? Missing::late : Missing::not_connected;
}

// True if nothing is.
bool BuilderProtocol::find_missing(const OpenEvent& event) noexcept {
  bool complete = true;
  for (std::uint32_t number = 0; number < sources_.size(); ++number) {
    missing_[number] = missing(event, number);
    complete = complete && missing_[number] == Missing::no;
  }
  return complete;
}

// The units that sent an event below it know of earlier runs. If some of them are gone, nobody may
// know.
EventId BuilderProtocol::known_from() const noexcept {
  EventId known_from;
  for (const BuilderSource& source : sources_) {
    known_from = std::max(known_from, source.known_from);
  }
  return known_from;
}

void BuilderProtocol::hand_over(OpenEvent& event) noexcept {
  const bool full = event.here == sources_.size();
  const bool complete = full || find_missing(event);
  const bool again = event.id < again_below_ || (earlier_run_ && event.id < known_from());
  bool kept = false;
  if (event.here != 0) {  // a unit may have waited with it, and have died
    ++(complete ? books_.complete : books_.incomplete);
    books_.again += again ? 1 : 0;
    kept = output_.hand_over({event.id, event.fragments, missing_, full, complete, again,
                              event.cost - event.here * fragment_cost});
  }
  if (!full) std::ranges::fill(missing_, Missing::no);
  if (kept) kept_.keep(event.id, event.cost);
  books_.kept_cost = kept_.cost();
  books_.kept_cost_max = std::max(books_.kept_cost_max, books_.kept_cost);
  books_.held_cost -= event.cost;
  BuilderSource* source = sources_.data();
  for (const OpenFragment& fragment : event.fragments) {
    if (fragment.here) {
      ++(complete ? source->books.built : source->books.incomplete);
      source->release(window_cost(fragment.bytes));
    }
    ++source;
  }
  if (settled_fragments_.counts_each()) settled_fragments_.handed_over(event, complete);
}

// What an earlier run of the builder was done with.
void BuilderProtocol::drop(const OpenEvent& event) noexcept {
  books_.held_cost -= event.cost;
  if (settled_fragments_.counts_each()) settled_fragments_.dropped(event);
  for (std::uint32_t number = 0; number < sources_.size(); ++number) {
    const OpenFragment& fragment = event.fragments[number];
    if (!fragment.here) continue;
    BuilderSource& source = sources_[number];
    ++source.books.late;
    source.release(window_cost(fragment.bytes));
    output_.drop(number, event.id, fragment.memory);
  }
}

}  // namespace netio::detail

// See builder_protocol.hpp. Here: what units are told, their windows and turns.
#include <algorithm>

#include "build/builder_protocol.hpp"

namespace netio::detail {

namespace {
// What is returned of a window is told when this part of it has gathered, or when the unit waits.
constexpr std::uint64_t window_parts = 4;
}  // namespace

// The unit may send the fragment that it waits with, whatever its size.
void BuilderProtocol::grant(std::uint32_t number) noexcept {
  BuilderSource& source = sources_[number];
  source.connection.granted = source.waits->event.next();
  source.connection.able_ns = now_ns_;
  source.connection.grant_due = true;
  source.waits.reset();
  --waiting_;
  pump(number);
}

void BuilderProtocol::end_turn(BuilderSource& source) noexcept {
  if (source.connection.turn == Turn::has) --turns_given_;
  if (source.connection.turn == Turn::wanted) --wanting_;
  source.connection.turn = Turn::none;
  source.connection.turn_due = false;
}

// True if some were given.
bool BuilderProtocol::give_turns() noexcept {
  turn_due_ns_ = INT64_MAX;
  bool gave = false;
  while (wanting_ != 0) {
    if (turns_given_ >= settings_.turns) find_overdue_turns();
    if (turns_given_ >= settings_.turns) return gave;
    gave = true;
    const std::uint32_t number = next_turn();
    UnitConnection& connection = sources_[number].connection;
    connection.turn = Turn::has;
    connection.turn_ns = connection.able_ns = now_ns_;
    connection.turn_due = true;
    --wanting_;
    ++turns_given_;
    pump(number);
  }
  return gave;
}

// A unit must not keep a turn from the others for ever, whether it is slow or sends nothing.
void BuilderProtocol::find_overdue_turns() noexcept {
  for (BuilderSource& source : sources_) {
    if (source.connection.turn != Turn::has) continue;
    const std::int64_t due = source.connection.turn_ns + settings_.deadline_ns;
    if (due <= now_ns_) {
      source.connection.turn = Turn::overdue;
      --turns_given_;
    } else {
      turn_due_ns_ = std::min(turn_due_ns_, due);
    }
  }
}

// First the units that the oldest open event misses, then the others, each in turn. One is wanting.
std::uint32_t BuilderProtocol::next_turn() noexcept {
  const OpenEvent* const oldest = events_.empty() ? nullptr : &events_.oldest();
  const auto count = static_cast<std::uint32_t>(sources_.size());
  std::uint32_t found = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = (turn_next_ + i) % count;
    const BuilderSource& source = sources_[number];
    if (source.connection.turn != Turn::wanted) continue;
    if (found == count) found = number;
    if (oldest == nullptr || source.position > oldest->id) continue;
    found = number;
    break;
  }
  turn_next_ = found + 1 < count ? found + 1 : 0;
  return found;
}

void BuilderProtocol::tell_settled() noexcept {
  for (std::uint32_t each = 0; each < sources_.size(); ++each) {
    UnitConnection& connection = sources_[each].connection;
    if (!sources_[each].connected || !connection.hello_said) continue;
    if (connection.settled_said < settled_) connection.is_short = true;
    pump(each);
  }
}

void BuilderProtocol::writable(std::uint32_t number) noexcept { pump(number); }

void BuilderProtocol::pump_all() noexcept {
  const std::uint64_t gathered = settings_.window_bytes / window_parts;
  for (std::uint32_t each = 0; each < sources_.size(); ++each) {
    const BuilderSource& source = sources_[each];
    const UnitConnection& connection = source.connection;
    // Mostly nothing is due.
    const bool due = connection.returned - connection.returned_said > gathered ||
                     connection.settled_said < settled_end_ || connection.is_short ||
                     connection.grant_due || connection.turn_due || source.waits ||
                     !connection.hello_said;
    if (due) pump(each);
  }
}

// Says what is due, until the wire takes no more.
void BuilderProtocol::pump(std::uint32_t number) noexcept {
  BuilderSource& source = sources_[number];
  if (!source.connected || !pump_hello(number, source)) return;
  UnitConnection& connection = source.connection;
  if (source.waits && source.waits->event < closed_) {
    if (!output_.say(number, BuilderWanted{closed_})) return;
    source.waits.reset();
    --waiting_;
  }
  if (!pump_done(number, source)) return;
  if (connection.grant_due) {
    const EventId behind = connection.granted;
    if (!output_.say(number, BuilderGrant{{behind.run, behind.number - 1}})) return;
    connection.grant_due = false;
  }
  if (connection.turn_due) {
    if (!output_.say(number, BuilderTurn{})) return;
    connection.turn_due = false;
  }
  if (connection.ask_due && output_.say(number, BuilderAsks{})) connection.ask_due = false;
}

bool BuilderProtocol::pump_hello(std::uint32_t number, BuilderSource& source) noexcept {
  UnitConnection& connection = source.connection;
  if (connection.hello_said) return true;
  const std::uint64_t window = settings_.window_bytes;
  const std::uint64_t free = window - std::min(window, source.held_cost);
  const BuilderHello hello{settings_.plan,
                           settings_.builder,
                           settings_.builder_run,
                           std::max(source.position, closed_),
                           settled_,
                           free,
                           settings_.turns != 0,
                           settled_fragments_.used(number)};
  if (!output_.say(number, hello)) return false;
  connection.hello_said = true;
  connection.window = free;
  connection.owed = source.held_cost - (window - free);
  connection.settled_said = settled_;
  return true;
}

bool BuilderProtocol::pump_done(std::uint32_t number, BuilderSource& source) noexcept {
  UnitConnection& connection = source.connection;
  const std::uint64_t unsaid = connection.returned - connection.returned_said;
  const bool window = unsaid != 0 && source.waits.has_value();
  const bool gathered = unsaid > settings_.window_bytes / window_parts;
  const bool room = connection.is_short && connection.settled_said < settled_;
  if (!window && !gathered && !room && connection.settled_said >= settled_end_) return true;
  const BuilderDone done{settled_, connection.returned, settled_fragments_.used(number)};
  if (!output_.say(number, done)) return false;
  connection.returned_said = connection.returned;
  connection.settled_said = settled_;
  connection.is_short = false;
  if (window || room) connection.able_ns = now_ns_;
  return true;
}

}  // namespace netio::detail

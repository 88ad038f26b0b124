// See unit_protocol.hpp. Here: what builders are told, and sent.
#include <algorithm>

#include "build/unit_protocol.hpp"

namespace netio::detail {

void UnitProtocol::pump_all() noexcept {
  for (std::uint32_t each = 0; each < builders_.size(); ++each) pump(each);
}

// Sends everything the builder may have now, until the wire takes no more.
void UnitProtocol::pump(std::uint32_t number) noexcept {
  Builder& builder = builders_[number];
  Connection& connection = builder.connection;
  if (!connection.up || !pump_hello(number, builder)) return;
  if (!connection.welcome) return;
  if (busy_ != connection.busy_said || connection.busy_asked) {
    if (!output_.say(number, UnitBusy{busy_})) return;
    connection.busy_said = busy_;
    connection.busy_asked = false;
  }
  const bool concerned = !builder.outbox.empty() || (refused_ && refused_->builder == number);
  if (short_ && !connection.short_said && concerned) {
    connection.short_said = output_.say(number, UnitShort{});
    if (!connection.short_said) return;
  }
  if (!pump_entries(number, builder)) return;
  if (connection.turn) {
    if (!output_.say(number, UnitRests{})) return;
    connection.turn = false;
  }
  if (!owes_mark(number, builder)) return;
  const EventId below = produced(builder);
  if (!output_.say(number, UnitMark{below, connection.fragments})) return;
  connection.said = below;
  connection.counted = connection.fragments;
}

bool UnitProtocol::pump_hello(std::uint32_t number, Builder& builder) noexcept {
  if (builder.connection.hello_said) return true;
  if (!begun_) return false;  // nobody knows yet where the unit begins
  builder.connection.hello_said = output_.say(
      number, UnitHello{settings_.plan, settings_.source, settings_.unit_run, begins_,
                        settings_.plan.managed ? EventId{} : builder.settled, builder.run,
                        builder.runs_before, builder.sent_below, builder.sent_before});
  return builder.connection.hello_said;
}

// True if nothing is left to send.
bool UnitProtocol::pump_entries(std::uint32_t number, Builder& builder) noexcept {
  Connection& connection = builder.connection;
  while (!builder.outbox.all_sent()) {
    const UnitOutbox::Unsent unsent = builder.outbox.unsent();
    const HeldRun& next = unsent.run;
    if (next.dropped) {
      if (next.below() > connection.said) {
        const UnitDropped dropped{std::max(next.event, connection.said), next.below(),
                                  connection.fragments, next.why};
        if (!output_.say(number, dropped)) return false;
        connection.said = next.below();
      }
      builder.outbox.sent();
    } else if (next.event < connection.said) {  // too late: the builder wants nothing below `said`
      const EventId late = std::min(next.below(), connection.said);
      builder.outbox.sent(late.number - next.event.number, behind());
    } else if (pump_together(number, builder, unsent) == 0 &&
               !pump_fragment(number, builder, unsent)) {
      return false;
    }
  }
  return true;
}

// The next fragments, if there is nothing to say in front of them. Returns how many.
std::size_t UnitProtocol::pump_together(std::uint32_t number, Builder& builder,
                                        const UnitOutbox::Unsent& unsent) noexcept {
  const Connection& connection = builder.connection;
  if (!connection.flows || connection.used > connection.window) return 0;
  const HeldRun& next = unsent.run;
  if (next.status != FragmentStatus::good) return 0;
  const std::size_t together =
      output_.send_together(number, {next.event, next.memory, unsent.sizes,
                                     connection.window - connection.used, connection.fragments});
  if (together != 0) sent(builder, next.event, FragmentCount::of(unsent.sizes.first(together)));
  return together;
}

bool UnitProtocol::pump_fragment(std::uint32_t number, Builder& builder,
                                 const UnitOutbox::Unsent& unsent) noexcept {
  Connection& connection = builder.connection;
  const HeldRun& next = unsent.run;
  const std::uint64_t bytes = unsent.sizes.front();
  if (!may_send(number, connection, next.event, bytes)) return false;
  const Fragment fragment{next.event, bytes, connection.fragments, next.status};
  if (!output_.send(number, fragment, next.memory)) return false;
  sent(builder, next.event, {1, window_cost(bytes)});
  return true;
}

bool UnitProtocol::may_send(std::uint32_t number, Connection& connection, EventId event,
                            std::uint64_t bytes) noexcept {
  if (connection.wants_said) return false;  // the turn is on its way
  const EventId below = event.next();
  const std::uint64_t room = connection.window - std::min(connection.window, connection.used);
  if (window_cost(bytes) > room && connection.granted != below) {
    // Said again if the unit has been given a turn that it cannot use.
    if (connection.waits_for == below && !connection.turn) return false;
    if (!output_.say(number, UnitWaits{event, bytes, connection.fragments})) return false;
    connection.waits_for = below;
    connection.turn = false;
    return false;
  }
  if (!connection.turns || connection.turn) return true;
  connection.wants_said = output_.say(number, UnitWants{});
  return false;
}

// Whether an event of this builder lies between what it knows and what was produced, or a range has
// ended whose fragments were not counted.
bool UnitProtocol::owes_mark(std::uint32_t number, const Builder& builder) const noexcept {
  const EventId said = builder.connection.said;
  if (!builder.connection.welcome || !builder.outbox.all_sent()) return false;
  const bool counted = builder.connection.counted == builder.connection.fragments;
  const bool inside = range_.begin() < said && said < range_.end();
  if (!counted && !inside && said == settings_.plan.begin_of_range(said)) return true;
  const EventId below = produced(builder);
  if (said >= below) return false;
  return said.run != below.run || settings_.plan.first_of(number, said) < below;
}

}  // namespace netio::detail

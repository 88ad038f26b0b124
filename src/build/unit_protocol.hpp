// A read-out unit without wires: it holds fragments until their events are settled, and sends each
// builder the fragments of its ranges, as far as the builder's window and its turns allow. It knows
// no time. Messages come in by calls and are sent through UnitOutput. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <netio/status.hpp>

#include "build/build_messages.hpp"
#include "build/build_plan.hpp"
#include "build/plan_range.hpp"
#include "build/unit_outbox.hpp"

namespace netio::detail {

// What has to be free of a store that was full until it has room again. With less, a source that is
// faster than its builders would be told after every few fragments. With more, it would be told too
// late: a builder that hangs may hold most of the store.
[[nodiscard]] constexpr std::uint64_t room_bytes(std::uint64_t store_bytes_max) noexcept {
  return store_bytes_max / 8;
}

struct UnitSettings {
  BuildPlan plan;
  std::uint32_t source = 0;
  std::uint64_t unit_run = 0;         // drawn by the owner; never 0
  std::uint64_t store_bytes_max = 0;  // the cost of what is held: window_cost() of each fragment
  WhenFull when_full = WhenFull::again;

  // What makes no sense in these settings, in words for the user; empty if nothing does.
  [[nodiscard]] std::string fault() const;
};

// Of fragments: sent = settled + dropped + late + held. settled = built + incomplete + those that
// an earlier run of their builder was done with; with a manager nobody says what became of them.
struct UnitBooks {
  std::uint64_t sent = 0;        // send() answered ok
  std::uint64_t settled = 0;     // forgotten, because their builder has used them
  std::uint64_t built = 0;       // in events that are complete
  std::uint64_t incomplete = 0;  // in others
  std::uint64_t dropped = 0;     // because the store was full
  std::uint64_t late = 0;        // not used, because their events were settled without them
  std::uint64_t held = 0;
  std::uint64_t held_cost = 0;
  std::uint64_t resent = 0;  // put on a wire once more
};

// What a unit holds for one builder.
struct HeldForOne {
  std::uint64_t fragments = 0;
  std::uint64_t cost = 0;
  EventId oldest;            // of their positions, if there are fragments
  std::uint64_t window = 0;  // the cost of fragments that may be sent
};

// These are called from within calls of the protocol. They must not call it back.
class UnitOutput {
 public:
  // False if the wire takes no more for now. The owner then calls writable() when it does.
  virtual bool say(std::uint32_t builder, const UnitMessage& message) noexcept = 0;
  virtual bool send(std::uint32_t builder, const Fragment& fragment,
                    std::uint64_t memory) noexcept = 0;
  // Sends as many of these fragments as go together, from the first one on, of at most this cost,
  // and returns how many they are. They are good, and of consecutive events. `memory` and `before`
  // are those of the first, the latter as in Fragment. After 0, send() is asked for the first one.
  struct Together {
    EventId event;  // of the first
    std::uint64_t memory = 0;
    std::span<const std::uint64_t> sizes;  // of each
    std::uint64_t cost_max = 0;
    std::uint64_t before = 0;
  };
  virtual std::size_t send_together(std::uint32_t builder, const Together& together) noexcept {
    (void)builder, (void)together;
    return 0;
  }
  // The name of the fragment that was stored behind the one of this name and of so many bytes.
  // Asked of those that were stored together: see StoredRun.
  [[nodiscard]] virtual std::uint64_t behind(std::uint64_t memory,
                                             std::uint64_t bytes) const noexcept = 0;
  // The unit is done with so many fragments that were stored together, from this one on.
  virtual void forget(std::uint64_t memory, std::uint64_t fragments) noexcept = 0;
  // The builder breaks the rules, or has another plan. The owner ends the connection.
  virtual void refuse(std::uint32_t builder, std::string why) = 0;
  // send() has answered `again`, and the store has room now: room_bytes() of it are free; or what
  // was refused fits, and one of the builders has settled all that was held for it since, and has
  // nothing to do.
  virtual void on_room() noexcept = 0;

 protected:
  ~UnitOutput() = default;
};

class UnitProtocol {
 public:
  // The settings have no fault(). Throws std::bad_alloc.
  UnitProtocol(const UnitSettings& settings, UnitOutput& output);

  // The event has to lie above all events before. ok: the unit has `memory` until forget(), which
  // may come within the call. Any other answer changes nothing: `again` while the store is full or
  // there is no memory, too_big if the fragment never fits, invalid if the event is not above the
  // others.
  Status send(EventId event, std::uint64_t bytes, std::uint64_t memory,
              FragmentStatus status) noexcept;
  // The builder of this event, by a plan without a manager.
  [[nodiscard]] std::uint32_t builder_of(EventId event) noexcept {
    return range_.builder_of(event);
  }
  // The store has room for a fragment of so many bytes.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    return window_cost(bytes) <= settings_.store_bytes_max - books_.held_cost;
  }
  // What the unit takes without being asked for each fragment: those of consecutive events in
  // [from, below), together of at most this cost. All are of one run, and for one builder, whether
  // it can be sent them now or not. There may be none. Valid until another call but that of send()
  // for such a run.
  struct Flow {
    EventId from;
    EventId below;
    std::uint64_t cost = 0;
    std::uint32_t builder = 0;
  };
  [[nodiscard]] Flow flow() noexcept;
  // A run which is part of what flow() said, and begins with flow().from.
  void send(const StoredRun& run) noexcept;
  // The unit has nothing more below this. The first call of send() or advance() says where the unit
  // begins, so a unit that may have nothing for its first events calls advance() before them.
  void advance(EventId below) noexcept;
  // The unit is about to end: from now on it asks builders what is settled, also within a range.
  void ask_settled() noexcept;

  // For a unit with a manager, in place of send() and advance(). The owner holds the fragments, and
  // forget() is never called. What is added for a builder lies above all that was added before.
  // False without memory; nothing has changed then. There is memory for as many as make_room() was
  // asked for.
  [[nodiscard]] bool make_room(std::uint32_t builder, std::size_t entries) noexcept {
    return builders_[builder].outbox.make_room(entries);
  }
  [[nodiscard]] bool add(std::uint32_t builder, EventId position, std::uint64_t bytes,
                         std::uint64_t memory, FragmentStatus status) noexcept;
  [[nodiscard]] bool add_lacking(std::uint32_t builder, EventId from, EventId below,
                                 Missing why) noexcept;
  // All below this position was added: it is sent.
  void added(std::uint32_t builder, EventId below) noexcept;
  // What lies below is another builder's now.
  void forsake(std::uint32_t builder, EventId below) noexcept;

  // They throw std::bad_alloc if there is no memory to say what is wrong.
  void connected(std::uint32_t builder);
  void received(std::uint32_t builder, const BuilderMessage& message);
  void disconnected(std::uint32_t builder) noexcept;
  void writable(std::uint32_t builder) noexcept;

  [[nodiscard]] const UnitBooks& books() const noexcept { return books_; }
  // It looks at each fragment that is held.
  [[nodiscard]] HeldForOne held_for(std::uint32_t builder) const noexcept;
  [[nodiscard]] EventId advanced() const noexcept { return advanced_; }
  // Nothing below it is held.
  [[nodiscard]] EventId settled() const noexcept;
  // Nothing is held, and every builder that is connected knows how far this unit is.
  [[nodiscard]] bool idle() const noexcept;

 private:
  struct Connection {
    bool up = false;
    bool hello_said = false;
    bool welcome = false;  // the builder's hello came
    bool wants_said = false;
    bool short_said = false;
    bool busy_said = false;   // the unit is busy
    bool busy_asked = false;  // whether it is
    bool turns = false;       // the builder gives turns
    bool flows = false;       // it has greeted, and gives no turns
    bool turn = false;
    EventId waits_for;         // the position behind the event with which the unit said it waits
    EventId granted;           // the position behind the granted event, so that none is 0
    EventId said;              // the builder knows that everything below it was sent
    std::uint64_t window = 0;  // the hello's, and what was returned since
    std::uint64_t at_hello = 0;
    std::uint64_t used = 0;
    std::uint64_t fragments = 0;
    std::uint64_t counted = 0;  // fragments, as the last mark says
  };
  struct Builder {
    UnitOutbox outbox;
    EventId settled;
    std::uint64_t run = 0;          // 0: no run of the builder has greeted this unit
    std::uint64_t runs_before = 0;  // as in UnitHello
    EventId sent_below;             // as in UnitHello
    EventId sent_before;            // as in UnitHello
    UsedFragments used;             // as this run has said last
    EventId added;                  // with a manager: everything below it was produced
    Connection connection;
  };

  struct Refused {
    EventId event;
    std::uint32_t builder = 0;
    std::uint64_t cost = 0;
  };

  void take(std::uint32_t number, const BuilderHello& hello);
  void take(std::uint32_t number, const BuilderDone& done);
  void take(std::uint32_t number, const BuilderGrant& grant);
  void take(std::uint32_t number, const BuilderWanted& wanted);
  void take(std::uint32_t number, const BuilderTurn& turn);
  void take(std::uint32_t number, const BuilderAsks& asks);
  [[nodiscard]] bool flows(EventId event, std::uint64_t cost) const noexcept;
  Status send_slow(EventId event, std::uint64_t bytes, std::uint64_t memory,
                   FragmentStatus status) noexcept;
  // For UnitOutbox.
  [[nodiscard]] auto behind() const noexcept {
    return
        [this](std::uint64_t memory, std::uint64_t bytes) { return output_.behind(memory, bytes); };
  }
  void count_held(std::uint64_t fragments, std::uint64_t cost) noexcept;
  void begin_wait(const Refused& refused) noexcept;
  void end_wait() noexcept;
  [[nodiscard]] bool may_go_on() const noexcept;
  void sent(Builder& builder, EventId first, const FragmentCount& count) noexcept;
  [[nodiscard]] EventId produced(const Builder& builder) const noexcept {
    return settings_.plan.managed ? builder.added : advanced_;
  }
  [[nodiscard]] bool drop(EventId event, std::uint32_t number, std::uint64_t memory) noexcept;
  void moved_to(EventId begins, EventId below) noexcept;
  void settle(std::uint32_t number, EventId below, const UsedFragments& used);
  void look_for_room() noexcept;
  [[nodiscard]] bool count_settled(Builder& builder, std::uint64_t fragments, std::uint64_t own,
                                   const UsedFragments& used) noexcept;
  void pump_settled(std::uint32_t number, bool was_busy) noexcept;
  void pump(std::uint32_t number) noexcept;
  void pump_all() noexcept;
  [[nodiscard]] bool pump_hello(std::uint32_t number, Builder& builder) noexcept;
  [[nodiscard]] bool pump_entries(std::uint32_t number, Builder& builder) noexcept;
  [[nodiscard]] std::size_t pump_together(std::uint32_t number, Builder& builder,
                                          const UnitOutbox::Unsent& unsent) noexcept;
  [[nodiscard]] bool pump_fragment(std::uint32_t number, Builder& builder,
                                   const UnitOutbox::Unsent& unsent) noexcept;
  [[nodiscard]] bool may_send(std::uint32_t number, Connection& connection, EventId event,
                              std::uint64_t bytes) noexcept;
  [[nodiscard]] bool owes_mark(std::uint32_t number, const Builder& builder) const noexcept;
  void refuse(std::uint32_t number, std::string why);

  UnitSettings settings_;
  PlanRange range_;  // of the last event
  UnitOutput& output_;
  std::vector<Builder> builders_;
  EventId begins_;  // where this run of the unit begins
  bool begun_ = false;
  EventId advanced_;    // everything below it was produced
  bool full_ = false;   // send() has answered `again`, and the source was not told to go on since
  bool busy_ = false;   // the same, because what it had did not fit
  bool short_ = false;  // the store was full, and less than half of it is free, or it is busy; or:
  bool asks_ = false;   // ask_settled() was called
  std::optional<Refused> refused_;  // while it is full: what did not fit, if it may come again
  // While it is full: nothing was held for the builder of what was refused, or a builder has
  // settled all that was held for it since.
  bool emptied_ = false;
  UnitBooks books_;
};

}  // namespace netio::detail

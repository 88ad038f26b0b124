// The event manager without wires: it gives ranges of events to builders, and takes them away from
// builders that have lost their lease. It learns from units how far they are and from builders what
// is done, so it needs no memory of its own beyond its life. Owner thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/growing_ring.hpp"
#include "build/manager_messages.hpp"
#include "build/objection.hpp"

namespace netio::detail {

struct ManagerSettings {
  BuildPlan plan;                 // plan.managed is true
  std::uint64_t manager_run = 0;  // drawn by the owner; never 0
  // The manager's term is this at least. If the owner gives the time in seconds, a term is higher
  // than those before also where nobody is left who knows them.
  std::uint64_t term_least = 1;
  std::int64_t lease_ns = 0;
  // A range is assigned when all units have produced it, except units that are gone or behind for
  // as long as this.
  std::int64_t wait_ns = 0;

  // What makes no sense in these settings, in words for the user; empty if nothing does.
  [[nodiscard]] std::string fault() const;
};

struct ManagerBooks {
  std::uint64_t assigned = 0;  // for the first time
  std::uint64_t again = 0;     // to another builder, or after another manager
  std::uint64_t settled = 0;
  std::uint64_t revoked = 0;
  std::uint64_t events = 0;  // event numbers that were assigned for the first time
};

// One unit, and one builder, as the manager knows them.
struct UnitState {
  bool connected = false;
  bool behind = false;  // it is not waited for
  bool busy = false;
  EventId produced;
};
struct BuilderState {
  bool connected = false;
  bool joined = false;  // at some time
  bool has_lease = false;
  std::uint32_t weight = 0;
  std::uint32_t credit = 0;
  std::size_t open = 0;    // assignments
  std::uint64_t done = 0;  // assignments
};

// These are called from within calls of the protocol. They must not call it back.
class ManagerOutput {
 public:
  // False if the wire takes no more for now. The owner then calls unit_writable() or
  // builder_writable() when it does.
  virtual bool say_to_unit(std::uint32_t source, const ManagerToUnit& message) noexcept = 0;
  virtual bool say_to_builder(std::uint32_t builder, const ManagerToBuilder& message) noexcept = 0;
  // The peer breaks the rules. The owner ends the connection.
  virtual void refuse_unit(std::uint32_t source, std::string why) = 0;
  virtual void refuse_builder(std::uint32_t builder, std::string why) = 0;
  // A peer knows this term, which is not below that of this manager, or a builder has had
  // 4294967295 assignments. The manager does nothing more. The owner ends it, and may begin one
  // with a higher term.
  virtual void on_superseded(std::uint64_t term) noexcept = 0;
  // Everything below is settled, as stop() has asked for.
  virtual void on_stopped(EventId at) noexcept = 0;
  // The time, in nanoseconds of a clock that also runs while the machine sleeps (CLOCK_BOOTTIME).
  virtual std::int64_t clock_ns() noexcept = 0;

 protected:
  ~ManagerOutput() = default;
};

// Where it says so, a call throws std::bad_alloc. The owner then ends the manager, and another one
// may begin.
class ManagerProtocol {
 public:
  // The settings have no fault(). The manager learns for two leases before its term begins. Throws
  // std::bad_alloc.
  ManagerProtocol(const ManagerSettings& settings, ManagerOutput& output);

  // A connection began with this hello. Without an objection it belongs to this source or builder
  // from now on. They throw std::bad_alloc.
  [[nodiscard]] Objection unit_connected(const UnitJoins& hello);
  [[nodiscard]] Objection builder_connected(const BuilderJoins& hello);
  void received(std::uint32_t source, const UnitProduced& produced);
  void received(std::uint32_t builder, const BuilderReports& report);
  void unit_disconnected(std::uint32_t source) noexcept;
  void builder_disconnected(std::uint32_t builder) noexcept;
  void unit_writable(std::uint32_t source);
  void builder_writable(std::uint32_t builder);

  // No event at or above this one is built. Units are told, and on_stopped() follows when
  // everything below is settled. Throws std::bad_alloc.
  void stop(EventId at);

  // To be called at next_ns(), and before other calls when the time has moved on, with the time of
  // clock_ns(). Throws std::bad_alloc.
  void at(std::int64_t now_ns);
  [[nodiscard]] std::int64_t next_ns() const noexcept;

  [[nodiscard]] const ManagerBooks& books() const noexcept { return books_; }
  // 0 while the manager learns.
  [[nodiscard]] std::uint64_t term() const noexcept { return term_; }
  // No unit has produced anything behind it.
  [[nodiscard]] EventId produced() const noexcept;
  [[nodiscard]] bool superseded() const noexcept { return superseded_; }
  // All assignments of this builder below this number were done or taken away.
  [[nodiscard]] std::uint64_t first_of(std::uint32_t builder) const noexcept {
    const Builder& each = builders_[builder];
    return each.open.empty() ? each.next : each.open[0].number;
  }
  // Everything below was assigned, or no unit that was waited for has anything there.
  [[nodiscard]] EventId assigned() const noexcept { return assigned_; }
  // The unit of this source is not waited for.
  [[nodiscard]] bool is_behind(std::uint32_t source) const noexcept {
    return units_[source].behind;
  }
  [[nodiscard]] UnitState unit_state(std::uint32_t source) const noexcept;
  [[nodiscard]] BuilderState builder_state(std::uint32_t builder) const noexcept;
  // Spans that wait for another builder.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  // Everything that was ever assigned is settled.
  [[nodiscard]] bool idle() const noexcept;

 private:
  struct Unit {
    std::uint64_t run = 0;  // 0: it never joined
    bool connected = false;
    bool heard = false;   // how far it is, on this connection
    bool behind = false;  // it is not waited for
    bool welcome_due = false;
    UnitJoins hello;  // of the last connection
    UnitProduced produced;
    std::int64_t gone_since_ns = 0;
    std::int64_t behind_since_ns = 0;  // 0: it is as far as it is needed
    GrowingRing<ManagerToUnit> queue;  // what the wire has not taken yet
  };
  struct Builder {
    std::uint64_t run = 0;     // 0: it never joined
    std::uint64_t holder = 0;  // the run that has the open assignments
    bool connected = false;
    bool welcome_due = false;
    std::uint32_t weight = 1;
    std::uint32_t credit = 0;
    std::uint64_t next = 0;          // the number of the next assignment
    GrowingRing<Assignment> open;    // in the order of their numbers
    std::int64_t answered_ns = 0;    // when the last report of this run was answered
    std::int64_t lease_seen_ns = 0;  // when the last report of `holder` was answered
    std::uint64_t report = 0;        // the number of its last report
    std::uint64_t done = 0;          // assignments
    bool answer_due = false;
    GrowingRing<ManagerToBuilder> queue;
  };
  struct Given {
    std::uint32_t builder = 0;
    std::int64_t at_ns = 0;
  };

  // manager_protocol.cpp: who is there, and what is said.
  [[nodiscard]] bool is_superseded(std::uint64_t term);
  void read_clock(std::int64_t now_ns) noexcept;
  void begin_term();
  [[nodiscard]] bool is_late_for_run() const noexcept { return assigned_ != EventId{}; }
  [[nodiscard]] EventId begin_of_joiners() const noexcept;
  void learn_from_units();
  void pump_unit(std::uint32_t source);
  void pump_builder(std::uint32_t builder);
  [[nodiscard]] UnitWelcome welcome_of_units() const;
  [[nodiscard]] BuilderWelcome welcome_of(const Builder& builder) const;
  void tell_unit(std::uint32_t source, const ManagerToUnit& message);
  void tell_units(const ManagerToUnit& message);
  void tell_builder(std::uint32_t builder, const ManagerToBuilder& message);

  // manager_assigning.cpp: which range goes to whom.
  void go_on();
  void find_units_behind();
  [[nodiscard]] UnitProduced produced_by_all() const noexcept;
  void pass_over_nothing();
  [[nodiscard]] EventSpan next_span();
  void ask();
  [[nodiscard]] bool is_alive(const Builder& builder) const noexcept;
  [[nodiscard]] bool is_able(const Builder& builder) const noexcept;
  [[nodiscard]] bool has_its_share(std::uint32_t number) const noexcept;
  [[nodiscard]] std::uint32_t choose_builder() noexcept;
  void assign(const EventSpan& span, bool again, std::uint32_t number);
  void revoke_what_is_over();
  void revoke(std::uint32_t number);
  void find_stopped() noexcept;

  ManagerSettings settings_;
  ManagerOutput& output_;
  std::vector<Unit> units_;
  std::vector<Builder> builders_;
  std::uint64_t term_ = 0;
  std::uint64_t known_term_ = 0;  // the highest that a peer has told
  bool superseded_ = false;
  std::int64_t step_ns_ = 0;  // between two calls of at()
  std::int64_t now_ns_ = 0;   // without leaps
  std::int64_t read_ns_ = 0;  // the clock when it was read last
  std::int64_t learn_until_ns_ = 0;
  std::int64_t tick_ns_ = 0;
  EventId assigned_;         // everything below is settled, or open, or waits for another builder
  EventId produced_by_all_;  // when a range was looked for last
  EventId asked_at_;         // units were asked when this was assigned
  EventSpans waiting_;       // for another builder
  EventId again_below_;      // an earlier manager may have assigned events below
  std::int64_t short_since_ns_ = 0;  // since when a part of a range waits to become a whole one; 0
  GrowingRing<Given> given_;         // the last assignments
  std::uint32_t turn_ = 0;           // the builder that is looked at first
  bool assigned_since_tick_ = false;
  EventId stop_ = end_of_all;
  bool stopped_ = false;
  ManagerBooks books_;
};

}  // namespace netio::detail

// A read-out unit with an event manager, without wires: it holds fragments until the manager says
// that their events are settled. When the manager gives a range to a builder, the unit sends the
// builder what it holds of it; UnitProtocol does the sending. It knows no time. Owner thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "build/held_fragments.hpp"
#include "build/manager_messages.hpp"
#include "build/unit_protocol.hpp"

namespace netio::detail {

// These are called from within calls of ManagedUnit. They must not call it back. forget() comes
// once for each fragment, as with UnitProtocol.
class ManagedUnitOutput : public UnitOutput {
 public:
  // False if the wire takes no more for now. The owner then calls manager_writable() when it does.
  virtual bool tell_manager(const UnitToManager& message) noexcept = 0;
  // The manager breaks the rules, has another plan, or a newer manager is known. The owner ends the
  // connection.
  virtual void refuse_manager(std::string why) = 0;
  // The manager is there, and this unit, which has not begun yet, may begin with `produced`. If
  // events were assigned already, no other unit has produced this one.
  virtual void on_welcome(EventId produced) noexcept { (void)produced; }
  // The manager wants this unit to end in front of this event.
  virtual void on_stop(EventId at) noexcept = 0;

 protected:
  ~ManagedUnitOutput() = default;
};

// Where it says so, a call throws std::bad_alloc. The owner then ends the connection to the
// manager, and the next welcome tells everything once more.
class ManagedUnit {
 public:
  // plan.managed is true, and the settings have no fault(). Throws std::bad_alloc.
  ManagedUnit(const UnitSettings& settings, ManagedUnitOutput& output);

  // As of UnitProtocol.
  Status send(EventId event, std::uint64_t bytes, std::uint64_t memory,
              FragmentStatus status) noexcept;
  void advance(EventId below) noexcept;

  // The connection to the manager. They throw std::bad_alloc.
  void manager_connected();
  void manager_received(const ManagerToUnit& message);
  void manager_disconnected() noexcept;
  void manager_writable();

  // The connections to builders, as of UnitProtocol.
  void connected(std::uint32_t builder) { sending_.connected(builder); }
  void received(std::uint32_t builder, const BuilderMessage& message) {
    sending_.received(builder, message);
  }
  void disconnected(std::uint32_t builder) noexcept { sending_.disconnected(builder); }
  void writable(std::uint32_t builder) noexcept { sending_.writable(builder); }

  [[nodiscard]] const UnitBooks& books() const noexcept { return books_; }
  // As of UnitProtocol, of what was assigned.
  [[nodiscard]] HeldForOne held_for(std::uint32_t builder) const noexcept;
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    return window_cost(bytes) <= settings_.store_bytes_max - books_.held_cost;
  }
  [[nodiscard]] EventId advanced() const noexcept { return advanced_; }
  // As of UnitProtocol.
  [[nodiscard]] EventId settled() const noexcept {
    return held_.empty() ? advanced_ : std::min(advanced_, held_.oldest().event);
  }
  // Everything that this unit has produced is settled, or lies behind the manager's stop. So is
  // what other units have in front of its end.
  [[nodiscard]] bool idle() const noexcept;
  [[nodiscard]] std::uint64_t term() const noexcept { return term_; }

 private:
  // A part of what was assigned, or will be, of which this unit has nothing more.
  struct Lack {
    EventSpan span;
    Missing why = Missing::no;
  };

  struct Refused {
    EventId event;
    std::uint64_t cost = 0;
  };

  void take(const UnitWelcome& welcome);
  void take(const UnitAssigned& assigned);
  void take(const UnitRevoked& revoked);
  void take(const UnitSettled& settled);
  void take(const UnitAsked&);
  void take(const UnitStops& stops);
  [[nodiscard]] std::string why_not(const UnitWelcome& welcome) const;
  void remember_forgotten(const UnitWelcome& welcome);
  void note_late(const EventSpan& span);
  void assign(const Assignment& assignment);
  [[nodiscard]] std::vector<Lack> lacks_of(const EventSpan& span) const;
  [[nodiscard]] bool is_lacking(EventId event) const noexcept;
  [[nodiscard]] bool is_late(EventId event) const noexcept;
  void look_for_room() noexcept;
  void forget(const EventSpan& span) noexcept;
  void forget_lacks(const EventSpan& span);
  void forget_all_settled();
  [[nodiscard]] EventSpans open_spans() const;
  void moved_to(EventId begins, EventId below) noexcept;
  [[nodiscard]] bool stop_is_news() const noexcept;
  void report() noexcept;
  void pump();
  void refuse(std::string why);

  UnitSettings settings_;
  ManagedUnitOutput& output_;
  UnitProtocol sending_;
  HeldFragments held_;
  std::vector<Lack> lacks_;
  // What the manager has told:
  std::uint64_t term_ = 0;
  std::uint64_t manager_run_ = 0;
  EventId assigned_;           // everything below is settled, except what is open
  EventId stop_ = end_of_all;  // nothing at or above is assigned any more
  std::vector<Assignment> open_;
  std::vector<std::uint64_t> next_;  // of each builder: the number of its next assignment
  // The connection to it:
  bool up_ = false;
  bool joined_ = false;   // the hello was said
  bool welcome_ = false;  // and answered
  bool report_due_ = false;

  EventId begins_;
  EventId advanced_;
  EventId told_;       // what the manager was told of it
  EventId report_at_;  // the end of the range
  bool begun_ = false;
  bool full_ = false;   // send() has answered `again`, and the source was not told to go on since
  bool short_ = false;  // the store was full, and has had no room_bytes() since
  std::optional<Refused> refused_;  // while it is full: what did not fit, if it may come again
  UnitBooks books_;
};

}  // namespace netio::detail

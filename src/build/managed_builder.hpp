// A builder unit with an event manager, without wires: it builds the ranges that the manager gives
// it, and hands nothing over without a lease. BuilderProtocol does the building, in positions; the
// events that are handed over have their own ids. Owner thread only.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/growing_ring.hpp"
#include "build/builder_protocol.hpp"
#include "build/manager_messages.hpp"

namespace netio::detail {

struct ManagedBuilderSettings {
  BuilderSettings building;  // plan.managed is true
  std::uint32_t weight = 1;  // of its share
  std::uint32_t credit = 2;  // it takes as many assignments at a time
  [[nodiscard]] std::string fault() const;
};

// These are called from within calls of ManagedBuilder. They must not call it back.
class ManagedBuilderOutput {
 public:
  // As of BuilderOutput. The owner releases a kept event by its position.
  virtual bool say(std::uint32_t source, const BuilderMessage& message) noexcept = 0;
  virtual bool hand_over(const BuiltEvent& event, EventId position) noexcept = 0;
  virtual void drop(std::uint32_t source, EventId position, std::uint64_t memory) noexcept = 0;
  virtual void refuse(std::uint32_t source, std::string why) = 0;
  virtual void handed_over() noexcept {}
  virtual bool may_hand_over(EventId) noexcept { return true; }
  // False if the wire takes no more for now. The owner then calls manager_writable() when it does.
  virtual bool tell_manager(const BuilderToManager& message) noexcept = 0;
  // The manager breaks the rules, has another plan, or a newer manager is known. The owner ends the
  // connection.
  virtual void refuse_manager(std::string why) = 0;
  // The time, in nanoseconds of a clock that also runs while the machine sleeps (CLOCK_BOOTTIME).
  // It is read before each hand-over.
  virtual std::int64_t clock_ns() noexcept = 0;

 protected:
  ~ManagedBuilderOutput() = default;
};

class ManagedBuilder final : private BuilderOutput {
 public:
  // The settings have no fault(). Throws std::bad_alloc.
  ManagedBuilder(const ManagedBuilderSettings& settings, ManagedBuilderOutput& output);

  // The connections to units, the user, and the time: as of BuilderProtocol. at() is told the time
  // of clock_ns().
  [[nodiscard]] Objection connected(const UnitHello& hello);
  void disconnected(std::uint32_t source) noexcept;
  void received(std::uint32_t source, const UnitMessage& message);
  void add(std::uint32_t source, const Fragment& fragment, std::uint64_t memory);
  [[nodiscard]] bool add(std::uint32_t source, const FragmentRun& run);
  void added(std::uint32_t source) noexcept;
  void writable(std::uint32_t source) noexcept { building_.writable(source); }
  void retry() noexcept;
  void settle_together(std::uint32_t events) noexcept { building_.settle_together(events); }
  void tell_settled() noexcept { building_.tell_settled(); }
  bool release(EventId position) noexcept;
  void at(std::int64_t now_ns) noexcept;
  [[nodiscard]] std::int64_t next_ns() const noexcept;

  // The connection to the manager. They throw std::bad_alloc. The owner then ends the connection,
  // and the next welcome tells everything once more.
  void manager_connected();
  void manager_received(const ManagerToBuilder& message);
  void manager_disconnected() noexcept;
  void manager_writable() noexcept;

  [[nodiscard]] const BuilderProtocol& building() const noexcept { return building_; }
  [[nodiscard]] bool has_lease() noexcept;

 private:
  struct Sent {
    std::uint64_t number = 0;
    std::int64_t at_ns = 0;
  };

  // Of BuilderOutput.
  bool say(std::uint32_t source, const BuilderMessage& message) noexcept override;
  bool hand_over(const BuiltEvent& event) noexcept override;
  void handed_over() noexcept override { output_.handed_over(); }
  void drop(std::uint32_t source, EventId position, std::uint64_t memory) noexcept override;
  void refuse(std::uint32_t source, std::string why) override;
  bool may_hand_over(EventId position) noexcept override;

  void take(const BuilderWelcome& welcome);
  void take(const BuilderExpects& expects);
  void take(const BuilderRevoked& revoked);
  void take(const BuilderLease& lease);
  [[nodiscard]] bool expect(const Assignment& assignment);
  void forsake(std::uint64_t below) noexcept;
  void heard_of(std::uint64_t assignment) noexcept;
  void note_done() noexcept;
  void pump() noexcept;
  void refuse_manager(std::string why);

  ManagedBuilderSettings settings_;
  ManagedBuilderOutput& output_;
  BuilderProtocol building_;
  GrowingRing<Assignment> expected_;  // in the order of their numbers
  std::uint64_t first_ = 0;           // assignments below it are done, or were taken away
  std::uint64_t next_ = 0;            // nothing is expected from this number on yet
  EventId expected_below_;            // no event above was ever expected
  // The manager:
  std::uint64_t term_ = 0;
  std::uint64_t manager_run_ = 0;
  std::uint64_t newest_term_ = 0;  // that units have heard of
  std::int64_t lease_ns_ = 0;
  std::int64_t lease_until_ns_ = INT64_MIN;
  // The connection to it:
  bool up_ = false;
  bool joined_ = false;   // the hello was said
  bool welcome_ = false;  // and answered
  bool report_due_ = false;
  std::uint64_t number_ = 0;  // of the last report
  std::int64_t report_at_ns_ = 0;
  std::array<Sent, 64> sent_{};  // the last reports, by their number
};

}  // namespace netio::detail

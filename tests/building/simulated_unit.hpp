// A read-out unit of a schedule: the protocol, the detector's events that it has not taken yet, and
// what the unit is known to have told.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "build/either_unit.hpp"
#include "building/play.hpp"

namespace netio::test {

class SimulatedUnit final : public detail::ManagedUnitOutput {
 public:
  SimulatedUnit(Play& play, std::uint32_t source);

  void begin();
  void kill();
  void stop(std::int64_t time);
  // What comes to this process, when it is not stopped.
  void put(std::function<void()> work) { inbox_.put(std::move(work)); }

  void trigger(detail::EventId event, std::uint64_t bytes);
  void nothing_for(detail::EventId event);
  void end_of_run(std::uint64_t run);
  void greeted_by(std::uint32_t builder, std::uint64_t run) { runs_seen[builder].insert(run); }

  [[nodiscard]] std::uint32_t source() const { return source_; }
  [[nodiscard]] bool lives() const { return protocol.has_value(); }
  [[nodiscard]] bool worked_off() const { return backlog_.empty() && inbox_.empty(); }
  [[nodiscard]] bool busy() const { return !backlog_.empty(); }
  // Since this time its store has had no room for this event, or for one in front of it.
  [[nodiscard]] std::optional<std::int64_t> busy_with(detail::EventId event) const;
  [[nodiscard]] bool stopped() const { return inbox_.busy(); }
  // From the first time to the second, or longer.
  [[nodiscard]] bool was_stopped(std::int64_t from, std::int64_t until) const;
  void judge_end();

  bool say(std::uint32_t builder, const detail::UnitMessage& message) noexcept override;
  bool send(std::uint32_t builder, const detail::Fragment& fragment,
            std::uint64_t memory) noexcept override;
  std::size_t send_together(std::uint32_t builder, const Together& together) noexcept override;
  std::uint64_t behind(std::uint64_t memory, std::uint64_t) const noexcept override {
    return memory + 1;
  }
  void forget(std::uint64_t memory, std::uint64_t fragments) noexcept override;
  void refuse(std::uint32_t builder, std::string why) override;
  void on_room() noexcept override;
  bool tell_manager(const detail::UnitToManager& message) noexcept override;
  void refuse_manager(std::string why) override;
  void on_stop(detail::EventId) noexcept override {}

  std::optional<detail::EitherUnit> protocol;
  std::map<std::uint64_t, detail::EventId> held;
  std::uint64_t incarnation = 0;
  std::int64_t begun_at = 0;
  std::int64_t stopped_until = 0;
  std::vector<std::set<std::uint64_t>> runs_seen;  // of each builder, by this incarnation

 private:
  void work_off();
  [[nodiscard]] bool give(detail::EventId event, std::uint64_t bytes);

  Play& play_;
  std::uint32_t source_;
  Inbox inbox_;
  std::vector<std::pair<std::int64_t, std::int64_t>> stops_;
  std::uint64_t memories_ = 0;
  std::optional<detail::EventId> refused_;  // the last event for which the store had no room
  std::int64_t refused_at_ = 0;             // for the first time
  std::deque<std::pair<detail::EventId, std::uint64_t>> backlog_;
};

}  // namespace netio::test

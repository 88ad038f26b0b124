// The event manager of a schedule, and what it is known to have taken away from builders.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build/manager_protocol.hpp"
#include "building/manager_wires.hpp"
#include "building/play.hpp"

namespace netio::test {

class SimulatedManager final : public detail::ManagerOutput {
 public:
  explicit SimulatedManager(Play& play);

  void begin();
  void kill();
  void stop(std::int64_t time);
  // What comes to this process, when it is not stopped.
  void put(std::function<void()> work);
  void received(std::uint32_t number, bool unit, const ToManager& message);
  void disconnected(std::uint32_t number, bool unit);
  void writable(std::uint32_t number, bool unit);
  // The detector is at its end.
  void end();

  [[nodiscard]] bool lives() const { return protocol_.has_value(); }
  [[nodiscard]] bool is_settled() const { return lives() && stopped_ && protocol_->idle(); }
  [[nodiscard]] std::int64_t begun_at() const { return begun_at_; }
  [[nodiscard]] std::int64_t stopped_from() const { return stopped_from_; }
  [[nodiscard]] std::int64_t stopped_until() const { return inbox_.busy_until(); }
  // All assignments of the builder below this number were done or taken away.
  [[nodiscard]] std::uint64_t first_of(std::uint32_t builder) const { return first_[builder]; }
  // The builder hands over an event of this assignment at this time.
  void note_hand_over(std::uint32_t builder, std::uint64_t assignment, std::int64_t at);
  [[nodiscard]] bool is_behind(std::uint32_t source) const { return protocol_->is_behind(source); }
  // The unit has been unknown to this manager since then, until now or a moment ago; now if it is
  // known.
  [[nodiscard]] std::int64_t gone_since(std::uint32_t source) const;
  // Of all assignments of this builder, by their numbers.
  [[nodiscard]] const std::map<std::uint64_t, detail::EventSpan>& spans_of(
      std::uint32_t builder) const {
    return spans_[builder];
  }
  void judge_end();
  [[nodiscard]] std::string state() const;

  bool say_to_unit(std::uint32_t source, const detail::ManagerToUnit& message) noexcept override;
  bool say_to_builder(std::uint32_t builder,
                      const detail::ManagerToBuilder& message) noexcept override;
  void refuse_unit(std::uint32_t source, std::string why) override;
  void refuse_builder(std::uint32_t builder, std::string why) override;
  void on_superseded(std::uint64_t term) noexcept override;
  void on_stopped(detail::EventId at) noexcept override;
  std::int64_t clock_ns() noexcept override { return play_.clock.now(); }

 private:
  void count();
  void set_timer();
  void note_taken_away();
  void note_behind();
  void note(const detail::Assignment& assignment);

  Play& play_;
  std::optional<detail::ManagerProtocol> protocol_;
  Inbox inbox_;
  std::uint64_t run_ = 0;
  std::uint64_t term_least_ = 1;
  std::int64_t begun_at_ = 0;
  std::int64_t stopped_from_ = 0;
  std::int64_t timer_ = 0;
  bool ends_ = false;
  bool stopped_ = false;
  std::vector<bool> behind_;  // units
  detail::EventId assigned_;  // as it was when this was looked at last
  std::vector<std::int64_t> joined_at_;
  std::vector<std::int64_t> gone_at_;
  std::vector<std::uint64_t> first_;
  std::vector<std::vector<std::pair<std::uint64_t, std::int64_t>>> taken_;   // below, and when
  std::vector<std::vector<std::pair<std::uint64_t, std::int64_t>>> handed_;  // of which, and when
  std::vector<std::map<std::uint64_t, detail::EventSpan>> spans_;
};

}  // namespace netio::test

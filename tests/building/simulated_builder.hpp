// A builder of a schedule: the protocol, its user's work, and what the user keeps.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "build/either_builder.hpp"
#include "building/play.hpp"

namespace netio::test {

class SimulatedBuilder final : public detail::BuilderOutput, public detail::ManagedBuilderOutput {
 public:
  SimulatedBuilder(Play& play, std::uint32_t number);

  void begin();
  void kill();
  void stop(std::int64_t time);
  // What comes to this process, when it is not busy.
  void put(std::function<void()> work);
  void received(std::uint32_t source, const SentFragment& fragment);
  // A unit of this source says hello.
  void meets(std::uint32_t source);

  // When this run was first told of an event behind this one, or of this one; the current time if
  // it was not.
  [[nodiscard]] std::int64_t heard_of(detail::EventId id) const;
  // A unit has said that it is as far as this.
  void hears_of(detail::EventId below);

  [[nodiscard]] bool lives() const { return protocol.has_value(); }
  [[nodiscard]] bool worked_off() const { return inbox_.empty() && kept_.empty(); }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }
  void judge_end();

  bool say(std::uint32_t source, const detail::BuilderMessage& message) noexcept override;
  bool hand_over(const detail::BuiltEvent& event) noexcept override {
    return hand_over(event, event.id);
  }
  bool hand_over(const detail::BuiltEvent& event, detail::EventId position) noexcept override;
  void runs_closed(detail::EventId below, bool earlier) noexcept override;
  void drop(std::uint32_t source, detail::EventId event, std::uint64_t memory) noexcept override;
  void refuse(std::uint32_t source, std::string why) override;
  bool tell_manager(const detail::BuilderToManager& message) noexcept override;
  void refuse_manager(std::string why) override;
  // The process may have been stopped in the middle of its work, and sees it here.
  std::int64_t clock_ns() noexcept override;

  std::optional<detail::EitherBuilder> protocol;
  std::uint64_t run = 0;
  std::int64_t begun_at = 0;
  std::int64_t stopped_from = 0;
  std::int64_t stopped_until = 0;
  bool knows_earlier_run = false;  // some unit that it met had seen an earlier run
  bool in_message = false;         // a message is being taken, and not the time
  std::int64_t last_message = 0;
  std::optional<detail::EventId> last;             // position that was handed over
  detail::EventId runs_closed_below;               // as this run was told
  std::vector<std::int64_t> handed_over_at;        // by this run, ascending
  std::map<detail::EventId, std::int64_t> opened;  // when first heard of

 private:
  void in_time();
  void set_timer();
  void keep(const detail::BuiltEvent& event, detail::EventId position);
  void settled_is_true();
  void note_passed();
  [[nodiscard]] bool was_taken_away() const;
  void leap();

  Play& play_;
  std::uint32_t number_;
  Inbox inbox_;
  std::int64_t leapt_to_ = 0;
  std::int64_t timer_ = 0;
  // Of fragments in open events. With a manager a fragment may be here twice, in two assignments.
  std::set<std::pair<std::uint64_t, detail::EventId>> memory_;
  std::map<detail::EventId, std::uint64_t> kept_;  // and its cost
  detail::EventId passed_;                         // the truth knows what this run passed below
  std::vector<std::pair<detail::EventId, std::int64_t>>
      heard_;  // positions and times, both ascending
};

}  // namespace netio::test

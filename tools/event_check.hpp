// Checks the events of `netio build builder --verify`: each fragment by what it says of itself, and
// the numbers of events. Without an event manager these follow each other within the ranges of a
// builder; with one, an event that comes once more is marked. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <netio/builder_unit.hpp>

#include "event_set.hpp"
#include "payload.hpp"

namespace netio::cli {

struct EventVerification {
  std::uint64_t right = 0;    // fragments
  std::uint64_t wrong = 0;    // fragments: a wrong checksum, or of another source or event
  std::uint64_t skipped = 0;  // events of this builder between others, of which nothing came
  // Events that were not above the one before, or are another builder's; with a manager, events
  // that came once more without a mark.
  std::uint64_t order = 0;

  [[nodiscard]] bool passed() const noexcept { return wrong + skipped + order == 0; }
};

class EventCheck {
 public:
  // `note` is given the first faults, in words.
  EventCheck(const BuildPlan& plan, std::uint32_t builder,
             std::function<void(const std::string&)> note);

  void check(const Event& event);
  [[nodiscard]] const EventVerification& result() const noexcept { return result_; }

 private:
  void check_number(EventId id);
  void check_mark(const Event& event);
  void check_fragment(EventId id, std::uint32_t source, std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t own_below(std::uint64_t number) const noexcept;
  void fault(const std::string& text);

  BuildPlan plan_;
  std::uint32_t builder_;
  std::function<void(const std::string&)> note_;
  Payload payload_;
  std::optional<EventId> last_;
  EventSet seen_;  // with a manager
  int faults_noted_ = 0;
  EventVerification result_;
};

}  // namespace netio::cli

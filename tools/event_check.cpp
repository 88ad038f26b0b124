#include "event_check.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fragment_stamp.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {
constexpr int faults_noted_max = 10;
}  // namespace

EventCheck::EventCheck(const BuildPlan& plan, std::uint32_t builder,
                       std::function<void(const std::string&)> note)
    : plan_(plan), builder_(builder), note_(std::move(note)) {}

void EventCheck::check(const Event& event) {
  plan_.managed ? check_mark(event) : check_number(event.id());
  for (std::uint32_t source = 0; source < event.size(); ++source) {
    const EventFragment fragment = event[source];
    if (fragment.here) check_fragment(event.id(), source, payload_.of(fragment.message));
  }
}

// The events of this builder below this number.
std::uint64_t EventCheck::own_below(std::uint64_t number) const noexcept {
  const std::uint64_t range = number / plan_.range_events;
  const std::uint64_t own_ranges =
      range / plan_.builders + (range % plan_.builders > builder_ ? 1 : 0);
  const bool own = range % plan_.builders == builder_;
  return own_ranges * plan_.range_events + (own ? number % plan_.range_events : 0);
}

void EventCheck::check_number(EventId id) {
  if (id.number / plan_.range_events % plan_.builders != builder_ || (last_ && id <= *last_)) {
    ++result_.order;
    fault(fmt::format("event {} of run {} came out of its order, or is another builder's",
                      grouped(id.number), id.run));
    return;
  }
  if (last_ && last_->run == id.run) {
    const std::uint64_t skipped = own_below(id.number) - own_below(last_->number) - 1;
    result_.skipped += skipped;
    if (skipped != 0) {
      fault(fmt::format("{} of run {} skipped in front of event {}", counted(skipped, "event"),
                        id.run, grouped(id.number)));
    }
  }
  last_ = id;
}

void EventCheck::check_mark(const Event& event) {
  if (!seen_.contains(event.id())) return seen_.insert(event.id());
  if (event.again()) return;
  ++result_.order;
  fault(fmt::format("event {} of run {} came twice, and is not marked", grouped(event.id().number),
                    event.id().run));
}

void EventCheck::check_fragment(EventId id, std::uint32_t source,
                                std::span<const std::byte> bytes) {
  const FragmentName wanted{source, id};
  FragmentName name;
  const bool intact = read_fragment(bytes, name);
  if (intact && name == wanted) {
    ++result_.right;
    return;
  }
  ++result_.wrong;
  fault(fmt::format("the fragment of {} is {}", to_text(wanted),
                    intact ? "that of " + to_text(name) : "corrupt"));
}

void EventCheck::fault(const std::string& text) {
  if (faults_noted_++ < faults_noted_max) note_(text);
}

}  // namespace netio::cli

// See simulated_manager.hpp.
#include "building/simulated_manager.hpp"

#include <algorithm>

#include "building/truth.hpp"

namespace netio::test {

using namespace detail;

SimulatedManager::SimulatedManager(Play& play)
    : play_(play),
      inbox_(play.clock),
      behind_(play.drawn.plan.sources),
      first_(play.drawn.plan.builders),
      taken_(play.drawn.plan.builders),
      handed_(play.drawn.plan.builders),
      spans_(play.drawn.plan.builders) {
  begin();
}

void SimulatedManager::begin() {
  run_ = play_.chance.number();
  begun_at_ = play_.clock.now();
  timer_ = 0;
  stopped_ = false;
  behind_.assign(play_.drawn.plan.sources, false);
  joined_at_.assign(play_.drawn.plan.sources, -1);
  gone_at_.assign(play_.drawn.plan.sources, begun_at_);
  assigned_ = {};
  ManagerSettings settings;
  settings.plan = play_.drawn.plan;
  settings.manager_run = run_;
  settings.term_least = term_least_++;
  settings.lease_ns = play_.drawn.lease;
  settings.wait_ns = play_.drawn.deadline;
  protocol_.emplace(settings, *this);
  if (ends_) protocol_->stop(end_of_run(play_.drawn.runs - 1));
  set_timer();
}

void SimulatedManager::count() {
  const ManagerBooks& books = protocol_->books();
  play_.tally.assigned += books.assigned;
  play_.tally.assigned_again += books.again;
  play_.tally.revoked += books.revoked;
}

void SimulatedManager::kill() {
  count();
  protocol_.reset();
  inbox_.clear();
  play_.manager_wires->manager_died();
}

void SimulatedManager::stop(std::int64_t time) {
  if (!inbox_.busy()) stopped_from_ = play_.clock.now();
  inbox_.busy_for(time);
}

void SimulatedManager::put(std::function<void()> work) {
  inbox_.put([this, work = std::move(work)] {
    protocol_->at(play_.clock.now());
    work();
    note_taken_away();
    note_behind();
    set_timer();
  });
}

void SimulatedManager::set_timer() {
  const std::int64_t next = protocol_->next_ns();
  if (next == INT64_MAX || (timer_ > play_.clock.now() && timer_ <= next)) return;
  timer_ = std::max(next, play_.clock.now() + 1);
  play_.clock.after(timer_ - play_.clock.now(), [this, of = run_] {
    if (of == run_ && lives()) put([] {});
  });
}

void SimulatedManager::received(std::uint32_t number, bool unit, const ToManager& message) {
  std::string why;
  if (unit) {
    const auto& said = std::get<UnitToManager>(message);
    if (const auto* hello = std::get_if<UnitJoins>(&said)) {
      why = protocol_->unit_connected(*hello).why;
      joined_at_[number] = play_.clock.now();
    } else {
      protocol_->received(number, std::get<UnitProduced>(said));
    }
  } else {
    const auto& said = std::get<BuilderToManager>(message);
    if (const auto* hello = std::get_if<BuilderJoins>(&said)) {
      why = protocol_->builder_connected(*hello).why;
    } else {
      protocol_->received(number, std::get<BuilderReports>(said));
    }
  }
  if (!why.empty())
    play_.wrong("the manager does not take a " + std::string(unit ? "unit" : "builder") + ": " +
                why);
}

void SimulatedManager::disconnected(std::uint32_t number, bool unit) {
  unit ? protocol_->unit_disconnected(number) : protocol_->builder_disconnected(number);
  if (!unit || joined_at_[number] < 0) return;
  gone_at_[number] = play_.clock.now();
  joined_at_[number] = -1;
}

void SimulatedManager::writable(std::uint32_t number, bool unit) {
  unit ? protocol_->unit_writable(number) : protocol_->builder_writable(number);
}

void SimulatedManager::end() {
  ends_ = true;
  if (lives()) put([this] { protocol_->stop(end_of_run(play_.drawn.runs - 1)); });
}

void SimulatedManager::note_taken_away() {
  for (std::uint32_t builder = 0; builder < first_.size(); ++builder) {
    const std::uint64_t first = protocol_->first_of(builder);
    if (first <= first_[builder]) continue;
    first_[builder] = first;
    taken_[builder].emplace_back(first, play_.clock.now());
  }
}

std::int64_t SimulatedManager::gone_since(std::uint32_t source) const {
  const std::int64_t moment = play_.clock.now() - play_.drawn.deadline / 4;
  return joined_at_[source] < 0 || joined_at_[source] > moment ? gone_at_[source]
                                                               : play_.clock.now();
}

void SimulatedManager::note_behind() {
  for (std::uint32_t source = 0; source < behind_.size(); ++source) {
    const bool behind = protocol_->is_behind(source);
    if (behind && !behind_[source]) play_.truth->judge_behind(source);
    behind_[source] = behind;
  }
  const EventSpan assigned{assigned_, protocol_->assigned()};
  if (!assigned.empty()) play_.truth->note_not_waited_for(assigned);
  assigned_ = assigned.below;
}

void SimulatedManager::note_hand_over(std::uint32_t builder, std::uint64_t assignment,
                                      std::int64_t at) {
  handed_[builder].emplace_back(assignment, at);
}

void SimulatedManager::note(const Assignment& assignment) {
  if (assignment.builder != no_builder) {
    spans_[assignment.builder][assignment.number] = assignment.span;
  }
}

bool SimulatedManager::say_to_unit(std::uint32_t source, const ManagerToUnit& message) noexcept {
  if (const auto* assigned = std::get_if<UnitAssigned>(&message)) note(assigned->assignment);
  if (const auto* welcome = std::get_if<UnitWelcome>(&message)) {
    for (const Assignment& each : welcome->open) note(each);
  }
  return play_.manager_wires->of_unit(source).put(false, message);
}

bool SimulatedManager::say_to_builder(std::uint32_t builder,
                                      const ManagerToBuilder& message) noexcept {
  if (const auto* expects = std::get_if<BuilderExpects>(&message)) note(expects->assignment);
  if (const auto* welcome = std::get_if<BuilderWelcome>(&message)) {
    for (const Assignment& each : welcome->open) note(each);
  }
  return play_.manager_wires->of_builder(builder).put(false, message);
}

void SimulatedManager::refuse_unit(std::uint32_t source, std::string why) {
  play_.wrong("the manager refuses unit " + text(source) + ", which " + why);
}

void SimulatedManager::refuse_builder(std::uint32_t builder, std::string why) {
  play_.wrong("the manager refuses builder " + text(builder) + ", which " + why);
}

void SimulatedManager::on_superseded(std::uint64_t term) noexcept {
  play_.wrong("the manager is superseded by term " + text(term));
}

void SimulatedManager::on_stopped(EventId) noexcept { stopped_ = true; }

// Nothing is handed over after the manager has taken it away.
void SimulatedManager::judge_end() {
  count();
  for (std::uint32_t builder = 0; builder < first_.size(); ++builder) {
    for (const auto& [assignment, at] : handed_[builder]) {
      const auto taken = std::upper_bound(
          taken_[builder].begin(), taken_[builder].end(), assignment,
          [](std::uint64_t number, const auto& each) { return number < each.first; });
      if (taken != taken_[builder].end() && taken->second < at) {
        play_.wrong("builder " + text(builder) + " has handed over an event of assignment " +
                    text(assignment & UINT32_MAX) + " at " +
                    text(static_cast<std::uint64_t>(at / us)) + " us, which was taken away");
      }
    }
  }
}

std::string SimulatedManager::state() const {
  if (!lives()) return " there is no manager;";
  if (is_settled()) return {};
  return std::string(" the manager has ") + (protocol_->idle() ? "no" : "some") +
         " open assignments, and has " + (stopped_ ? "" : "not ") + "stopped;";
}

}  // namespace netio::test

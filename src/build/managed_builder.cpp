// See managed_builder.hpp.
#include "build/managed_builder.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace netio::detail {

namespace {
// A lease is asked for this often while it runs.
constexpr std::int64_t reports_of_lease = 4;
// Before the first welcome nobody knows how long a lease is.
constexpr std::int64_t report_without_lease_ns = 100'000'000;
}  // namespace

std::string ManagedBuilderSettings::fault() const {
  if (std::string why = building.fault(); !why.empty()) return why;
  if (!building.plan.managed) return "the plan has no manager";
  if (weight == 0) return "the weight is 0";
  if (credit == 0) return "the credit is 0";
  return {};
}

ManagedBuilder::ManagedBuilder(const ManagedBuilderSettings& settings, ManagedBuilderOutput& output)
    : settings_(settings), output_(output), building_(settings.building, *this) {
  assert(settings.fault().empty());
}

// --- What units say. A position shows the term of the manager that the unit follows.

void ManagedBuilder::heard_of(std::uint64_t assignment) noexcept {
  newest_term_ = std::max(newest_term_, term_of(assignment));
}

void ManagedBuilder::received(std::uint32_t source, const UnitMessage& message) {
  if (const auto* mark = std::get_if<UnitMark>(&message)) heard_of(mark->below.run);
  if (const auto* waits = std::get_if<UnitWaits>(&message)) heard_of(waits->event.run);
  if (const auto* dropped = std::get_if<UnitDropped>(&message)) heard_of(dropped->from.run);
  building_.received(source, message);
  note_done();
}

void ManagedBuilder::add(std::uint32_t source, const Fragment& fragment, std::uint64_t memory) {
  heard_of(fragment.event.run);
  building_.add(source, fragment, memory);
}

bool ManagedBuilder::add(std::uint32_t source, const FragmentRun& run) {
  heard_of(run.first().run);
  return building_.add(source, run);
}

void ManagedBuilder::added(std::uint32_t source) noexcept {
  building_.added(source);
  note_done();
}

void ManagedBuilder::retry() noexcept {
  building_.retry();
  note_done();
}

Objection ManagedBuilder::connected(const UnitHello& hello) {
  Objection objection = building_.connected(hello);
  note_done();
  return objection;
}

void ManagedBuilder::disconnected(std::uint32_t source) noexcept {
  building_.disconnected(source);
  note_done();
}

bool ManagedBuilder::release(EventId position) noexcept {
  const bool released = building_.release(position);
  note_done();
  return released;
}

// --- What is handed over.

bool ManagedBuilder::say(std::uint32_t source, const BuilderMessage& message) noexcept {
  return output_.say(source, message);
}

void ManagedBuilder::drop(std::uint32_t source, EventId position, std::uint64_t memory) noexcept {
  output_.drop(source, position, memory);
}

void ManagedBuilder::refuse(std::uint32_t source, std::string why) {
  output_.refuse(source, std::move(why));
}

bool ManagedBuilder::has_lease() noexcept {
  return newest_term_ <= term_ && output_.clock_ns() < lease_until_ns_;
}

// A unit may hear of an assignment before its builder does. The builder's fragments wait then.
bool ManagedBuilder::may_hand_over(EventId position) noexcept {
  return output_.may_hand_over(position) && position.run >= first_ && position.run < next_ &&
         has_lease();
}

bool ManagedBuilder::hand_over(const BuiltEvent& event) noexcept {
  const std::size_t place =
      expected_.first_not([&](const Assignment& each) { return each.number < event.id.run; });
  const Assignment& assignment = expected_[place];
  BuiltEvent own = event;
  own.id = {assignment.span.from.run, event.id.number};
  own.again = assignment.again;
  if (!assignment.span.covers(own.id)) {  // the units break the rules
    for (std::uint32_t source = 0; source < event.fragments.size(); ++source) {
      const OpenFragment& fragment = event.fragments[source];
      if (fragment.here) output_.drop(source, event.id, fragment.memory);
    }
    return false;
  }
  return output_.hand_over(own, event.id);
}

void ManagedBuilder::at(std::int64_t now_ns) noexcept {
  building_.at(now_ns);
  if (up_ && now_ns >= report_at_ns_) report_due_ = true;
  note_done();
  pump();
}

std::int64_t ManagedBuilder::next_ns() const noexcept {
  return std::min(building_.next_ns(), up_ && !report_due_ ? report_at_ns_ : INT64_MAX);
}

// --- The manager.

void ManagedBuilder::manager_connected() {
  up_ = true;
  report_due_ = true;
  pump();
}

void ManagedBuilder::manager_disconnected() noexcept { up_ = joined_ = welcome_ = false; }

void ManagedBuilder::manager_writable() noexcept { pump(); }

void ManagedBuilder::pump() noexcept {
  if (!up_) return;
  if (!joined_) {
    joined_ = output_.tell_manager(BuilderJoins{settings_.building.plan, settings_.building.builder,
                                                settings_.building.builder_run, term_, manager_run_,
                                                settings_.weight, newest_term_, expected_below_});
    if (!joined_) return;
    report_due_ = true;
  }
  if (!report_due_) return;
  // The lease runs from here, so the clock is read before the report is sent.
  const std::int64_t now = output_.clock_ns();
  if (!output_.tell_manager(BuilderReports{number_ + 1, first_, settings_.credit})) return;
  ++number_;
  sent_[number_ % sent_.size()] = {number_, now};
  report_due_ = false;
  report_at_ns_ = now + (welcome_ ? lease_ns_ / reports_of_lease : report_without_lease_ns);
}

void ManagedBuilder::manager_received(const ManagerToBuilder& message) {
  if (!up_) return;
  const bool welcome = std::holds_alternative<BuilderWelcome>(message);
  if (!joined_ || (!welcome && !welcome_)) return refuse_manager("did not begin with a welcome");
  std::visit([this](const auto& each) { take(each); }, message);
  note_done();
}

void ManagedBuilder::take(const BuilderWelcome& welcome) {
  if (welcome.term == 0 || welcome.term > term_max || welcome.manager_run == 0 ||
      welcome.lease_ns <= 0 || welcome.lease_ns > INT64_MAX / 16 ||
      term_of(welcome.first) != welcome.term) {
    return refuse_manager("said a welcome that makes no sense");
  }
  if (welcome.term < std::max(term_, newest_term_)) {
    return refuse_manager("is older than a manager before");
  }
  if (welcome.term == term_ && welcome.manager_run != manager_run_) {
    return refuse_manager("has the term of another manager");
  }
  if (welcome.term != term_) lease_until_ns_ = INT64_MIN;  // each manager has leases of its own
  term_ = welcome.term;
  manager_run_ = welcome.manager_run;
  lease_ns_ = welcome.lease_ns;
  welcome_ = true;
  forsake(welcome.first);
  for (const Assignment& each : welcome.open) {
    if (each.number >= next_ && !expect(each)) return;
  }
  report_due_ = true;
  building_.retry();
  pump();
}

void ManagedBuilder::take(const BuilderExpects& expects) {
  if (expect(expects.assignment)) building_.retry();
}

bool ManagedBuilder::expect(const Assignment& assignment) {
  const EventSpan& span = assignment.span;
  if (assignment.number != next_ || span.empty() || span.from.run != span.below.run) {
    refuse_manager("said an assignment that makes no sense");
    return false;
  }
  if (!expected_.make_room()) throw std::bad_alloc();
  expected_.push_back(assignment);
  next_ = assignment.number + 1;
  expected_below_ = std::max(expected_below_, span.below);
  return true;
}

void ManagedBuilder::take(const BuilderRevoked& revoked) {
  if (revoked.below > next_) return refuse_manager("has revoked what was not assigned");
  forsake(revoked.below);
}

void ManagedBuilder::forsake(std::uint64_t below) noexcept {
  next_ = std::max(next_, below);
  building_.forsake({below, 0});
}

void ManagedBuilder::take(const BuilderLease& lease) {
  if (lease.number > number_) return refuse_manager("answers what was not asked");
  const Sent& sent = sent_[lease.number % sent_.size()];
  if (sent.number != lease.number) return;  // long ago
  lease_until_ns_ = std::max(lease_until_ns_, sent.at_ns + lease_ns_);
  building_.retry();
}

// What is settled needs no assignment any more, and the manager is told.
void ManagedBuilder::note_done() noexcept {
  const std::uint64_t done = std::min(building_.settled_end().run, next_);
  if (done <= first_) return;
  first_ = done;
  while (!expected_.empty() && expected_[0].number < first_) expected_.pop_front();
  report_due_ = true;
  pump();
}

void ManagedBuilder::refuse_manager(std::string why) {
  manager_disconnected();
  output_.refuse_manager(std::move(why));
}

}  // namespace netio::detail

// See manager_core.hpp. Here: the time, where builders are, what is said, and how it ends.
// manager_members.cpp has the connections.
#include "units/manager_core.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "units/plan.hpp"
#include "units/reachable_address.hpp"

namespace netio::detail {

static void require_time(std::chrono::nanoseconds time, const char* what) {
  if (time >= std::chrono::milliseconds(10) && time <= std::chrono::hours(24)) return;
  throw Error("cannot make an event manager",
              std::string(what) + " of " + std::to_string(time.count()) + " ns makes no sense",
              "give 10 ms to a day");
}

static ManagerSettings settings_of(const ManagerOptions& options) {
  ManagerSettings settings;
  settings.plan = require_sense(to_plan(options.plan), "make an event manager");
  if (!settings.plan.managed) {
    throw Error("cannot make an event manager", "its plan has none",
                "set BuildPlan::managed, here and in all units and builders");
  }
  require_time(options.lease, "a lease");
  require_time(options.wait, "a wait");
  settings.lease_ns = options.lease.count();
  settings.wait_ns = options.wait.count();
  settings.manager_run = random_run();
  settings.term_least = least_term_at(std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch()));
  return require_sense(settings, "make an event manager");
}

ManagerCore::ManagerCore(Context& context, const ManagerOptions& options)
    : loop_(context.loop()),
      settings_(settings_of(options)),
      socket_(context, options.socket),
      protocol_(settings_, *this),
      unit_peers_(settings_.plan.sources),
      builder_peers_(settings_.plan.builders),
      places_(settings_.plan.builders),
      timer_(loop_, [this] {
        look_at_time();
        tell_addresses();  // if there was no memory
        rearm();
      }) {
  socket_.on_up([this](const PeerInfo& peer) { came_up(peer); });
  socket_.on_down([this](const PeerInfo& peer, const Down& down) { went_down(peer, down); });
  socket_.on_batch([this](const Batch& batch) { take(batch); });
  socket_.on_writable([this] { writable(); });
  socket_.on_closed([this](const Books&) { ended(); });
  rearm();
  socket_.context().enter(*this);
}

ManagerCore::~ManagerCore() { socket_.context().leave(*this); }

void ManagerCore::abandon() noexcept {
  abandoned_ = closing_ = true;
  socket_.abandon();
  timer_.stop();
  cancel();
}

std::int64_t ManagerCore::clock_ns() noexcept { return boottime_ns(); }

void ManagerCore::look_at_time() noexcept {
  static_cast<void>(done([this] { protocol_.at(boottime_ns()); }));
}

void ManagerCore::rearm() {
  const std::int64_t next = protocol_.next_ns();
  if (next == INT64_MAX || closing_ || end_ != End::none) return;
  timer_.start_once(std::chrono::nanoseconds(std::max<std::int64_t>(next - boottime_ns(), 0)));
}

// --- Where builders are.

const char* ManagerCore::take_addresses(Member& member, const BuilderAt& at) {
  if (member.kind != Kind::builder) return "sent what only a builder unit sends";
  Addresses addresses;
  for (const std::string& each : at.addresses) {
    try {
      addresses.push_back(reachable_address(each, member.info.address));
    } catch (const Error&) {
      return "has an address that makes no sense";
    }
  }
  Place& place = places_[member.number];
  if (addresses == place.addresses) return nullptr;
  changes_.emplace(last_change_ + 1, member.number);
  changes_.erase(place.change);
  place.change = ++last_change_;
  place.addresses = std::move(addresses);
  tell_addresses();
  return nullptr;
}

void ManagerCore::tell_addresses() noexcept {
  for (const std::uint64_t peer : unit_peers_) {
    if (peer == 0) continue;
    const auto found = members_.find(peer);
    if (found != members_.end() && found->second.told != last_change_) {
      tell_addresses(peer, found->second);
    }
  }
}

// All that changed since the unit was told last, in the order of the changes.
void ManagerCore::tell_addresses(std::uint64_t peer, Member& unit) noexcept {
  for (auto each = changes_.upper_bound(unit.told); each != changes_.end(); ++each) {
    bool told = false;
    guard_memory(
        [&] {
          told = say(peer, UnitBuilder{each->second, places_[each->second].addresses});
        },
        []() noexcept {});
    if (!told) return;
    unit.told = each->first;
  }
}

// --- What is said.

// False if the wire takes no more, or if there is no memory: it is said later.
template <typename Message>
bool ManagerCore::say(std::uint64_t peer, const Message& message) noexcept {
  if (peer == 0) return false;
  Status status = Status::again;
  guard_memory([&] { status = socket_.send_to(peer, bytes_.of(message)); }, []() noexcept {});
  if (status == Status::too_big) refuse(peer, "takes no message as large as the welcome");
  return status == Status::ok;
}

bool ManagerCore::say_to_unit(std::uint32_t source, const ManagerToUnit& message) noexcept {
  return say(unit_peers_[source], message);
}

bool ManagerCore::say_to_builder(std::uint32_t builder, const ManagerToBuilder& message) noexcept {
  return say(builder_peers_[builder], message);
}

void ManagerCore::writable() noexcept {
  for (std::uint32_t source = 0; source < unit_peers_.size(); ++source) {
    if (unit_peers_[source] == 0) continue;
    static_cast<void>(done([&] { protocol_.unit_writable(source); }));
  }
  for (std::uint32_t builder = 0; builder < builder_peers_.size(); ++builder) {
    if (builder_peers_[builder] == 0) continue;
    static_cast<void>(done([&] { protocol_.builder_writable(builder); }));
  }
  tell_addresses();
}

// --- How it ends.

void ManagerCore::on_superseded(std::uint64_t term) noexcept {
  if (end_ != End::none) return;
  end_ = End::superseded;
  newer_term_ = term;
  loop_.defer(*this);
}

void ManagerCore::on_stopped(EventId) noexcept {
  stopped_ = true;
  loop_.defer(*this);
}

void ManagerCore::run_deferred() noexcept {
  const bool tells_end = end_ != End::none && !std::exchange(end_told_, true);
  if (tells_end) end_all();
  socket_.flush();
  end_refused();
  if (tells_end && end_ == End::superseded) tell(on_superseded_call, newer_term_);
  if (tells_end && end_ == End::failed) tell(on_failed, "out of memory");
  if (std::exchange(stopped_, false)) {
    const std::function<void()> call = std::exchange(stopped_call_, {});
    tell(call);
  }
  ended();
}

// Whoever is connected shall look for another manager.
void ManagerCore::end_all() noexcept {
  timer_.stop();
  for (auto& [peer, member] : members_) refuse(peer, end_text(), ": ");
}

std::string_view ManagerCore::end_text() const noexcept {
  return end_ == End::superseded ? "the manager is superseded" : "the manager has failed";
}

void ManagerCore::stop(EventId at, std::function<void()> then) {
  stopped_call_ = std::move(then);
  stopped_ = false;
  look_at_time();
  static_cast<void>(done([&] { protocol_.stop(at); }));
}

void ManagerCore::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  closing_ = true;
  const std::chrono::nanoseconds now = loop_.now();
  linger = std::min(socket_.context().bound(linger), std::chrono::nanoseconds::max() - now);
  until_ = now + linger;
  closed_call_ = std::move(then);
  timer_.stop();
  socket_.close(linger);
  loop_.defer(*this);
}

void ManagerCore::end_within(std::chrono::nanoseconds linger) noexcept {
  close(closing_ ? std::min(linger, until_ - loop_.now()) : linger,
        std::exchange(closed_call_, {}));
}

bool ManagerCore::has_ended() const noexcept {
  return abandoned() || (closing_ && socket_.closed());
}

void ManagerCore::ended() {
  if (!has_ended()) return;
  const std::function<void()> call = std::exchange(closed_call_, {});
  tell(call);
}

netio::ManagerBooks ManagerCore::books() const {
  const ManagerBooks& all = protocol_.books();
  netio::ManagerBooks books;
  books.assigned = all.assigned;
  books.again = all.again;
  books.settled = all.settled;
  books.revoked = all.revoked;
  books.events = all.events;
  books.waiting = protocol_.waiting();
  books.term = protocol_.term();
  books.produced = protocol_.produced();
  books.assigned_below = protocol_.assigned();
  for (std::uint32_t source = 0; source < unit_peers_.size(); ++source) {
    const UnitState unit = protocol_.unit_state(source);
    books.units.push_back({unit.connected, unit.behind, unit.busy, unit.produced});
  }
  for (std::uint32_t number = 0; number < builder_peers_.size(); ++number) {
    const BuilderState builder = protocol_.builder_state(number);
    const LeaseState without = builder.open == 0 ? LeaseState::none : LeaseState::overdue;
    books.open += builder.open;
    books.builders.push_back({builder.connected, builder.has_lease ? LeaseState::held : without,
                              builder.joined ? builder.weight : 0, builder.credit, builder.open,
                              builder.done, places_[number].addresses});
  }
  return books;
}

}  // namespace netio::detail

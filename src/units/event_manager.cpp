// EventManager: a thin front of its core.
#include <utility>

#include <netio/event_manager.hpp>

#include "socket/context_core.hpp"
#include "units/manager_core.hpp"

namespace netio {

std::string_view to_string(LeaseState state) noexcept {
  switch (state) {
    case LeaseState::none:
      return "none";
    case LeaseState::held:
      return "held";
    case LeaseState::overdue:
      return "overdue";
  }
  return "unknown";
}

EventManager::EventManager(Context& context, const ManagerOptions& options)
    : core_(std::make_unique<detail::ManagerCore>(context, options)) {}
EventManager::~EventManager() { core_->context().bury(std::move(core_)); }

std::string EventManager::bind(std::string_view address) { return core_->bind(address); }
void EventManager::stop(EventId at, std::function<void()> then) {
  core_->stop(at, std::move(then));
}
void EventManager::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  core_->close(linger, std::move(then));
}
void EventManager::on_unit_up(std::function<void(std::uint32_t, const PeerInfo&)> call) {
  core_->on_unit_up = std::move(call);
}
void EventManager::on_builder_up(std::function<void(std::uint32_t, const PeerInfo&)> call) {
  core_->on_builder_up = std::move(call);
}
void EventManager::on_unit_down(
    std::function<void(std::uint32_t, const PeerInfo&, const Down&)> call) {
  core_->on_unit_down = std::move(call);
}
void EventManager::on_builder_down(
    std::function<void(std::uint32_t, const PeerInfo&, const Down&)> call) {
  core_->on_builder_down = std::move(call);
}
void EventManager::on_refused(std::function<void(const PeerInfo&, std::string_view)> call) {
  core_->on_refused = std::move(call);
}
void EventManager::on_superseded(std::function<void(std::uint64_t)> call) {
  core_->on_superseded_call = std::move(call);
}
void EventManager::on_failed(std::function<void(std::string_view)> call) {
  core_->on_failed = std::move(call);
}
ManagerBooks EventManager::books() const { return core_->books(); }
Counters EventManager::counters() const { return core_->counters(); }

}  // namespace netio

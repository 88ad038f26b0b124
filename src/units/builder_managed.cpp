// See builder_core.hpp. Here: the event manager.
#include <utility>

#include "base/clock.hpp"
#include "units/builder_core.hpp"
#include "units/plan.hpp"

namespace netio::detail {

void BuilderCore::join(std::string_view manager) {
  require_managed(membership_ != nullptr, manager);
  membership_->join(manager);
}

std::string BuilderCore::bind(std::string_view address) {
  if (!membership_) return socket_.bind(address);
  if (addresses_.size() == addresses_max) {
    throw Error("cannot bind to " + std::string(address),
                "a builder has at most " + std::to_string(addresses_max) + " addresses",
                "bind to fewer");
  }
  addresses_.reserve(addresses_.size() + 1);
  std::string bound = socket_.bind(address);
  addresses_.push_back(bound);
  addresses_due_ = true;
  say_addresses();
  return bound;
}

// Behind the hello.
void BuilderCore::say_addresses() noexcept {
  if (!addresses_due_ || !greeted_) return;
  guard_memory([this] { addresses_due_ = !membership_->say(BuilderAt{addresses_}); },
               [this]() noexcept { membership_->end_without_memory(); });
}

bool BuilderCore::tell_manager(const BuilderToManager& message) noexcept {
  if (!membership_->say(message)) return false;
  if (std::holds_alternative<BuilderJoins>(message)) {
    greeted_ = addresses_due_ = true;
    say_addresses();
  }
  return true;
}

void BuilderCore::refuse_manager(std::string why) { membership_->refuse(why); }

std::int64_t BuilderCore::clock_ns() noexcept { return boottime_ns(); }

void BuilderCore::manager_came() {
  look_at_time();
  protocol_.managed()->manager_connected();
  rearm();
}

void BuilderCore::manager_went() noexcept {
  greeted_ = false;
  look_at_time();
  protocol_.managed()->manager_disconnected();
}

void BuilderCore::manager_takes_more() {
  say_addresses();
  protocol_.managed()->manager_writable();
  rearm();
}

const char* BuilderCore::manager_says(std::span<const std::byte> message) {
  SaidToBuilder said;
  if (const char* const wrong = decode(message, said); wrong != nullptr) return wrong;
  look_at_time();
  std::visit(
      [&]<typename Message>(const Message& each) {
        if constexpr (std::is_same_v<Message, Refused>) {
          membership_->refused_by(each.why);
        } else {
          protocol_.managed()->manager_received(each);
          if constexpr (std::is_same_v<Message, BuilderWelcome>) membership_->accept();
        }
      },
      said);
  rearm();
  return nullptr;
}

}  // namespace netio::detail

// See readout_core.hpp. Here: the event manager.
#include <utility>

#include "base/out_of_memory.hpp"
#include "units/plan.hpp"
#include "units/readout_core.hpp"

namespace netio::detail {

void ReadoutCore::join(std::string_view manager) {
  require_managed(membership_ != nullptr, manager);
  membership_->join(manager);
}

bool ReadoutCore::tell_manager(const UnitToManager& message) noexcept {
  return membership_->say(message);
}

void ReadoutCore::refuse_manager(std::string why) { membership_->refuse(why); }

// The protocol is on the stack.
void ReadoutCore::on_welcome(EventId produced) noexcept {
  begin_due_ = produced;
  loop_.defer(*this);
}

void ReadoutCore::on_stop(EventId at) noexcept {
  stop_due_ = at;
  loop_.defer(*this);
}

void ReadoutCore::tell_of_run() noexcept {
  const std::optional<EventId> begin = std::exchange(begin_due_, std::nullopt);
  if (begin) tell(on_begin, *begin);
  const std::optional<EventId> stop = std::exchange(stop_due_, std::nullopt);
  if (stop) tell(on_stop_call, *stop);
}

void ReadoutCore::manager_came() { protocol().managed()->manager_connected(); }

void ReadoutCore::manager_went() noexcept { protocol().managed()->manager_disconnected(); }

void ReadoutCore::manager_takes_more() { protocol().managed()->manager_writable(); }

const char* ReadoutCore::manager_says(std::span<const std::byte> message) {
  SaidToUnit said;
  if (const char* const wrong = decode(message, said); wrong != nullptr) return wrong;
  return std::visit(
      [&]<typename Message>(const Message& each) -> const char* {
        if constexpr (std::is_same_v<Message, Refused>) {
          membership_->refused_by(each.why);
        } else if constexpr (std::is_same_v<Message, UnitBuilder>) {
          return take_addresses(each);
        } else {
          protocol().managed()->manager_received(each);
          if constexpr (std::is_same_v<Message, UnitWelcome>) membership_->accept();
          note_change();
        }
        return nullptr;
      },
      said);
}

const char* ReadoutCore::take_addresses(const UnitBuilder& at) {
  if (at.builder >= builders_.size()) return "named a builder that does not exist";
  if (!closing_ && at.addresses != builders_[at.builder].addresses) {
    if (move_to(at.builder, at.addresses)) dial(at.builder);
  }
  return nullptr;
}

}  // namespace netio::detail

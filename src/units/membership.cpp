// See membership.hpp.
#include "units/membership.hpp"

#include <utility>

namespace netio::detail {

Membership::Membership(Context& context, const SocketOptions& options, Owner& owner)
    : loop_(context.loop()), owner_(owner), socket_(context, options) {
  socket_.on_up([this](const PeerInfo&) { came_up(); });
  socket_.on_down([this](const PeerInfo& peer, const Down& down) { went_down(peer, down); });
  socket_.on_batch([this](const Batch& batch) { take(batch); });
  socket_.on_writable([this] {
    if (up_) guard([this] { owner_.manager_takes_more(); });
  });
  socket_.on_closed([this](const Books&) { owner_.manager_closed(); });
}

void Membership::join(std::string_view address) {
  if (joined_) {
    throw Error("cannot join the event manager at " + std::string(address),
                "this unit has joined one before", "name the manager once");
  }
  socket_.connect(address);
  joined_ = true;
}

void Membership::end_without_memory() noexcept { socket_.fail(out_of_memory()); }

template <typename Work>
void Membership::guard(Work&& work) noexcept {
  guard_memory(work, [this]() noexcept { end_without_memory(); });
}

void Membership::came_up() noexcept {
  up_ = true;
  accepted_ = ending_ = false;
  guard([this] { owner_.manager_came(); });
}

void Membership::went_down(const PeerInfo& peer, const Down& down) {
  socket_.forget_unsent();
  if (std::exchange(up_, false)) owner_.manager_went();
  if (closing_) socket_.close({});
  const bool accepted = std::exchange(accepted_, false);
  const bool refused = std::exchange(ending_, false);
  if (refused && !accepted) return;  // on_refused was told
  refused_told_.clear();
  if (!on_down) return;
  if (accepted) return on_down(peer, down);
  on_down(never_up(peer), down);
}

void Membership::take(const Batch& batch) noexcept {
  for (const MessageView message : batch) {
    if (!up_ || ending_) return;
    guard([&] {
      if (const char* const wrong = owner_.manager_says(message.bytes())) refuse(wrong);
    });
  }
}

void Membership::accept() {
  if (ending_ || std::exchange(accepted_, true)) return;
  if (on_up) on_up(socket_.peer_up());
}

void Membership::refuse(const std::string& why) {
  if (!up_ || ending_) return;
  // If it does not get there, the connection ends all the same.
  static_cast<void>(say(Refused{why}));
  end_soon("the event manager " + why);
}

void Membership::refused_by(std::string_view why) {
  if (!up_ || ending_) return;
  end_soon("the event manager refuses: " + std::string(why));
}

void Membership::end_soon(std::string why) {
  refused_ = std::move(why);
  ending_ = true;
  loop_.defer(*this);
}

void Membership::run_deferred() noexcept {
  socket_.flush();
  if (refused_.empty()) return;
  std::string why = std::move(refused_);
  refused_.clear();
  socket_.fail(rejected(why));
  if (refused_told_ == why) return;  // it is tried again and again, and says the same each time
  refused_told_ = std::move(why);
  if (on_refused) on_refused(refused_told_);
}

void Membership::close(std::chrono::nanoseconds linger) {
  closing_ = true;
  socket_.close(up_ ? linger : std::chrono::nanoseconds(0));
}

// The owner may be on the stack, within a message of the manager.
void Membership::abandon() noexcept {
  socket_.abandon();
  up_ = false;
  ending_ = true;
  cancel();
}

}  // namespace netio::detail

// See send_forward.hpp.
#include "forward/send_forward.hpp"

#include <chrono>

#include "base/out_of_memory.hpp"
#include "memory/scarcity.hpp"
#include "socket/context_core.hpp"
#include "socket/receive_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

SendForward::SendForward(Receiving& from, SendCore& to)
    : StreamForward(from, to.socket().context().loop),
      to_(to),
      until_settled_(from.receive_core().delivery.until_released),
      retry_(to.socket().context().loop, [this] { go_on(); }) {
  to_.writable.add(*this);
  if (until_settled_) {
    from_.acknowledge_when_taken([this] { return look_at_all(); });
  }
  start();
}

SendForward::~SendForward() {
  to_.writable.remove(*this);
  if (!until_settled_) return;
  if (StreamForward::ended() && !look_at_all()) {
    from_.acknowledge_when_taken({});
  } else {
    from_.receive_core().acknowledge_with_next_taker();
  }
}

Status SendForward::pass(MessageCursor& messages, const From& from) {
  if (until_settled_) {
    input_ = input_of(from.peer);
    // Not passed on if it could not be noted: try again when there is memory.
    const std::size_t most = to_.socket().peers_connected() + 1;
    if (input_ == nullptr || !input_->make_room(most)) {
      retry_.start_once(retry_after);
      return Status::again;
    }
  }
  // Otherwise a peer that is slow would hold the memory that the others are read into.
  const Block* const memory = messages.page().block();
  const bool copies = memory != nullptr && is_scarce(*memory);
  const std::uint64_t before = to_.bytes_sent();
  const Status status =
      to_.send(messages, {page_at_hand(), copies, until_settled_ ? this : nullptr});
  count_bytes(to_.bytes_sent() - before);
  if (until_settled_) note_totals();
  return status;
}

// Mostly all messages of a page go to one peer.
void SendForward::took(const Peer& peer) noexcept {
  for (std::size_t i = input_->size(); i != 0 && (*input_)[i - 1].page == pages_; --i) {
    if ((*input_)[i - 1].peer == peer.id()) return;
  }
  input_->push_back({peer.id(), UINT64_MAX, UINT64_MAX, pages_, {}});
}

// Of the page at hand: once for each peer, and not for each message.
void SendForward::note_totals() noexcept {
  for (std::size_t i = input_->size(); i != 0 && (*input_)[i - 1].page == pages_; --i) {
    Sent& sent = (*input_)[i - 1];
    const std::optional<Books> books = to_.socket().books_of(sent.peer);
    sent.settled_at = books ? books->sent : 0;
    sent.acknowledged_at = books ? books->acknowledged + books->unacknowledged : UINT64_MAX;
  }
}

// Nothing of the page may have been sent: its messages were dropped, or a peer has changed them.
void SendForward::passed(const From& from) noexcept {
  if (!until_settled_) return;
  ++pages_;
  const auto input = inputs_.find(from.peer);
  if (input == inputs_.end() || input->second.empty()) return from_.taken(from);
  input->second[input->second.size() - 1].ends = from;
  looked_at_.reset();
  look(input->second);
}

SendForward::Input* SendForward::input_of(std::uint64_t id) noexcept {
  Input* input = nullptr;
  guard_memory([&] { input = &inputs_[id]; }, []() noexcept {});
  return input;
}

// Behind it look_at_all() is called again and again, until all is settled.
void SendForward::passed_later() noexcept {
  if (until_settled_) from_.acknowledge();
}

// Of a peer that is forgotten it is not known what became of them.
const SendForward::Fate& SendForward::fate_of(std::uint64_t peer,
                                              LookedAt& looked_at) const noexcept {
  if (looked_at && looked_at->peer == peer) return *looked_at;
  const std::optional<Books> books = to_.socket().books_of(peer);
  looked_at = books ? Fate{peer, books->sent - books->unacknowledged, books->acknowledged}
                    : Fate{peer, UINT64_MAX, 0};
  return *looked_at;
}

// What the peer did not acknowledge, and never will, is not acknowledged here either, until
// something behind it is: then the position has moved on.
void SendForward::look(Input& input) noexcept {
  while (!input.empty()) {
    const Sent& first = input[0];
    const Fate& fate = fate_of(first.peer, looked_at_);
    if (fate.settled < first.settled_at) return;
    if (first.ends && fate.acknowledged >= first.acknowledged_at) from_.taken(*first.ends);
    input.pop_front();
  }
}

bool SendForward::look_at_all() noexcept {
  constexpr std::size_t kept_inputs_max = 64;
  bool left = false;
  looked_at_.reset();
  for (auto input = inputs_.begin(); input != inputs_.end();) {
    look(input->second);
    left = left || !input->second.empty();
    const bool forget = input->second.empty() && inputs_.size() > kept_inputs_max;
    input = forget ? inputs_.erase(input) : std::next(input);
  }
  return left;
}

bool SendForward::ended() {
  to_.flush();
  const bool unsettled = look_at_all();  // also while something is held: it may be for ever
  if (!StreamForward::ended()) return false;
  // A Pair that is paused reads no acknowledgement: its close() waits for them.
  return !unsettled || to_.socket().receiving.paused();
}

// What was settled since the last look is not counted either.
ForwardBooks SendForward::books() const noexcept {
  ForwardBooks books = StreamForward::books();
  LookedAt looked_at;
  for (const auto& [id, input] : inputs_) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (fate_of(input[i].peer, looked_at).settled < input[i].settled_at) ++books.unsettled;
    }
  }
  return books;
}

}  // namespace netio::detail

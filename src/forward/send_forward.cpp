// See send_forward.hpp.
#include "forward/send_forward.hpp"

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/receive_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

Books books_of(const Peer& peer) noexcept {
  Books books;
  peer.add_to(books);
  return books;
}

}  // namespace

SendForward::SendForward(Receiving& from, SendCore& to)
    : StreamForward(from, to.socket().context().loop),
      to_(to),
      until_settled_(from.receive_core().delivery.until_released) {
  to_.writable.add(*this);
  if (until_settled_) {
    from_.acknowledge_when_taken([this] { return look_at_all(); });
  }
  start();
}

SendForward::~SendForward() {
  to_.writable.remove(*this);
  if (until_settled_) from_.acknowledge_when_taken({});
}

Status SendForward::pass(MessageCursor& messages, const From& from) {
  if (until_settled_) {
    input_ = input_of(from.peer);
    // Not passed on if it could not be noted: try again when there is memory.
    const std::size_t most = to_.socket().peers_connected() + 1;
    if (input_ == nullptr || !input_->make_room(most)) return Status::again;
  }
  // Otherwise a peer that is slow would hold the memory that the others are read into.
  const Block* const memory = messages.page().block();
  const bool copies = memory != nullptr && memory->owner()->runs_low();
  const std::uint64_t before = to_.bytes_sent();
  const Status status = to_.send(messages, copies, until_settled_ ? this : nullptr);
  count_bytes(to_.bytes_sent() - before);
  return status;
}

void SendForward::took(const Peer& peer) noexcept {
  const std::uint64_t total = books_of(peer).sent;
  for (std::size_t i = input_->size(); i != 0; --i) {
    Sent& sent = (*input_)[i - 1];
    if (sent.page != pages_) break;
    if (sent.peer != peer.id()) continue;
    sent.total = total;
    return;
  }
  input_->push_back({peer.id(), total, pages_, {}});
}

void SendForward::passed(const From& from) noexcept {
  if (!until_settled_) return;
  ++pages_;
  Input* const input = input_of(from.peer);
  if (input == nullptr || input->empty()) return from_.taken(from);
  (*input)[input->size() - 1].ends = from;
  look(*input);
}

SendForward::Input* SendForward::input_of(std::uint64_t id) noexcept {
  Input* input = nullptr;
  guard_memory([&] { input = &inputs_[id]; }, []() noexcept {});
  return input;
}

bool SendForward::settled(const Sent& sent) const noexcept {
  const std::optional<Books> books = to_.socket().books_of(sent.peer);
  // If the peer is forgotten, so is what became of its messages.
  return !books || books->sent - books->unacknowledged >= sent.total;
}

void SendForward::look(Input& input) noexcept {
  while (!input.empty() && settled(input[0])) {
    if (input[0].ends) from_.taken(*input[0].ends);
    input.pop_front();
  }
}

bool SendForward::look_at_all() noexcept {
  constexpr std::size_t kept_inputs_max = 64;
  bool left = false;
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
  return StreamForward::ended() && !look_at_all();
}

ForwardBooks SendForward::books() const noexcept {
  ForwardBooks books = StreamForward::books();
  for (const auto& [id, input] : inputs_) books.unsettled += input.size();
  return books;
}

}  // namespace netio::detail

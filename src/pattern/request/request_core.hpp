// The inside of a Request socket: each request to the next peer that is ready, or to a given one,
// and how each one ends. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <netio/loop.hpp>
#include <netio/request.hpp>

#include "base/call_back.hpp"
#include "pattern/request/deadlines.hpp"
#include "pattern/request/pending_requests.hpp"
#include "socket/distribution.hpp"
#include "socket/incoming_stream.hpp"
#include "socket/ready_peers.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

class MessageToAll;
class SocketCore;

// A peer of a Request socket, by its stream.
struct Replier {
  explicit Replier(Peer& its_peer) noexcept : peer(&its_peer) {}

  Peer* peer;                       // never null; another one after it has come back
  PendingRequest* first = nullptr;  // by position, those included that owe it a cancel
  PendingRequest* last = nullptr;
  std::size_t count = 0;      // of these
  OwedQueue owed;             // whose end it is to be told
  OwedQueue told;             // the same, which may be sent again if the connection breaks
  std::uint64_t arrived = 0;  // when the connection came up, it had received what is before that

  // Its position is behind those of all others.
  void append(PendingRequest& request) noexcept {
    request.to = this;
    request.previous = std::exchange(last, &request);
    request.next = nullptr;
    (request.previous != nullptr ? request.previous->next : first) = &request;
    ++count;
  }
  void remove(PendingRequest& request) noexcept {
    request.to = nullptr;
    (request.previous != nullptr ? request.previous->next : first) = request.next;
    (request.next != nullptr ? request.next->previous : last) = request.previous;
    --count;
  }
};

class RequestCore final : public Distribution, private RequestTaker, private Deferred {
 public:
  RequestCore(SocketCore& socket, const RequestOptions& options);

  // The user's side.
  Status send(std::span<const std::byte> request, std::uint64_t& id, const Ask& ask) noexcept;
  Status send(Message& request, std::uint64_t& id, const Ask& ask) noexcept;
  Status send(const SegmentList& segments, std::uint64_t& id, const Ask& ask) noexcept;
  ToAll send_to_all(std::span<const std::byte> request, std::vector<PeerRequest>& asked,
                    const Ask& ask) noexcept;
  Message allocate(std::size_t bytes, Status& status, std::size_t head_bytes) noexcept;
  Status cancel(std::uint64_t id) noexcept;
  [[nodiscard]] RequestBooks books() const noexcept;
  void on_reply(std::function<void(std::uint64_t, const MessageView&)> call);
  CallBack<void(std::uint64_t, Outcome)> on_failed;
  CallBack<void()> on_writable;
  [[nodiscard]] SocketCore& socket() const noexcept { return socket_; }

  // The socket's side.
  void ready(Peer& peer) noexcept override;
  void not_ready(Peer& peer) noexcept override { ready_.leave(peer); }
  [[nodiscard]] bool expects(const Peer& peer) const noexcept override;
  void settled(Peer& peer, std::uint64_t arrived) noexcept override;
  void ended_in_order(Peer& peer) noexcept override;
  void connection_ended(Peer& peer, DropReason reason) noexcept override;
  void given_up(Peer& peer, DropReason reason) noexcept override;
  [[nodiscard]] bool awaits(const Peer& peer) const noexcept override;
  void comes_as(Peer& gone, Peer& peer) noexcept override;
  void wire_idle(Peer& peer) noexcept override;
  const char* take_control(Peer&, const Frame&) override {
    return "sent a control frame that is not known here";
  }
  void lost(Peer& peer, std::uint64_t first, std::uint64_t count) noexcept override;
  void tell_writable() noexcept override;
  bool end_turn() noexcept override;
  void flush() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] double fill() const noexcept override;
  void freeze() noexcept override { stopped_ = true; }
  void add_to(Counters& counters) const noexcept override;

 private:
  // RequestTaker
  const Breach* take(const MessageView& message, Label label) noexcept override;
  void look_at_acknowledged(Peer& peer) noexcept override;
  // Deferred
  void run_deferred() noexcept override;

  void tell_answer(std::uint64_t id, const MessageView& message) noexcept;
  [[nodiscard]] Replier* find(const Peer& peer) noexcept {
    return last_found_ != nullptr && last_found_->peer == &peer ? last_found_ : look_up(peer);
  }
  [[nodiscard]] Replier* look_up(const Peer& peer) noexcept;
  [[nodiscard]] bool full(const Replier& replier) const noexcept {
    return replier.count >= options_.pending_max;
  }
  [[nodiscard]] static bool may_ask(const Peer& peer) noexcept;
  Status refused(std::size_t bytes) noexcept;
  // `payload`: the bytes, which are borrowed; or a message, which is taken.
  // Posts it to whom it is for: `peer`, by PeerInfo::id, or anybody if that is 0. `asked`: who it
  // was.
  template <typename Payload>
  Status put(std::uint64_t peer, Payload& payload, Label label, Peer*& asked) noexcept;
  template <typename Payload>
  Status ask_any(Payload& payload, Label label, Peer*& asked) noexcept;
  [[nodiscard]] bool pass_over(Peer& peer, Status status, std::size_t& too_small) noexcept;
  template <typename Payload>
  Status ask_one(std::uint64_t id, Payload& payload, Label label, Peer*& asked) noexcept;
  template <typename Payload>
  Status begin(Payload& payload, std::uint64_t& id, const Ask& ask) noexcept;
  template <typename Payload>
  [[gnu::noinline]] Status begin_with_more(Payload& payload, std::uint64_t& id,
                                           const Ask& ask) noexcept;
  Status not_begun(Status status, std::size_t bytes, const Ask& ask) noexcept;
  void begun(PendingRequest& request, Peer& peer, std::size_t bytes) noexcept;
  template <typename Payload>
  [[nodiscard]] bool prepare(const Ask& ask, const Payload& payload, Message& copy) noexcept;
  // A request to all (request_core_to_all.cpp).
  template <typename Call>
  Status ask_each(Call&& call) noexcept;
  [[nodiscard]] Status prepare_for_all(MessageToAll& request, std::size_t count) noexcept;
  [[nodiscard]] bool prepare_records(std::span<const std::byte> bytes, std::size_t count,
                                     const Ask& ask, std::vector<Message>& copies,
                                     std::vector<PeerRequest>& asked) noexcept;
  std::uint64_t put_to_all(Peer& peer, const MessageToAll& request, Lease memory, Message copy,
                           const Ask& ask) noexcept;
  // What a request has beside its bytes. There is room for its deadline.
  void limit(PendingRequest& request, Message copy, const Ask& ask) noexcept;
  // The time that it has left, as a frame says it.
  [[nodiscard]] std::uint16_t field_of(const PendingRequest& request) const noexcept;
  void under_way(PendingRequest& request, Peer& peer) noexcept;

  // Ends, and what follows from them.
  void end(PendingRequest& request, Outcome outcome, bool owes_cancel) noexcept;
  void end_or_repeat(PendingRequest& request, Outcome outcome, bool owes_cancel) noexcept;
  void fail(PendingRequest& request, Outcome outcome, bool owes_cancel) noexcept;
  void fail_from(Replier& replier, std::uint64_t position, Outcome outcome) noexcept;
  void fail_before(Replier& replier, std::uint64_t position, Outcome outcome,
                   bool owes_cancel) noexcept;
  // It does not count for its peer any more.
  void leave_list(PendingRequest& request) noexcept {
    Replier* const replier = request.to;
    if (replier == nullptr) return;
    replier->remove(request);
    if (replier->count + 1 == options_.pending_max) [[unlikely]]
      has_room(*replier);
  }
  // Nothing that is kept for this peer is to be executed.
  void withdraw_all(Peer& peer) noexcept;
  void was_told(Replier& replier, PendingRequest& request) noexcept;
  PendingRequest& pop_told(Replier& replier) noexcept {
    wants_acknowledgements_ = --told_ != 0;
    return replier.told.pop();
  }
  void forget_told(Replier& replier) noexcept;
  void leave_owed(PendingRequest& request) noexcept;
  void forget_cancel(PendingRequest& request) noexcept;
  void has_room(Replier& replier) noexcept;
  void tell_failed() noexcept;
  void repeat() noexcept;
  void post_cancels(Replier& replier) noexcept;
  void expire() noexcept;
  [[nodiscard]] bool make_room_for_deadlines(std::size_t count = 1) noexcept;
  void look_at_deadlines() noexcept;

  SocketCore& socket_;
  RequestOptions options_;
  PendingRequests pending_;
  Deadlines deadlines_;
  Timer deadline_timer_;
  std::int64_t timer_ns_ = 0;  // when it expires, if it runs
  std::unordered_map<const Peer*, Replier> repliers_;
  std::size_t told_ = 0;           // requests in the queues `told` of all of them
  Replier* last_found_ = nullptr;  // one of them: mostly the next that is looked for, too
  ReadyPeers ready_;
  ToDoQueue failed_;
  ToDoQueue repeating_;
  std::function<void(std::uint64_t, const MessageView&)> on_reply_;
  std::optional<std::function<void(std::uint64_t, const MessageView&)>> next_on_reply_;
  RequestBooks books_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t agains_ = 0;
  bool calling_ = false;
  bool stopped_ = false;
  bool wanted_ = false;        // a request was refused: on_writable is owed
  bool worth_trying_ = false;  // and something has changed since
  bool cancels_owed_ = false;
};

}  // namespace netio::detail

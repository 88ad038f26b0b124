// The inside of a Reply socket: requests become tickets, and answers go back to the stream that
// each request came from. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include <netio/loop.hpp>
#include <netio/reply.hpp>

#include "base/call_back.hpp"
#include "pattern/reply/reply_hub.hpp"
#include "pattern/reply/waiting_answers.hpp"
#include "socket/distribution.hpp"
#include "socket/incoming_stream.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

class SocketCore;

// A peer of a Reply socket, by its stream.
struct Requester {
  Requester(Peer& its_peer, ReplyCore& core) noexcept : peer(&its_peer), waiting(core, *this) {}

  Peer* peer;  // never null; another one after it has come back
  WaitingAnswers waiting;
  ReplyTicket* open = nullptr;  // the last of a list
  std::size_t open_count = 0;
  bool held = false;  // no more of its requests are taken for now
};

class ReplyCore final : public Distribution, private RequestTaker, private Deferred {
 public:
  ReplyCore(SocketCore& socket, const ReplyOptions& options);
  ~ReplyCore() override;

  // The user's side.
  void on_request(std::function<void(const MessageView&, ReplyTo)> call);
  CallBack<void()> on_writable;
  [[nodiscard]] SocketCore& socket() const noexcept { return socket_; }
  [[nodiscard]] ReplyBooks books() const noexcept;
  // The ticket is null afterwards if the answer is ok.
  Status answer(ReplyTicket*& ticket, std::span<const std::byte> bytes) noexcept;
  Status answer(ReplyTicket*& ticket, Message& message) noexcept;
  Status answer(ReplyTicket*& ticket, const SegmentList& segments) noexcept;
  Message allocate(const ReplyTicket& ticket, std::size_t bytes, Status& status,
                   std::size_t head_bytes) noexcept;
  void dropped(ReplyTicket& ticket) noexcept;

  // For WaitingAnswers: no answer waits any more; gives one to the stream.
  void waits_no_more(Requester& requester) noexcept;
  Status post(OutgoingStream& stream, Message& message, Label label) noexcept;
  Status post(OutgoingStream& stream, std::span<const std::byte> bytes, Label label) noexcept;

  // The socket's side.
  void ready(Peer& peer) noexcept override;
  void not_ready(Peer&) noexcept override {}
  void let_go(Peer& peer) noexcept override;
  void ended_in_order(Peer& peer) noexcept override;
  void connection_ended(Peer& peer, DropReason reason) noexcept override;
  void given_up(Peer& peer, DropReason reason) noexcept override;
  [[nodiscard]] bool awaits(const Peer& peer) const noexcept override;
  void comes_as(Peer& gone, Peer& peer) noexcept override;
  void wire_idle(Peer& peer) noexcept override;
  const char* take_control(Peer& peer, const Frame& frame) override;
  void tell_writable() noexcept override;
  bool end_turn() noexcept override;
  void flush() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] double fill() const noexcept override;
  void freeze() noexcept override;
  void add_to(Counters& counters) const noexcept override;

 private:
  // RequestTaker
  const Breach* take(const MessageView& message, Label label) noexcept override;
  // Deferred
  void run_deferred() noexcept override { tell_writable(); }

  [[nodiscard]] Requester* find(const Peer& peer) noexcept {
    return last_found_ != nullptr && last_found_->peer == &peer ? last_found_ : look_up(peer);
  }
  [[nodiscard]] Requester* look_up(const Peer& peer) noexcept;
  void enter_open() noexcept;
  // The request that is with the call-back is this requester's.
  [[nodiscard]] bool asks_now(const Requester& requester) const noexcept {
    return called_with_ != nullptr && called_with_->from == &requester;
  }
  Status post(OutgoingStream& stream, const SegmentList& segments, Label label) noexcept;
  // Answers in memory that is only borrowed, or takes the message.
  template <typename Answer>
  Status give(Requester& requester, Answer& answer, Label label) noexcept;
  template <typename Answer>
  [[gnu::noinline]] Status give_later(Requester& requester, Answer& answer, Label label) noexcept;
  [[nodiscard]] Status may_give(const Requester& requester, std::size_t bytes) noexcept;
  // What may wait for one requester, and one answer more.
  [[nodiscard]] std::size_t waiting_bytes_max() const noexcept;
  // If so much waits, no more requests of it are taken.
  [[nodiscard]] std::size_t held_bytes(const Requester& requester) const noexcept;
  Status wait(Requester& requester, std::span<const std::byte> bytes, Label label) noexcept;
  Status wait(Requester& requester, Message& message, Label label) noexcept;
  Status wait(Requester& requester, const SegmentList& segments, Label label) noexcept;
  template <typename Answer>
  Status finish(ReplyTicket*& ticket, Answer& answer) noexcept;
  void refuse_to_answer(ReplyTicket& ticket) noexcept;
  void refuse_to_answer_all(Requester& requester) noexcept;
  // Nobody waits for its answer any more.
  void leave(ReplyTicket& ticket) noexcept {
    if (&ticket != called_with_) return leave_open(ticket);
    called_with_ = nullptr;
    ticket.from = nullptr;
  }
  void leave_open(ReplyTicket& ticket) noexcept;
  void give_up(Requester& requester) noexcept;
  void look_whether_held(Requester& requester) noexcept;

  SocketCore& socket_;
  ReplyOptions options_;
  ReplyHub* hub_;
  std::unordered_map<const Peer*, Requester> requesters_;
  std::function<void(const MessageView&, ReplyTo)> on_request_;
  std::optional<std::function<void(const MessageView&, ReplyTo)>> next_on_request_;
  Requester* last_found_ = nullptr;  // mostly the next that is looked for, too
  // The request that the call-back was given, until it is answered or the call-back returns: only
  // then is it entered in the hub, as most requests are answered before that.
  ReplyTicket* called_with_ = nullptr;
  ReplyBooks books_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t agains_ = 0;
  bool calling_ = false;
  bool stopped_ = false;
  bool wanted_ = false;        // an answer was refused: on_writable is owed
  bool worth_trying_ = false;  // and a requester has room since
};

}  // namespace netio::detail

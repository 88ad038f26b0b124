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
  std::function<void()> on_writable;
  [[nodiscard]] ReplyBooks books() const noexcept;
  Status answer(ReplyTicket& ticket, std::span<const std::byte> bytes) noexcept;
  Status answer(ReplyTicket& ticket, Message& message) noexcept;
  Status answer(ReplyTicket& ticket, const SegmentList& segments) noexcept;
  Message allocate(const ReplyTicket& ticket, std::size_t bytes, Status& status,
                   std::size_t head_bytes) noexcept;
  void dropped(ReplyTicket& ticket) noexcept;

  // For WaitingAnswers: no answer waits any more; gives one to the stream.
  void waits_no_more(Requester& requester) noexcept;
  Status post(OutgoingStream& stream, Message& message, Label label) noexcept;

  // The socket's side.
  void ready(Peer& peer) noexcept override;
  void not_ready(Peer&) noexcept override {}
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
  void begin_page(Peer& peer, std::int64_t came_ns) noexcept override;
  Breach admit(Label label) noexcept override;
  void take(const MessageView& message, Label label) noexcept override;
  // Deferred
  void run_deferred() noexcept override { tell_writable(); }

  [[nodiscard]] Requester* find(const Peer& peer) noexcept;
  Status post(OutgoingStream& stream, std::span<const std::byte> bytes, Label label) noexcept;
  Status post(OutgoingStream& stream, const SegmentList& segments, Label label) noexcept;
  // Answers in memory that is only borrowed, or takes the message.
  template <typename Answer>
  Status give(Requester& requester, Answer& answer, Label label) noexcept;
  // What may wait for one requester, and one answer more.
  [[nodiscard]] std::size_t waiting_bytes_max() const noexcept;
  // If so much waits, no more requests of it are taken.
  [[nodiscard]] std::size_t held_bytes(const Requester& requester) const noexcept;
  Status wait(Requester& requester, std::span<const std::byte> bytes, Label label) noexcept;
  Status wait(Requester& requester, Message& message, Label label) noexcept;
  Status wait(Requester& requester, const SegmentList& segments, Label label) noexcept;
  template <typename Answer>
  Status finish(ReplyTicket& ticket, Answer& answer) noexcept;
  void refuse_to_answer(ReplyTicket& ticket) noexcept;
  void leave(ReplyTicket& ticket) noexcept;
  void give_up(Requester& requester) noexcept;
  void look_whether_held(Requester& requester) noexcept;

  SocketCore& socket_;
  ReplyOptions options_;
  ReplyHub* hub_;
  std::unordered_map<const Peer*, Requester> requesters_;
  std::function<void(const MessageView&, ReplyTo)> on_request_;
  std::optional<std::function<void(const MessageView&, ReplyTo)>> next_on_request_;
  std::int64_t page_came_ns_ = 0;    // the page that is being delivered
  Requester* at_hand_ = nullptr;     // whose page is being delivered
  ReplyTicket* admitted_ = nullptr;  // the request that take() is about to be given; null: none
  ReplyBooks books_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t agains_ = 0;
  bool calling_ = false;
  bool stopped_ = false;
  bool wanted_ = false;        // an answer was refused: on_writable is owed
  bool worth_trying_ = false;  // and a requester has room since
};

}  // namespace netio::detail

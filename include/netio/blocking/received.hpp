// What a call that receives gives: a message in place, or why there is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <netio/batch.hpp>
#include <netio/message.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

namespace netio::blocking {

// A peer that went, or a connection that can never be made, and why: what on_down is told.
struct Gone {
  PeerInfo peer;  // as in on_down
  Down down;      // the reason, and a sentence
};

// For the library: what is told of a peer that there was no memory to remember.
[[nodiscard]] inline Gone gone_unnamed() {
  return {{}, {DownReason::resources, "a peer went, and there was no memory to remember which"}};
}

// What came. True if it is a message.
struct [[nodiscard]] Received {
  // ok: `message`. again: the time is over. not_connected: a peer went (what it sent has been
  // received before), or a connection can never be made; of peers that went while nobody received,
  // the latest 1,024 are told, and those that there was no memory for as one. closed: the socket
  // was closed.
  Status status = Status::again;
  // In place: valid until the next receive() on this socket, or the end of the socket. keep() it to
  // have it longer. Empty unless ok.
  MessageView message{nullptr, {}, 0};
  std::uint64_t sender = 0;            // ok: the id of the peer that sent it (PeerInfo::id)
  std::unique_ptr<const Gone> gone{};  // not_connected: which peer went, and why; else null

  // Whether it is a message.
  explicit operator bool() const noexcept { return status == Status::ok; }
};

// The time limit of those who have none.
inline constexpr std::chrono::nanoseconds for_ever{-1};

}  // namespace netio::blocking

namespace netio::detail {

// For the library: the page whose messages receive() gives one after the other. It is kept until
// the next page is opened, because the last of its messages may be in use until then.
class PageAtHand {
 public:
  [[nodiscard]] bool next(MessageCursor::Place& place) noexcept { return cursor_.next(place); }
  // What next() gave.
  [[nodiscard]] blocking::Received received(const MessageCursor::Place& place) const noexcept {
    return {.status = Status::ok, .message = cursor_.view(place), .sender = sender_};
  }
  // `here`: on the thread of the socket.
  void open(KeptBatch page, std::uint64_t sender, bool here) noexcept {
    page_ = std::move(page);
    cursor_ = here ? page_.own_cursor() : page_.cursor();
    sender_ = sender;
  }
  void release() noexcept { open({}, 0, false); }

 private:
  MessageCursor cursor_;
  std::uint64_t sender_ = 0;
  KeptBatch page_;
};

}  // namespace netio::detail

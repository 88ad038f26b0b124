// What became of the messages from one peer, over all connections of its streams. The first page of
// a connection says at which position it begins: messages between that and the expected position
// are missed. Only the peer says so, so the claim is bounded by how many messages a wire can have
// carried since this side began to look for the peer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <netio/books.hpp>

#include "wire/hello.hpp"

namespace netio::detail {

class ReceiveBooks {
 public:
  std::uint64_t expected = 0;  // the position of the next message to be received
  std::uint64_t delivered = 0;
  // Where acknowledgements wait for a reader in another thread, or until messages are released,
  // this is what they say: never more than `expected`. Elsewhere they say `expected`.
  std::uint64_t acknowledged = 0;

  // A position of one connection.
  struct Place {
    std::uint64_t connection = 0;
    std::uint64_t position = 0;
  };
  [[nodiscard]] Place place() const noexcept { return {connections_, expected}; }
  // The reader has taken everything before that. Nothing if that was on an earlier connection: then
  // the peer knows more already.
  void acknowledge(const Place& taken) noexcept {
    if (taken.connection != connections_ || taken.position > expected) return;
    acknowledged = std::max(acknowledged, taken.position);
  }

  // When this side began to look for the peer: nothing can have been missed before. Times are those
  // of the loop.
  void look_from(std::int64_t now_ns) noexcept { since_ns_ = now_ns; }

  struct Lost {
    std::uint64_t first;  // number
    std::uint64_t count;
  };
  // A connection begins on which the message at `position` comes first. What is lost by that;
  // nothing if it cannot be.
  std::optional<Lost> begin_connection(std::uint64_t position, std::int64_t now_ns) noexcept {
    if (position < expected || !may_have_missed(position - expected, now_ns)) return std::nullopt;
    const Lost lost{next_number(), position - expected};
    skipped_ += lost.count;
    miss(lost.count);
    // The peer was told that all before it is settled, so an acknowledgement never says less.
    acknowledged = expected = position;
    ++connections_;
    return lost;
  }
  // Another stream: positions and numbers begin anew.
  void begin_stream() noexcept {
    expected = acknowledged = skipped_ = dropped_ = 0;
    ++connections_;
  }

  // The number of positions of the stream, below `expected`, whose messages never came.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }
  // Messages have numbers where some may be dropped before they get a position: those are counted.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return expected + dropped_; }
  // The peer says that it has dropped `dropped` messages in all. Returns how many of these are new,
  // or nothing if that cannot be true.
  std::optional<std::uint64_t> miss_up_to(std::uint64_t dropped, std::int64_t now_ns) noexcept {
    if (dropped < dropped_ || dropped >= sequence_end) return std::nullopt;
    const std::uint64_t more = dropped - dropped_;
    if (!may_have_missed(more, now_ns)) return std::nullopt;
    dropped_ = dropped;
    miss(more);
    return more;
  }
  void add_to(Books& books) const noexcept {
    books.delivered += delivered;
    books.missed += missed_;
  }

 private:
  // More than any wire carries: 400 Gb/s of empty messages are 6 a nanosecond. The time is as old
  // as the turn, so a small number is always believed.
  static constexpr std::uint64_t messages_per_ns = 8;
  static constexpr std::uint64_t always_believed = std::uint64_t{1} << 24U;
  [[nodiscard]] bool may_have_missed(std::uint64_t more, std::int64_t now_ns) const noexcept {
    const auto passed_ns =
        static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - since_ns_, 0));
    const std::uint64_t sendable =
        std::min(passed_ns, sequence_end / messages_per_ns) * messages_per_ns;
    return more < sequence_end && missed_ + more <= always_believed + sendable;
  }
  void miss(std::uint64_t more) noexcept { missed_ += more; }

  std::uint64_t connections_ = 0;  // begun so far, and streams
  std::uint64_t missed_ = 0;       // over all streams
  std::int64_t since_ns_ = 0;      // the earliest time at which a message can have been missed
  std::uint64_t skipped_ = 0;      // of the stream
  std::uint64_t dropped_ = 0;      // of the stream, before they were sent, as the peer last said
};

}  // namespace netio::detail

// What became of the messages for one peer. Positions count those of a stream from 0
// (docs/wire.md); messages that were dropped before they were posted never had one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <netio/books.hpp>

namespace netio::detail {

struct SendBooks {
  // Of the stream.
  std::uint64_t next_sequence = 0;     // the position of the next message to be posted to its end
  std::uint64_t expected = 0;          // by the peer, as it last said; what is below is settled
  std::uint64_t delivered = 0;         // of those below, how many the peer has received
  std::uint64_t dropped_unposted = 0;  // beside these
  // Of this stream and those before it.
  std::uint64_t posted_before = 0;  // on streams that are over
  std::uint64_t acknowledged = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count_)> dropped{};
  std::uint64_t dropped_unposted_before = 0;

  // The peer expects `sequence` next. Returns false, with nothing changed, if that cannot be true.
  [[nodiscard]] bool acknowledge(std::uint64_t sequence) noexcept {
    if (sequence < expected || sequence > next_sequence) return false;
    acknowledged += sequence - expected;
    delivered += sequence - expected;
    expected = sequence;
    return true;
  }
  // A connection begins, on which messages are sent again from `begin` on: the oldest one that is
  // kept, or the one that the peer expects. The peer expects `sequence`, and has missed `missed`
  // messages before it. What it has not received before `begin` is dropped. Returns false, with
  // nothing changed, if that cannot be true.
  [[nodiscard]] bool settle(std::uint64_t sequence, std::uint64_t missed,
                            std::uint64_t begin) noexcept {
    if (sequence > next_sequence || missed > sequence) return false;
    if (begin < sequence || begin < expected || begin > next_sequence) return false;
    const std::uint64_t received = sequence - missed;
    if (received < delivered || received - delivered > begin - expected) return false;
    acknowledged += received - delivered;
    dropped[static_cast<std::size_t>(DropReason::connection_lost)] +=
        begin - expected - (received - delivered);
    expected = begin;
    delivered = received;
    return true;
  }
  // Drops the messages that were posted and are not acknowledged.
  void drop_posted(DropReason reason) noexcept {
    dropped[static_cast<std::size_t>(reason)] += next_sequence - expected;
    expected = next_sequence;
  }
  void drop_unposted(DropReason reason, std::uint64_t messages) noexcept {
    dropped[static_cast<std::size_t>(reason)] += messages;
    dropped_unposted += messages;
  }
  // Another stream: positions begin at 0 again. Messages that are in doubt on the stream before are
  // dropped, because nobody will ever know.
  void begin_stream() noexcept {
    drop_posted(DropReason::connection_lost);
    posted_before += next_sequence;
    dropped_unposted_before += dropped_unposted;
    next_sequence = expected = delivered = dropped_unposted = 0;
  }
  // Those posted before `kept_from` are in doubt: 0 while there is a connection, else the oldest
  // position that is kept.
  void add_to(Books& books, std::uint64_t unposted, std::uint64_t kept_from) const noexcept {
    books.sent +=
        posted_before + next_sequence + dropped_unposted_before + dropped_unposted + unposted;
    books.acknowledged += acknowledged;
    const std::uint64_t in_doubt = std::max(kept_from, expected) - expected;
    books.in_doubt += in_doubt;
    books.unacknowledged += next_sequence - expected - in_doubt + unposted;
    for (std::size_t i = 0; i < dropped.size(); ++i) books.dropped_by[i] += dropped[i];
  }
};

}  // namespace netio::detail

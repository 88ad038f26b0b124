// What became of the messages for one peer. Sequences count them from 0 (docs/wire.md); those
// that were dropped before they were posted never had one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <netio/books.hpp>

namespace netio::detail {

struct SendBooks {
  std::uint64_t next_sequence = 0;  // of the next message to be posted to its end
  std::uint64_t expected = 0;       // by the peer, as it last said; what is below is settled
  std::uint64_t acknowledged = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count_)> dropped{};
  std::uint64_t dropped_unposted = 0;

  // The peer expects `sequence` next. False, and nothing done, if that is a lie.
  [[nodiscard]] bool acknowledge(std::uint64_t sequence) noexcept {
    if (sequence < expected || sequence > next_sequence) return false;
    acknowledged += sequence - expected;
    expected = sequence;
    return true;
  }
  // What was posted and is not acknowledged never will be.
  void drop_posted(DropReason reason) noexcept {
    dropped[static_cast<std::size_t>(reason)] += next_sequence - expected;
    expected = next_sequence;
  }
  void drop_unposted(DropReason reason, std::uint64_t messages) noexcept {
    dropped[static_cast<std::size_t>(reason)] += messages;
    dropped_unposted += messages;
  }
  void add_to(Books& books, std::uint64_t unposted) const noexcept {
    books.sent += next_sequence + dropped_unposted + unposted;
    books.acknowledged += acknowledged;
    books.unacknowledged += next_sequence - expected + unposted;
    for (std::size_t i = 0; i < dropped.size(); ++i) books.dropped_by[i] += dropped[i];
  }
};

}  // namespace netio::detail

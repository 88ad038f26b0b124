// What one side of a shm link writes and the other only reads: pages in slots, how far it has read
// the other's slots, which pages it is done with, and whether it sleeps. Plain words that the peer
// checks (docs/wire.md); each word has one writer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/page.hpp"

namespace netio::detail {

inline constexpr std::size_t shm_slots = 1024;  // a power of two
inline constexpr std::size_t shm_pages =
    1024;  // that may lie in the memory of their sender at once
// Of what one side shows the other: more is not mapped.
inline constexpr std::size_t shm_memory_bytes_max = std::size_t{1} << 40U;

// A page: its header, and its body if that is short, or where it lies in the sender's memory.
struct alignas(128) ShmSlot {
  // The number of the page plus 1, written last.
  std::atomic<std::uint64_t> turn;
  std::array<std::byte, page_header_bytes> header;
  std::uint64_t place;  // in the sender's memory; or inline_body
  // Or, if the body lies at `place`, in the first 8 bytes: the number of the page, below shm_pages,
  // by which its reader gives it back.
  std::array<std::byte, 80> body;

  static constexpr std::uint64_t inline_body = ~std::uint64_t{0};
};
static_assert(sizeof(ShmSlot) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

struct ShmBoard {
  // The first four in one line: who looks at one of them wants the others too.
  // Odd while this side sleeps, or is about to: ring its bell, once for each value. The second bit:
  // also when nothing but room came.
  alignas(64) std::atomic<std::uint32_t> sleep;
  // 1 once this side has said its good-bye and heard the other's: its end is in order then.
  std::atomic<std::uint32_t> finished;
  std::atomic<std::uint64_t> consumed;  // slots of the other side, from the first on
  std::atomic<std::uint64_t> returned;  // entries of `returns` written so far
  alignas(64) std::array<std::atomic<std::uint32_t>, shm_pages> returns;
  std::array<ShmSlot, shm_slots> slots;

  static constexpr std::uint32_t asleep = 1;
  static constexpr std::uint32_t wants_room = 2;
  static constexpr std::uint32_t next_sleep = 4;
};

}  // namespace netio::detail

// Up to which size memory is copied although it could be sent, or kept, where it lies. Each number
// answers one of two questions, and is used wherever that question is asked.
#pragma once

#include <cstddef>

namespace netio::detail {

// Is a copy cheaper than a post of its own?

// On a buffered socket a message in counted or lent memory is copied into the open page if it is at
// most this part of a page. Otherwise it would close that page and be a page itself, with a header,
// an entry in the link's queue, and its share of a system call.
inline constexpr std::size_t gathered_page_part = 4;

// A page of up to so many bytes, header included, is put together on the stack before it is given
// to the system or the device: one plain send(), or one injected message, costs less than three
// parts or a completion.
inline constexpr std::size_t put_together_bytes_max = 512;

// How much memory may a small kept piece hold?

// keep() shares the memory that a received message lies in if the message is at least this part of
// it, and else copies: what users keep holds at most 16 times its own size. A receive block has
// four pages, so with the defaults messages from 16 KiB on are shared.
inline constexpr std::size_t shared_block_part = 16;

// A page that waits for a slow subscriber is copied behind others if it fills less than this part
// of its block: a queue is bounded in bytes, and holds at most 4 times as much memory. The bound is
// closer than that of keep(), because the blocks are those of the send pool, which every other
// subscriber needs too.
inline constexpr std::size_t waiting_block_part = 4;

// A body of up to so many bytes that a peer of shm:// lent is copied by its receiver, and given
// back at once. Otherwise a user who keeps short messages would hold one of the 1,024 pages that a
// peer may lend, and the block that it lies in, for each. It is an amount and no part of the block,
// because the receiver does not know how large the blocks of the peer's arena are.
inline constexpr std::size_t given_back_bytes_max = std::size_t{8} << 10U;

}  // namespace netio::detail

// Can a wire read the memory that a message lies in? A value that all links of a kind share: a
// link's owner asks the value, and makes no call of the link. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/large_pool.hpp"
#include "memory/pool.hpp"
#include "memory/range_pool.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

// Memory of allocate() has so many bytes in front of the payload, in which a link writes its
// prefix.
inline constexpr std::size_t loan_headroom = 64;
static_assert(loan_headroom >= frame_prefix_bytes_max);

struct Fit {
  // How a message gets to the wire as a post of its own.
  enum class Way : std::uint8_t {
    in_place,  // the wire, or the peer, reads it where it lies
    copied,    // it is copied once
    in_parts,  // it is cut into pages
  };
  struct Answer {
    Way way = Way::in_place;
    // If copied: into memory of this store, or of the wire itself if null. A link makes copies into
    // `pages` and into the wire's memory when the message is posted; other copies are its owner's.
    const Store* into = nullptr;

    bool operator==(const Answer&) const = default;
  };
  // Memory that was taken, or where it lacks: null if there never is as much.
  struct Taken {
    Lease lease;
    Store* short_of = nullptr;
  };

  Pool* pages = nullptr;       // the memory that this wire sends pages from
  RangePool* loans = nullptr;  // that the peer reads too; null: the wire reads this process's
  LargePool* large = nullptr;  // for what is larger than a page, if there are no loans
  // Blocks that messages come in, of a device that reads registered memory only: these blocks,
  // `pages` and `large` are. Null: the wire reads any memory of this process, or only what the peer
  // reads too.
  const Pool* received = nullptr;
  // Up to so many bytes a page's body travels in the wire's own memory (a slot, an injected
  // message), and its memory is free at once. On a fabric only while nothing waits before it.
  std::size_t short_body_bytes_max = 0;
  // So much payload may be posted from memory that is only borrowed until post() returns.
  std::size_t borrowed_bytes_max = 0;
  bool reads_borrowed = false;  // in place; else it is copied into `pages`
  // Of a page that is one message, header included. It may shrink while the link is up.
  std::size_t whole_page_bytes_max = 0;

  // Of a message in counted or lent memory, with so many bytes of it in a front.
  [[nodiscard]] Answer of(const Block& memory, std::span<const std::byte> message, Label label,
                          std::size_t front_bytes = 0) const noexcept;
  // Of a message in memory that is borrowed until the call returns.
  [[nodiscard]] Answer of_borrowed(std::size_t bytes, Label label) const noexcept;
  // The peer reads the message where it lies, behind loan_headroom: it is one post, however large.
  [[nodiscard]] bool peer_reads(const Block& memory, std::uint64_t bytes) const noexcept {
    return loans != nullptr && loans->owns(memory) && bytes <= UINT32_MAX - loan_headroom;
  }
  // The link's owner makes this copy, before it posts the message.
  [[nodiscard]] bool before_post(const Answer& answer) const noexcept {
    return answer.way == Way::copied && answer.into == &large_store();
  }
  // Short, and copied into the slot of each peer: its memory is free once it is posted.
  [[nodiscard]] bool in_slots(const Answer& answer) const noexcept {
    return loans != nullptr && answer.way == Way::copied && answer.into == nullptr;
  }
  // A copy in `loans` serves every peer, while each link would copy the message for its own.
  [[nodiscard]] bool one_copy_serves_all(const Answer& answer) const noexcept {
    return loans != nullptr && answer.way == Way::copied && answer.into != nullptr;
  }

  // Whether a page of these frames, that lie in this memory, is sent from there.
  [[nodiscard]] bool sends_page_from(const Block& memory,
                                     std::span<const std::byte> frames) const noexcept;

  // Where messages larger than a page are copied to.
  [[nodiscard]] const Store& large_store() const noexcept {
    return loans != nullptr ? static_cast<const Store&>(*loans) : *large;
  }
  // Calls with that store, as what it is.
  template <typename Call>
  decltype(auto) with_large(Call&& call) const {
    return loans != nullptr ? call(*loans) : call(*large);
  }
  // Room that a copy there needs before the message.
  [[nodiscard]] std::size_t headroom() const noexcept {
    return loans != nullptr ? loan_headroom : 0;
  }
  // Memory there for a message that many share.
  [[nodiscard]] Taken take_shared(std::size_t bytes) const noexcept;
  // Memory that this wire sends a message from without a copy: the user writes it there.
  [[nodiscard]] Taken take_to_write(std::size_t bytes) const noexcept;

  bool operator==(const Fit&) const = default;

 private:
  [[nodiscard]] bool reads(const Block& memory, const std::byte* data) const noexcept;
};

}  // namespace netio::detail

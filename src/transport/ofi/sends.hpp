// The send side of an ofi link: posted pages in a ring, each sent when the peer has a receive for
// it. Holds each page's lease until its completion, and lent memory until the peer has fetched it.
// Owner thread only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fabric/endpoint.hpp"
#include "transport/link.hpp"
#include "transport/ofi/device.hpp"
#include "transport/ofi/operations.hpp"

namespace netio::detail {

class OfiSends final : private OfiOperations {
 public:
  static constexpr std::size_t entries_max = 128;
  static constexpr std::size_t lends_max = 64;

  // Throws Error without memory for headers.
  OfiSends(OfiOperationsOwner& owner, CompletionQueue& queue, Device& device, Pool& pool,
           std::size_t inject_bytes_max, Copies* copies);

  // The largest message that the peer has a place for, and the most that several pages in one may
  // take. Before the first page.
  void limit(std::size_t message_bytes_max, std::size_t pages_bytes_max = SIZE_MAX) noexcept {
    message_bytes_max_ = message_bytes_max;
    pages_bytes_max_ = std::min(message_bytes_max, pages_bytes_max);
  }

  // Which memory it reads.
  void describe(Fit& fit) const noexcept;

  // Whether a page may be sent at once, and done with.
  [[nodiscard]] bool injects(const PageHeader& header) const noexcept {
    return page_header_bytes + header.bytes <= inject_bytes_max_ && unsent_ == 0 &&
           !says_bye(header);  // the last page's completion is waited for
  }
  // 0, or a negative error; -FI_EAGAIN has taken nothing. With `write` the page is written to the
  // peer's memory, and else it is a message.
  long inject(Endpoint& endpoint, const PageHeader& header, const Post& post,
              const RemoteWrite* write = nullptr) noexcept;

  // It is too large to be a message, or to be copied where the device cannot read it: lend() it.
  [[nodiscard]] bool is_large(const PageHeader& header, const Post& post) noexcept;
  // Takes the post: its lease, or a copy of a body that is only borrowed, or that the device cannot
  // read. False if there is no memory for that. There must be room(). send_next() sends it.
  bool add(PageHeader header, Post& post) noexcept;
  [[nodiscard]] bool unsent() const noexcept { return unsent_ != 0; }
  [[nodiscard]] bool next_is_bye() const noexcept { return entries_[first_unsent()].bye; }
  // On the wire.
  [[nodiscard]] std::size_t next_bytes() const noexcept {
    const Entry& next = entries_[first_unsent()];
    return next.head_bytes + next.bytes + next.pad();
  }
  // What the page tells of receives, fetches and acknowledgements is set now. As inject().
  long send_next(Endpoint& endpoint, const PageHeader& tells,
                 const RemoteWrite* write = nullptr) noexcept;

  void drop_unsent() noexcept;
  // But for the last, a good-bye, if there is any.
  void drop_before_bye() noexcept;

  // Takes a post with a body larger than a page: the peer will be told where it lies, and fetch it.
  // False if the body cannot be registered. There must be room().
  bool lend(PageHeader header, Post& post) noexcept;
  // The peer has fetched so many of what was lent, in order. False if it was not told of that many.
  bool fetched(std::uint32_t count) noexcept;

  // Bytes that are no page: a hello.
  long send_bytes(Endpoint& endpoint, std::span<const std::byte> bytes) noexcept;

  [[nodiscard]] bool room() const noexcept { return room_for_bye() && lends_used_ < lends_max; }
  // A page that lends nothing and takes no memory.
  [[nodiscard]] bool room_for_bye() const noexcept { return used_ < entries_max; }
  // Worth telling who was answered again: half is free.
  [[nodiscard]] bool roomy() const noexcept {
    return used_ <= entries_max / 2 && lends_used_ <= lends_max / 2;
  }
  // All that was posted is with the peer; lent memory may still be out.
  [[nodiscard]] bool sent() const noexcept { return used_ == 0; }
  [[nodiscard]] bool idle() const noexcept { return used_ == 0 && lends_used_ == 0; }
  [[nodiscard]] std::size_t queued_bytes() const noexcept {
    return static_cast<std::size_t>(posted_bytes_ - done_bytes_);
  }
  // Of `bytes_max`, what is not free: small pages run out of entries first.
  [[nodiscard]] std::size_t taken_of(std::size_t bytes_max) const noexcept;
  // See Link::holding.
  [[nodiscard]] Holding holding(const StorePart& of) const noexcept;

 private:
  // One message on the wire: a head and a body, or copies of several pages back to back.
  struct Entry {
    Lease lease;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;  // of the body or the copies
    void* descriptor = nullptr;
    std::byte* head = nullptr;   // a page header first; in the entry's slot, or before the front
    std::size_t head_bytes = 0;  // 0: copies, which begin with their own
    void* head_descriptor = nullptr;
    Lease front_lease{};  // the head ends with a front
    bool bye = false;
    bool lent = false;
    bool done = false;
    bool elsewhere = false;  // the body takes no page of ours
    [[nodiscard]] std::size_t pad() const noexcept { return wire_padded(bytes) - bytes; }
    [[nodiscard]] std::size_t queued_bytes() const noexcept;  // as it counts
  };
  struct Lend {
    Lease lease;
    std::size_t all_bytes = 0;
    std::size_t bytes = 0;  // as they count among what is queued
    std::optional<MemoryRegion> own;
  };
  void on_completion(Operation& operation, std::size_t bytes) noexcept override;
  void count_copy(const Post& post) noexcept {
    if (post.body.lease && post.body.bytes != 0 && copied_ != nullptr) {
      copied_->add(post.body.bytes);
    }
  }
  static void drop_memory(Entry& entry) noexcept;
  void end_lend(Lend& lend) noexcept;
  bool add_copy(const PageHeader& header, const Post& post) noexcept;
  std::byte* write_head(Entry& entry, const PageHeader& header, const Post& post) noexcept;
  [[nodiscard]] std::size_t first_unsent() const noexcept {
    return (first_ + used_ - unsent_) % entries_max;
  }
  [[nodiscard]] std::size_t past_last() const noexcept { return (first_ + used_) % entries_max; }
  [[nodiscard]] std::size_t last() const noexcept { return (first_ + used_ - 1) % entries_max; }
  [[nodiscard]] std::byte* slot(std::size_t index) const noexcept;
  Entry& append(Entry entry) noexcept;

  Device& device_;
  Pool& pool_;
  Copies* copied_;  // counts bodies that were copied out of other memory; null: nobody does
  std::size_t inject_bytes_max_;
  std::size_t message_bytes_max_ = 0;
  std::size_t pages_bytes_max_ = 0;
  void* heads_descriptor_ = nullptr;
  Lease heads_;
  std::array<Entry, entries_max> entries_;
  std::size_t first_ = 0;
  std::size_t used_ = 0;
  std::size_t unsent_ = 0;  // the last so many of those used
  std::array<Lend, lends_max> lends_;
  std::size_t first_lend_ = 0;
  std::size_t lends_used_ = 0;
  std::size_t lends_unsent_ = 0;  // the last so many of those used: the peer cannot know of them
  std::uint64_t posted_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;     // of these, or dropped
  std::uint64_t fetched_bytes_ = 0;  // by the peer, of what was lent
};

}  // namespace netio::detail

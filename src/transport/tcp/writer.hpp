// The send side of a tcp link: posted pages in a ring, written many at a time. Holds each page's
// lease until its last byte is with the kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/link.hpp"

namespace netio::detail {

enum class WriteResult : std::uint8_t {
  drained,  // nothing is left
  blocked,  // the kernel takes no more for now
  failed,   // error() says
};

class TcpWriter {
 public:
  TcpWriter(Pool& pool, std::size_t queue_bytes_max) noexcept
      : pool_(pool), queue_bytes_max_(queue_bytes_max) {}

  [[nodiscard]] bool full() const noexcept {
    return queued_bytes_ >= queue_bytes_max_ || count_ == entries_max;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // Half is free: time to tell an owner whose post was answered again.
  [[nodiscard]] bool roomy() const noexcept {
    return queued_bytes_ <= queue_bytes_max_ / 2 && count_ <= entries_max / 2;
  }
  [[nodiscard]] std::size_t queued_bytes() const noexcept { return queued_bytes_; }
  // The part of queue_bytes_max that is not free: small pages run out of entries first.
  [[nodiscard]] std::size_t taken_bytes() const noexcept {
    return std::max(queued_bytes_, queue_bytes_max_ / entries_max * count_);
  }

  // See Link::holding.
  [[nodiscard]] Holding holding(const StorePart& of) const noexcept;

  // Takes the post's lease. Not when full().
  void enqueue(Post& post, std::uint64_t acknowledged) noexcept;
  // For a post whose body is only borrowed: writes it now if nothing is before it and `may_write`,
  // and copies what the kernel does not take. Not when full().
  // `again` if there is no page to copy to; nothing was taken then. The first page of a connection
  // needs none, because the kernel has room for it. If it did, a user who holds all pages until a
  // peer is there would wait for ever.
  Status inject(int fd, const Post& post, std::uint64_t acknowledged, bool may_write) noexcept;
  WriteResult write(int fd) noexcept;
  // Drops every lease, unwritten.
  void clear() noexcept;

  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  // What stands before front and body: the page header, then frame word, tag and total as needed.
  struct Head {
    std::array<std::byte, page_header_bytes + frame_prefix_bytes_max> data;
    std::uint32_t bytes = 0;
  };
  struct Entry {
    Head head;
    std::uint32_t pad = 0;
    PostBody front;
    PostBody body;
    [[nodiscard]] std::size_t bytes() const noexcept {
      return head.bytes + front.bytes + body.bytes + pad;
    }
  };
  // A full queue of 16 KiB pages at the default queue_bytes_max; 64 x 112 B = 7 KiB a link.
  static constexpr std::size_t entries_max = 64;
  // iovecs of one system call: 4 an entry at most.
  static constexpr std::size_t iovecs_max = 48;

  static Head make_head(const Post& post, std::uint64_t acknowledged) noexcept;
  static std::uint32_t pad_of(const Post& post) noexcept;
  Entry& at(std::size_t index) noexcept { return ring_[(first_ + index) % entries_max]; }
  [[nodiscard]] const Entry& at(std::size_t index) const noexcept {
    return ring_[(first_ + index) % entries_max];
  }
  void copy_behind(Lease spill, const Head& head, const Post& post, std::size_t skip) noexcept;
  [[nodiscard]] std::size_t spill_room() noexcept;
  void took(std::size_t bytes) noexcept;
  static void drop(Entry& entry) noexcept;

  Pool& pool_;
  std::size_t queue_bytes_max_;
  std::array<Entry, entries_max> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t first_done_ = 0;  // bytes of the first entry that the kernel has
  std::size_t queued_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;  // by write()
  bool first_ever_ = true;           // no page was taken yet
  bool last_is_spill_ = false;       // the last entry is a page of copies, with room behind
  int error_ = 0;
};

}  // namespace netio::detail

// Turns a byte stream into pages, where they lie; owns memory only while a page is not complete.
// Small pages are read many at a time into a block of the receive pool; the read is bounded so that
// every page that begins in a block also ends in it. A large page is read straight into a buffer of
// its own, together with the header that follows it. While large pages come with only a few small
// ones between them, nothing is read ahead of a header: it would have to be copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/block.hpp"
#include "transport/link.hpp"
#include "transport/transport.hpp"
#include "wire/page.hpp"

namespace netio::detail {

enum class ReadResult : std::uint8_t {
  drained,  // nothing more for now
  more,     // the budget is spent
  paused,   // `paused` was set by an event
  starved,  // no memory; call again when there is
  end,      // the peer shut its side down
  failed,   // error() says
  bad,      // the peer broke the rules: down() says
};

class TcpReader {
 public:
  TcpReader(const TransportResources& resources, const LinkOptions& options);

  // Delivers what is here and reads on, until `budget_bytes` or `paused` (looked at after each
  // page). Never blocks.
  ReadResult read(int fd, LinkEvents& events, const bool& paused, std::size_t budget_bytes);

  // See Link::assembling.
  void assembling(bool under_way) noexcept { assembling_ = under_way; }
  // Which memory to wait for after `starved`.
  [[nodiscard]] Store& starved_store() noexcept { return *starved_store_; }
  [[nodiscard]] bool mid_page() const noexcept;
  [[nodiscard]] std::uint64_t large_page_begun() const noexcept {
    return large_ ? large_header_.bytes : 0;
  }
  [[nodiscard]] std::uint64_t body_begun() const noexcept;
  [[nodiscard]] std::uint64_t bytes_received() const noexcept { return bytes_received_; }
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const Down& down() const noexcept { return down_; }

 private:
  ReadResult deliver(LinkEvents& events, const bool& paused);
  void hand_out(const PageHeader& header, std::size_t head, LinkEvents& events);
  void deliver_begun(LinkEvents& events);
  ReadResult begin_large(const PageHeader& header);
  ReadResult unstage();
  ReadResult receive(int fd, std::size_t& budget_bytes, bool& short_read);
  // After one large page another is likely: its header is read alone, its body in place.
  [[nodiscard]] bool expects_header() const noexcept { return after_large_ && begin_ == end_; }
  bool take_block();
  [[nodiscard]] bool has_room_to_fill() const noexcept;
  // The next large page is probably no more than a few small pages away.
  [[nodiscard]] bool large_page_near() const noexcept {
    return few_between_ && small_pages_ <= few_small_pages;
  }
  [[nodiscard]] std::size_t read_limit() const noexcept;
  void give_block_back() noexcept;
  bool allowed(const PageHeader& header);
  ReadResult starve(Store& store) noexcept;

  Pool& pool_;
  LargePool& large_pool_;
  Quota* quota_;
  Quota* large_quota_;
  std::size_t page_bytes_;  // the largest page read into a block
  std::uint64_t body_bytes_max_;
  std::uint64_t* starved_count_;
  Copies* copied_;     // counts what is moved out of a block; null: nobody does
  bool fills_blocks_;  // see LinkOptions

  Lease block_;            // holds [begin_, end_): received, not delivered
  std::size_t begin_ = 0;  // where a page begins, or the rest of one
  std::size_t end_ = 0;

  Lease large_;  // the large page under way
  PageHeader large_header_;
  std::size_t large_filled_ = 0;
  bool after_large_ = false;  // the last page was large
  // The system calls that this many small pages cost, read one at a time, are cheaper than the copy
  // of the beginning of a large page.
  static constexpr unsigned few_small_pages = 4;
  unsigned small_pages_ = 0;  // since the last large page, or the beginning; counted until too many
  bool few_between_ = true;   // there were few in front of that large page, too
  bool assembling_ = false;
  // A header read behind a large page; or what came of the next header or message of a stream that
  // holds no block.
  std::array<std::byte, 1088> staged_{};
  std::size_t staged_bytes_ = 0;
  PageHeader rest_;  // of a page that was delivered in part

  std::uint64_t bytes_received_ = 0;
  Store* starved_store_ = nullptr;
  int error_ = 0;
  Down down_;
};

}  // namespace netio::detail

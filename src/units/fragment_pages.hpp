// The pages in which fragments of open events lie, each kept until the last of its fragments is
// handed over. A page from which everything is handed over within its call-back is never kept. What
// is kept takes little more memory than the windows count, on any wire. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <netio/batch.hpp>
#include <netio/message.hpp>
#include <netio/segments.hpp>

#include "memory/copies.hpp"
#include "memory/kept_memory.hpp"
#include "memory/large_pool.hpp"
#include "wire/page.hpp"

namespace netio::detail {

class FragmentPages {
 public:
  // The name of the memory of a fragment.
  using Name = std::uint64_t;

  struct Memory {
    Pool& pool;        // links fill its blocks: see LinkOptions::fills_blocks
    LargePool& large;  // the size of its buffers is accounted for elsewhere
    Quota& quota;      // what copies are charged to
    Copies& copies;
    std::uint32_t sources;
    std::size_t unused_bytes_max;  // what kept pages may leave unused of their memory in sum
  };
  // Throws std::bad_alloc.
  explicit FragmentPages(const Memory& memory);

  // A page is being received: the fragments that are named next lie in it, until end() is called.
  // Throws std::bad_alloc.
  void begin(const Batch& batch) {
    if (free_ == none) {
      slots_.emplace_back();
      free_ = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    current_ = free_;
    Slot& slot = slots_[current_];
    slot.page = batch.cursor().page();
    if (slot.page.segmented()) [[unlikely]]
      begin_with_table(slot);
    begin_ = slot.page.data();
    slot.fragments = 1;
    free_ = slot.next_free;
  }
  // The page goes, unless a fragment needs it, which is of this source then. Does nothing if
  // begin() has thrown.
  void end(std::uint32_t source) noexcept {
    if (current_ == none) return;
    Slot& slot = slots_[current_];
    if (slot.fragments > 1) keep(slot, source);
    drop_one(std::exchange(current_, none));
  }

  // Of the page that is being received.
  [[nodiscard]] Name name(const MessageCursor::Place& place) const noexcept {
    const auto offset = static_cast<std::uint64_t>(place.payload - begin_);
    return std::uint64_t{current_} << slot_shift | std::uint64_t{place.segments} << segments_shift |
           offset / wire_align;
  }
  // The same place with its table, as a window counts it. Where a page is a single message in
  // parts, a cursor gives the place behind the table.
  [[nodiscard]] MessageCursor::Place with_table(const MessageCursor::Place& place) const noexcept;
  // So many fragments that were named now need the page, each until drop().
  void hold(std::size_t fragments) noexcept {
    slots_[current_].fragments += static_cast<std::uint32_t>(fragments);
  }
  void drop(Name name) noexcept { drop_one(static_cast<std::uint32_t>(name >> slot_shift)); }
  // A fragment of so many bytes, with its table, in the memory where it lies.
  [[nodiscard]] MessageView view(Name name, std::uint64_t bytes) const noexcept {
    const Slot& slot = slots_[static_cast<std::uint32_t>(name >> slot_shift)];
    const std::size_t offset = static_cast<std::size_t>(name & offset_mask) * wire_align;
    // The number of segments and one more is the number of words of their table.
    static_assert(segment_table_bytes(1) == 2 * segment_word);
    const auto segments = static_cast<std::size_t>(name >> segments_shift & segments_mask);
    const std::size_t table = segments * segment_word;
    const std::byte* const payload = slot.page.data() + offset + table;
    return slot.page.at({payload, static_cast<std::size_t>(bytes) - table}, 0)
        .with_table(segments != 0);
  }

 private:
  static constexpr unsigned slot_shift = 40;
  static constexpr unsigned segments_shift = 32;
  static constexpr std::uint64_t segments_mask = 0xff;
  static constexpr std::uint64_t offset_mask = UINT32_MAX;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Slot {
    MessageView page{nullptr, {}, 0};
    Message kept;
    std::uint32_t fragments = 0;  // and one more while the page is being received
    std::uint32_t next_free = none;
    std::size_t unused_bytes = 0;  // of the memory in which the page lies
  };
  static void begin_with_table(Slot& slot) noexcept;
  [[nodiscard]] std::size_t unused_of(const MessageView& page) const noexcept;
  void keep(Slot& slot, std::uint32_t source) noexcept;
  void drop_one(std::uint32_t index) noexcept {
    Slot& slot = slots_[index];
    if (--slot.fragments != 0) return;
    slot.kept = Message();
    unused_bytes_ -= std::exchange(slot.unused_bytes, 0);
    slot.next_free = std::exchange(free_, index);
  }

  std::vector<Slot> slots_;
  std::uint32_t free_ = none;
  std::uint32_t current_ = none;
  const std::byte* begin_ = nullptr;  // of the page that is being received
  Memory memory_;
  std::size_t unused_bytes_ = 0;
  // Copies of pages, for each source in memory of its own: a source that is far ahead does not hold
  // the memory of others.
  std::deque<KeptMemory> copies_;
};

}  // namespace netio::detail

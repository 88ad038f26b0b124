// The pages in which fragments of open events lie, each kept until the last of its fragments is
// handed over. A page from which everything is handed over within its call-back is never kept.
// Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <netio/batch.hpp>
#include <netio/message.hpp>

namespace netio::detail {

class FragmentPages {
 public:
  // The name of the memory of a fragment.
  using Name = std::uint64_t;

  // A page is being received: the fragments that are named next lie in it, until the call of end().
  // Throws std::bad_alloc.
  void begin(const Batch& batch) {
    if (free_ == none) {
      slots_.emplace_back();
      free_ = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    current_ = free_;
    batch_ = &batch;
    slots_[current_].page = batch.cursor().page();
    slots_[current_].fragments = 1;
    free_ = slots_[current_].next_free;
  }
  // The page goes, unless a fragment needs it.
  void end() noexcept {
    Slot& slot = slots_[current_];
    if (slot.fragments > 1) {
      slot.kept = batch_->keep();
      slot.page = slot.kept.own_cursor().page();
    }
    drop_one(std::exchange(current_, none));
    batch_ = nullptr;
  }

  // Of the page that is being received. It counts until drop().
  [[nodiscard]] Name name(const MessageCursor::Place& place) noexcept {
    Slot& slot = slots_[current_];
    ++slot.fragments;
    const auto offset = static_cast<std::uint64_t>(place.payload - slot.page.data());
    const std::uint64_t segments = place.segments;
    return std::uint64_t{current_} << slot_shift | segments_of(segments) << segments_shift |
           offset / wire_align_bytes;
  }
  void drop(Name name) noexcept { drop_one(static_cast<std::uint32_t>(name >> slot_shift)); }
  // A fragment of so many bytes, in the memory where it lies.
  [[nodiscard]] MessageView view(Name name, std::uint64_t bytes) const noexcept {
    const Slot& slot = slots_[static_cast<std::uint32_t>(name >> slot_shift)];
    const std::size_t offset = static_cast<std::size_t>(name & offset_mask) * wire_align_bytes;
    return slot.page.at({slot.page.data() + offset, static_cast<std::size_t>(bytes)}, 0)
        .with_table(((name >> segments_shift) & 1U) != 0);
  }

 private:
  static constexpr unsigned slot_shift = 40;
  static constexpr unsigned segments_shift = 39;
  static constexpr std::uint64_t offset_mask = (std::uint64_t{1} << segments_shift) - 1;
  static constexpr std::size_t wire_align_bytes = 8;
  static constexpr std::uint32_t none = UINT32_MAX;
  static std::uint64_t segments_of(std::uint64_t segments) noexcept {
    return segments != 0 ? 1 : 0;
  }

  struct Slot {
    MessageView page{nullptr, {}, 0};
    KeptBatch kept;
    std::uint32_t fragments = 0;  // and one more while the page is being received
    std::uint32_t next_free = none;
  };
  void drop_one(std::uint32_t index) noexcept {
    Slot& slot = slots_[index];
    if (--slot.fragments != 0) return;
    slot.kept = KeptBatch();
    slot.next_free = std::exchange(free_, index);
  }

  std::vector<Slot> slots_;
  std::uint32_t free_ = none;
  std::uint32_t current_ = none;
  const Batch* batch_ = nullptr;
};

}  // namespace netio::detail

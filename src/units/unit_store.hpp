// Where a read-out unit holds fragments until they are settled: small ones as frames of pages, as
// they go on the wire, each page for one builder; a large one in memory of its own. Owner thread
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <netio/message.hpp>

#include "memory/block.hpp"
#include "memory/large_pool.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

class UnitStore {
 public:
  // The name of a fragment: never 0.
  using Name = std::uint64_t;

  // Where a fragment lies.
  struct Place {
    const Block* page = nullptr;       // null: it is a message of its own
    const std::byte* frame = nullptr;  // in a page
    std::size_t frame_bytes = 0;
    const Message* message = nullptr;
  };

  UnitStore(LargePool& pool, std::uint32_t builders) : pool_(pool), open_(builders) {}

  // The fragment has a frame in a page if it is at most this large.
  static constexpr std::size_t framed_bytes_max = std::size_t{16} << 10U;
  static constexpr std::size_t page_bytes = LargePool::buffer_bytes_min;

  // True if add() needs a new page for a fragment of so many bytes.
  [[nodiscard]] bool needs_page(std::uint32_t builder, std::size_t bytes) const noexcept {
    return room_of(open_[builder]) < frame_prefix_bytes_max + wire_padded(bytes);
  }
  // Later fragments of this builder go into this memory, behind `from` and up to `bytes` of it.
  // False without memory.
  [[nodiscard]] bool open(std::uint32_t builder, Lease page, std::size_t bytes,
                          std::size_t from = 0) noexcept;
  // The same in memory of the large pool while it has plenty, or else from the heap: receivers of
  // large messages in the same context have only the pool.
  [[nodiscard]] bool open(std::uint32_t builder) noexcept;
  // A message of so many bytes, to be written, from there, with `room` more in front. Empty without
  // memory.
  [[nodiscard]] Message message(std::size_t bytes, std::uint64_t tag,
                                std::size_t room = 0) noexcept;
  // Copies into the open page, which has room.
  [[nodiscard]] Name add(std::uint32_t builder, std::uint64_t number,
                         std::span<const std::byte> fragment) noexcept {
    OpenPage& open = open_[builder];
    const Rest to = rest(builder);
    const std::size_t bytes = write_frame(to.frame, number, fragment);
    last_ = {slots_[open.slot].page.get(), to.frame, bytes, nullptr};
    last_name_ = to.name_of(number);
    wrote(builder, bytes, 1);
    return last_name_;
  }
  // The rest of the open page of this builder, where the owner may write frames, one behind the
  // other. The names of fragments in one page differ as their places do.
  struct Rest {
    std::byte* frame = nullptr;
    std::size_t bytes = 0;
    Name begin = 0;
    // Of the fragment of this number whose frame is here.
    [[nodiscard]] Name name_of(std::uint64_t number) const noexcept {
      return Label(number).numbered() ? begin | numbered_bit : begin;
    }
  };
  [[nodiscard]] Rest rest(std::uint32_t builder) const noexcept {
    const OpenPage& open = open_[builder];
    if (open.slot == none) return {};
    return {slots_[open.slot].page->data() + open.used, room_of(open),
            name_of(open.slot, open.used)};
  }
  // Returns the size of the frame: at most frame_prefix_bytes_max beyond the padded payload.
  static std::size_t write_frame(std::byte* frame, std::uint64_t number,
                                 std::span<const std::byte> fragment) noexcept {
    const Label label(number);
    const std::size_t padded = wire_padded(fragment.size());
    const std::size_t bytes = label.bytes() + padded;
    if (padded != 0) store_u64(frame + bytes - wire_align, 0);
    store_u64(frame, frame_word(static_cast<std::uint32_t>(fragment.size()), label.flags));
    if (label.numbered()) store_u64(frame + frame_word_bytes, number);
    if (!fragment.empty()) std::memcpy(frame + label.bytes(), fragment.data(), fragment.size());
    return bytes;
  }
  // So many fragments were written to the rest of the open page.
  void wrote(std::uint32_t builder, std::size_t bytes, std::uint32_t fragments) noexcept {
    OpenPage& open = open_[builder];
    open.used += bytes;
    slots_[open.slot].fragments += fragments;
  }
  // Takes the message; 0, and it is untouched, without memory.
  [[nodiscard]] Name add(Message& message) noexcept;
  // The message of this name is the caller's again.
  [[nodiscard]] Message take_back(Name name) noexcept;
  // The last fragment of the open page of this builder, which add() named so, was not taken.
  void take_back(std::uint32_t builder, Name name) noexcept;

  // Of a fragment of so many bytes. Its page is not looked at: that of a store which is full is in
  // no cache any more.
  [[nodiscard]] Place at(Name name, std::uint64_t bytes) const noexcept {
    const Slot& slot = slots_[slot_of(name)];
    if (slot.message) return {nullptr, nullptr, 0, &slot.message};
    return {slot.page.get(), slot.page->data() + offset_of(name), frame_bytes(name, bytes),
            nullptr};
  }
  // The name of the fragment that stands behind this one of so many bytes, if both frames have
  // their numbers, or neither.
  [[nodiscard]] static Name behind(Name name, std::uint64_t bytes) noexcept {
    return name + frame_bytes(name, bytes);
  }
  // Of a fragment of so many bytes that has a frame in a page.
  [[nodiscard]] static std::size_t frame_bytes(Name name, std::uint64_t bytes) noexcept {
    const bool numbered = (name & numbered_bit) != 0;
    return frame_word_bytes + (numbered ? sizeof(std::uint64_t) : std::size_t{0}) +
           wire_padded(static_cast<std::size_t>(bytes));
  }
  // The same, without a look at the page, of the fragment that was copied last; else null.
  [[nodiscard]] const Place* last(Name name) const noexcept {
    return name == last_name_ ? &last_ : nullptr;
  }
  [[nodiscard]] Lease lease(Name name) const noexcept { return slots_[slot_of(name)].page; }
  // So many fragments that stand one behind the other, from this one on.
  void forget(Name name, std::uint64_t fragments = 1) noexcept {
    drop(slot_of(name), static_cast<std::uint32_t>(fragments));
  }

 private:
  // In the name of a fragment whose frame has its number; frames begin at multiples of 8.
  static constexpr Name numbered_bit = 1;
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Slot {
    Lease page;
    Message message;
    std::uint32_t fragments = 0;  // in the page, and one more while it is open
    std::uint32_t next_free = none;
  };
  struct OpenPage {
    std::uint32_t slot = none;
    std::size_t used = 0;
    std::size_t bytes = 0;
  };

  static Name name_of(std::uint32_t slot, std::size_t offset) noexcept {
    return (std::uint64_t{slot} + 1) << 32U | offset;
  }
  static std::uint32_t slot_of(Name name) noexcept {
    return static_cast<std::uint32_t>(name >> 32U) - 1;
  }
  static std::size_t offset_of(Name name) noexcept {
    return static_cast<std::uint32_t>(name & ~numbered_bit);
  }
  static std::size_t room_of(const OpenPage& open) noexcept { return open.bytes - open.used; }
  // `none` without memory.
  [[nodiscard]] std::uint32_t take_slot() noexcept;
  void close(OpenPage& open) noexcept;
  void drop(std::uint32_t index, std::uint32_t fragments) noexcept {
    if ((slots_[index].fragments -= fragments) == 0) [[unlikely]]
      free_slot(index);
  }
  void free_slot(std::uint32_t index) noexcept;

  LargePool& pool_;
  std::vector<Slot> slots_;
  std::vector<OpenPage> open_;  // by builder
  std::uint32_t free_ = none;
  // The fragment that was copied last is the next to be asked for.
  Name last_name_ = 0;
  Place last_;
};

}  // namespace netio::detail

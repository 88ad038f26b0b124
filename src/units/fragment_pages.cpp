// See fragment_pages.hpp.
#include "units/fragment_pages.hpp"

#include <netio/segments.hpp>

#include "memory/copy_thresholds.hpp"

namespace netio::detail {

FragmentPages::FragmentPages(const Memory& memory) : memory_(memory) {
  for (std::uint32_t source = 0; source < memory.sources; ++source) {
    copies_.emplace_back(memory.pool, memory.quota);
  }
}

// A single message in parts: its table stands in front of the page.
void FragmentPages::begin_with_table(Slot& slot) noexcept {
  const MessageView& page = slot.page;
  const std::size_t table = segment_table_bytes(page.segments().size());
  slot.page = MessageView(page.block(), {page.data() - table, page.size() + table}, page.tag());
}

MessageCursor::Place FragmentPages::with_table(const MessageCursor::Place& place) const noexcept {
  if (place.segments <= segments_max + 1) return place;
  const MessageView& page = slots_[current_].page;
  const auto table = static_cast<std::size_t>(place.payload - page.data());
  MessageCursor::Place whole = place;
  whole.payload = page.data();
  whole.bytes = page.size();
  whole.segments = static_cast<std::uint32_t>(table / segment_word);
  return whole;
}

// Up to a quarter does not count: that much may also be left at the end of a block that is filled.
std::size_t FragmentPages::unused_of(const MessageView& page) const noexcept {
  const Block& block = *page.block();
  if (block.owner() == &memory_.pool || memory_.large.owns(block)) return 0;
  const std::size_t unused = block.capacity() - page.size();
  return unused <= block.capacity() / 4 ? 0 : unused;
}

// Mostly where it lies. On a fabric each page has a block of its own: if the page is as small as
// keep() copies it, or the sum of what is left of all these blocks is too much, it is copied behind
// the last one of its source.
void FragmentPages::keep(Slot& slot, std::uint32_t source) noexcept {
  const MessageView page = slot.page;
  Block& block = *page.block();
  const std::size_t unused = unused_of(page);
  Kept kept{};
  const bool small = unused != 0 && page.size() < block.capacity() / shared_block_part;
  if (!small && unused_bytes_ + unused <= memory_.unused_bytes_max) {
    kept = KeptMemory::share(block, page.bytes());
  } else {
    kept = copies_[source].pack(block, page.bytes());
    if (kept.block != &block) memory_.copies.add(page.size());
  }
  if (kept.block == &block) {
    slot.unused_bytes = unused;
    unused_bytes_ += unused;
  }
  slot.kept = Message(kept.block, {kept.data, page.size()}, 0);
  slot.page = MessageView(kept.block, {kept.data, page.size()}, 0);
}

}  // namespace netio::detail

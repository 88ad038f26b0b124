// Message and MessageView: counts on the memory they lie in, or a copy in memory of their own.
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <netio/message.hpp>

#include "memory/block.hpp"
#include "memory/kept_memory.hpp"

namespace netio {
namespace {

using detail::Block;
static_assert(alignof(Block) > 4, "a view marks its block in the lowest bits");

// Blocks that lie with their bytes in one allocation.
static_assert(std::is_trivially_destructible_v<Block>);
class HeapOwner final : public detail::BlockOwner {
 public:
  void give_back(Block& block) noexcept override { ::operator delete(&block); }
};
// Nothing is destroyed at exit, when messages of static life may still come home.
constinit HeapOwner heap_owner;

struct alignas(16) HeapBlock final : Block {  // so that the bytes behind it are aligned as much
  using Block::Block;
};
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= alignof(HeapBlock));

// How many segments the table in front of `data` is of; nothing if there is none within the memory,
// because a peer that owns it has changed it.
std::optional<std::size_t> segments_before(const Block* block, const std::byte* data) noexcept {
  if (block == nullptr || data < block->data() + detail::segment_word) return std::nullopt;
  const std::uint64_t count = detail::load_segment_word(data - detail::segment_word);
  const auto room = static_cast<std::size_t>(data - block->data());
  if (count > segments_max || detail::segment_table_bytes(count) > room) return std::nullopt;
  return static_cast<std::size_t>(count);
}

}  // namespace

Segments Message::segments() const noexcept {
  return segmented() ? Segments(bytes(), segments_count()) : Segments(bytes());
}

void Message::find_segments() noexcept {
  const std::optional<std::size_t> count = segments_before(block_, data_);
  if (count) set_segments(*count);
}

Segments MessageView::segments() const noexcept {
  const auto* const block = reinterpret_cast<Block*>(memory_ & ~marks);
  const std::optional<std::size_t> count =
      segmented() ? segments_before(block, data_) : std::nullopt;
  return count ? Segments(bytes(), *count) : Segments(bytes());
}

Message Message::of_size(std::size_t bytes, std::uint64_t tag) {
  if (bytes > SIZE_MAX - sizeof(HeapBlock)) throw std::bad_alloc();
  auto* const memory = static_cast<std::byte*>(::operator new(sizeof(HeapBlock) + bytes));
  std::byte* const payload = memory + sizeof(HeapBlock);
  auto* const block = new (memory) HeapBlock(heap_owner, payload, bytes);
  block->reset_count();
  return writable(block, {payload, bytes}, tag);
}

Message Message::copy_of(std::span<const std::byte> bytes, std::uint64_t tag) {
  Message copy = of_size(bytes.size(), tag);
  if (!bytes.empty()) std::memcpy(copy.writable_bytes().data(), bytes.data(), bytes.size());
  copy.writable_ = false;
  return copy;
}

void Message::release() noexcept { std::exchange(block_, nullptr)->drop_count(); }

Message MessageView::share() const noexcept {
  if (block() == nullptr) return {};
  MessageView shared = *this;
  shared.memory_ |= shared_mark;
  return shared.keep();
}

Message MessageView::keep() const noexcept {
  Block* const block = this->block();
  if (block == nullptr) return {};
  // A table is kept with the bytes behind it.
  const std::optional<std::size_t> count =
      segmented() ? segments_before(block, data_) : std::nullopt;
  const std::size_t table = count ? detail::segment_table_bytes(*count) : 0;
  detail::Kept kept{block, data_ - table};
  if ((memory_ & shared_mark) != 0) {
    block->add_count();
  } else {
    kept = detail::KeptMemory::keep(*block, {data_ - table, size_ + table});
  }
  Message message(kept.block, {kept.data + table, size_}, tag_);
  if (count) message.set_segments(*count);
  return message;
}

}  // namespace netio

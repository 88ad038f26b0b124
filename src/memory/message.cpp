// Message and MessageView: counts on the memory they lie in, or a copy in memory of their own.
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include <netio/message.hpp>

#include "memory/block.hpp"
#include "memory/kept_memory.hpp"

namespace netio {
namespace {

using detail::Block;
static_assert(alignof(Block) > 1, "a view marks its block in the lowest bit");

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

}  // namespace

Message Message::copy_of(std::span<const std::byte> bytes, std::uint64_t tag) {
  if (bytes.size() > SIZE_MAX - sizeof(HeapBlock)) throw std::bad_alloc();
  auto* const memory = static_cast<std::byte*>(::operator new(sizeof(HeapBlock) + bytes.size()));
  std::byte* const payload = memory + sizeof(HeapBlock);
  if (!bytes.empty()) std::memcpy(payload, bytes.data(), bytes.size());
  auto* const block = new (memory) HeapBlock(heap_owner, payload, bytes.size());
  block->reset_count();
  return Message(block, {payload, bytes.size()}, tag);
}

void Message::release() noexcept { std::exchange(block_, nullptr)->drop_count(); }

Message MessageView::keep() const noexcept {
  auto* const block = reinterpret_cast<Block*>(memory_ & ~shared_mark);
  if (block == nullptr) return {};
  if ((memory_ & shared_mark) != 0) {
    block->add_count();
    return Message(block, bytes(), tag_);
  }
  const detail::Kept kept = detail::KeptMemory::keep(*block, bytes());
  return Message(kept.block, {kept.data, size_}, tag_);
}

}  // namespace netio

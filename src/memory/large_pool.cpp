// LargePool: buffers straight from the kernel, kept by class. See large_pool.hpp.
#include "memory/large_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <span>

#include "memory/mapping.hpp"

namespace netio::detail {

namespace {
constexpr std::size_t sizes_to_double = 8;
}

// In the ring of those that are out, or kept.
class LargePool::Buffer final : private Mapping, public Block, public RingNode {
 public:
  Buffer(LargePool& owner, std::size_t capacity, bool promised) noexcept
      : Mapping(capacity, Fill::lazy),
        Block(owner, bytes().data(), capacity),
        promise_(promised ? bytes() : std::span<std::byte>()) {}

 private:
  PromisedMemory promise_;
};

LargePool::Ptr LargePool::create(std::size_t bytes_max, std::size_t kept_bytes_max, Owner owner,
                                 MemoryRoom* room) {
  return Ptr(new LargePool(bytes_max, kept_bytes_max, std::move(owner), room));
}

LargePool::~LargePool() { trim(0); }

std::size_t LargePool::charged_bytes(std::size_t bytes) noexcept {
  if (bytes > buffer_bytes_max) return 0;
  bytes = std::max(bytes, buffer_bytes_min);
  const std::size_t step = std::max(std::bit_floor(bytes) / sizes_to_double, buffer_bytes_min);
  return (bytes + step - 1) / step * step;
}

bool LargePool::could_ever_take(std::size_t bytes, const Quota* quota) const noexcept {
  const std::size_t charged = charged_bytes(bytes);
  return charged != 0 && charged <= bytes_max_ &&
         (quota == nullptr || charged <= quota->bytes_max());
}

std::size_t LargePool::largest(const Quota* quota) const noexcept {
  const std::size_t most = std::min(
      {bytes_max_, buffer_bytes_max, quota != nullptr ? quota->bytes_max() : buffer_bytes_max});
  if (most < buffer_bytes_min) return 0;
  return most - most % std::max(std::bit_floor(most) / sizes_to_double, buffer_bytes_min);
}

Lease LargePool::take(std::size_t bytes, Quota* quota) noexcept {
  system_refused_ = false;
  if (!could_ever_take(bytes, quota)) return {};
  if (!waited_for()) collect();
  const std::size_t charged = charged_bytes(bytes);
  if (charged > bytes_max_ - bytes_out_) {
    lacked_ = true;
    return {};
  }
  if (quota != nullptr && !quota->fits(charged)) return {};
  Buffer* buffer = take_kept(charged);
  if (buffer == nullptr) {
    trim(bytes_max_ - bytes_out_ - charged);
    if (!has_room(charged)) {
      lacked_ = true;
      return {};
    }
    buffer = new (std::nothrow) Buffer(*this, charged, room_ != nullptr && room_->limited());
    if (buffer == nullptr || buffer->data() == nullptr) {
      delete buffer;
      lacked_ = system_refused_ = refused_ = true;
      return {};
    }
  }
  bytes_out_ += charged;
  buffer->join(out_);
  return hand_out(*buffer, quota);
}

// Unlike memory that the system refuses, it comes back when another process of the group gives some
// back: who waits is told to try again.
bool LargePool::has_room(std::size_t capacity) noexcept {
  if (room_ == nullptr || room_->fits(capacity)) return true;
  if (bytes_kept_ != 0) {
    trim(0);
    if (room_->fits(capacity)) return true;
  }
  room_->refuse();
  return false;
}

LargePool::Buffer* LargePool::take_kept(std::size_t capacity) noexcept {
  for (RingNode* node = kept_.previous(); node != &kept_; node = node->previous()) {
    auto* const buffer = static_cast<Buffer*>(node);
    if (buffer->capacity() != capacity) continue;
    bytes_kept_ -= capacity;
    return buffer;
  }
  return nullptr;
}

void LargePool::recycle(Block& block) noexcept {
  auto& buffer = static_cast<Buffer&>(block);
  bytes_out_ -= buffer.capacity();
  lacked_ = false;
  if (buffer.capacity() > kept_bytes_max_) {
    free_buffer(buffer);
    return;
  }
  trim(kept_bytes_max_ - buffer.capacity());
  bytes_kept_ += buffer.capacity();
  buffer.join(kept_);
}

void LargePool::trim(std::size_t bytes_max) noexcept {
  while (bytes_kept_ > bytes_max) {
    auto* const oldest = static_cast<Buffer*>(kept_.next());
    bytes_kept_ -= oldest->capacity();
    free_buffer(*oldest);
  }
}

void LargePool::free_buffer(Buffer& buffer) noexcept {
  for (RingNode* node = watchers_.next(); node != &watchers_; node = node->next()) {
    static_cast<Watcher*>(node)->on_buffer_gone(buffer);
  }
  delete &buffer;
}

void LargePool::discard(Block& block) noexcept { delete static_cast<Buffer*>(&block); }

void LargePool::forget_quotas() noexcept {
  while (!out_.alone()) {
    auto& buffer = static_cast<Buffer&>(*out_.next());
    forget_quota(buffer);
    buffer.leave();  // From here on it may come home on any thread.
  }
}

}  // namespace netio::detail

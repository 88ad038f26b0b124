// What is left, and what of it is promised. See memory_room.hpp.
#include "memory/memory_room.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

#include "base/amount.hpp"
#include "base/system_error.hpp"
#include "memory/mapping.hpp"

namespace netio::detail {

namespace {

// The kernel needs some beside: for connections, page tables, files.
constexpr std::uint64_t for_kernel_part = 32;
constexpr std::uint64_t for_kernel_bytes_max = std::uint64_t{16} << 20U;

// No lock, so that a fork() at any time leaves a sound table. Whoever looks at memory that goes
// meanwhile is answered that there is none.
struct Promise {
  std::atomic<const std::byte*> data{nullptr};  // null: the place is free
  std::atomic<std::size_t> bytes{0};
};
constexpr std::size_t promises_max = 256;
constinit std::array<Promise, promises_max> promises{};

std::size_t untouched_of(const std::byte* data, std::size_t bytes) noexcept {
  std::array<unsigned char, 4096> in_memory;
  std::size_t untouched = 0;
  for (std::size_t at = 0; at < bytes; at += in_memory.size() * small_page_bytes) {
    const std::size_t part = std::min(bytes - at, in_memory.size() * small_page_bytes);
    if (::mincore(const_cast<std::byte*>(data) + at, part, in_memory.data()) != 0) return untouched;
    const std::size_t pages = (part + small_page_bytes - 1) / small_page_bytes;
    const auto touched = std::count_if(in_memory.begin(), in_memory.begin() + pages,
                                       [](unsigned char page) { return (page & 1U) != 0; });
    untouched += (pages - static_cast<std::size_t>(touched)) * small_page_bytes;
  }
  return untouched;
}

}  // namespace

bool MemoryRoom::fits(std::size_t bytes) noexcept {
  if (!limited_ && ++asks_ % asks_between_looks != 0) return true;
  const std::uint64_t wanted = bytes + PromisedMemory::bytes_untouched();
  const auto bound = groups_.bound(wanted + for_kernel_bytes_max);
  limited_ = bound.has_value();
  if (!limited_) return true;
  const std::uint64_t for_kernel =
      std::min(bound->limit_bytes / for_kernel_part, for_kernel_bytes_max);
  return bound->left_bytes >= for_kernel && wanted <= bound->left_bytes - for_kernel;
}

Error MemoryRoom::error(std::string operation) const {
  const auto bound = groups_.bound();
  if (!bound) {
    return system_error(std::move(operation), ENOMEM,
                        "free some memory, or lower the pools of the context "
                        "(ContextOptions::send_pool_bytes, receive_pool_bytes)");
  }
  return {std::move(operation),
          "the control group " + std::string(bound->group) + " leaves " +
              amount_text(bound->left_bytes) + " of its limit of " +
              amount_text(bound->limit_bytes),
          "raise the limit of the group, or lower ContextOptions::send_pool_bytes and "
          "receive_pool_bytes"};
}

void MemoryRoom::retry() noexcept {
  ++round_;
  RingNode told;
  while (!waiters_.alone()) {
    auto& waiter = static_cast<Waiter&>(*waiters_.next());
    waiter.join(told);
    waiter.on_room();
  }
  while (!told.alone()) told.next()->join(waiters_);
}

PromisedMemory::PromisedMemory(std::span<const std::byte> memory) noexcept : place_(promises_max) {
  if (memory.empty()) return;
  for (std::size_t place = 0; place < promises_max; ++place) {
    const std::byte* none = nullptr;
    if (!promises[place].data.compare_exchange_strong(none, memory.data())) continue;
    promises[place].bytes.store(memory.size());
    place_ = place;
    return;
  }
}

PromisedMemory::~PromisedMemory() {
  if (place_ == promises_max) return;
  promises[place_].bytes.store(0);
  promises[place_].data.store(nullptr);
}

std::size_t PromisedMemory::bytes_untouched() noexcept {
  std::size_t untouched = 0;
  for (const Promise& promise : promises) {
    const std::size_t bytes = promise.bytes.load();
    if (bytes != 0) untouched += untouched_of(promise.data.load(), bytes);
  }
  return untouched;
}

}  // namespace netio::detail

// Pieces have a header with their class of size; pieces that come back are reused, the last one
// first. One thread only: the program has no other.
#include "simulation/arena.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

#include "support/sanitized.hpp"

namespace netio::test {

namespace {

constexpr std::size_t region_bytes = std::size_t{1} << 32U;  // of addresses; pages come when used
constexpr std::uintptr_t region_at = 0x5100'0000'0000;
constexpr std::size_t header_bytes = 16;  // keeps what `new` returns aligned
constexpr std::size_t smallest = 32;
constexpr std::size_t classes = 4 * 64;

struct State {
  std::byte* begin = nullptr;
  std::byte* next = nullptr;
  std::byte* end = nullptr;
  bool open = false;
  std::size_t pieces = 0;
  std::size_t bytes = 0;
  std::size_t bytes_most = 0;
  std::array<std::byte*, classes> free{};
};
State state;

// Four classes for each power of two: at most a fifth of a piece is wasted.
std::size_t class_of(std::size_t bytes) noexcept {
  const std::size_t all = std::max(bytes + header_bytes, smallest);
  const auto power = static_cast<std::size_t>(std::bit_width(all - 1)) - 3;
  return 4 * power + ((all - 1) >> power) % 4;
}

std::size_t bytes_of(std::size_t size_class) noexcept {
  return (4 + size_class % 4 + 1) << (size_class / 4);
}

bool is_here(const void* piece) noexcept {
  const auto* const at = static_cast<const std::byte*>(piece);
  return at >= state.begin && at < state.end;
}

void* take(std::size_t bytes) noexcept {
  const std::size_t size_class = class_of(bytes);
  const std::size_t all = (bytes_of(size_class) + 15) / 16 * 16;
  std::byte*& free = state.free[size_class];
  std::byte* piece = free;
  if (piece != nullptr) {
    free = *reinterpret_cast<std::byte**>(piece + header_bytes);
  } else {
    if (static_cast<std::size_t>(state.end - state.next) < all) return nullptr;
    piece = state.next;
    state.next += all;
  }
  ++state.pieces;
  state.bytes += all;
  state.bytes_most = std::max(state.bytes_most, state.bytes);
  *reinterpret_cast<std::size_t*>(piece) = size_class;
  return piece + header_bytes;
}

void give_back(void* memory) noexcept {
  std::byte* const piece = static_cast<std::byte*>(memory) - header_bytes;
  const std::size_t size_class = *reinterpret_cast<std::size_t*>(piece);
  *reinterpret_cast<std::byte**>(piece + header_bytes) = state.free[size_class];
  state.free[size_class] = piece;
  --state.pieces;
  state.bytes -= (bytes_of(size_class) + 15) / 16 * 16;
}

[[maybe_unused]] void* take_or_throw(std::size_t bytes) {
  void* const memory = state.open ? take(bytes) : std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

[[maybe_unused]] void free_any(void* memory) noexcept {
  if (is_here(memory)) return give_back(memory);
  std::free(memory);
}

}  // namespace

void Arena::open() noexcept {
  if (sanitized) return;
  if (state.begin == nullptr) {
    void* const wanted = reinterpret_cast<void*>(region_at);
    void* const at = ::mmap(wanted, region_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    state.begin = state.next = static_cast<std::byte*>(at);
    state.end = state.begin + region_bytes;
  }
  state.open = true;
  state.bytes_most = state.bytes;
}

std::size_t Arena::shut() noexcept {
  state.open = false;
  if (state.pieces != 0) return state.pieces;
  state.next = state.begin;
  state.free = {};
  return 0;
}

std::size_t Arena::bytes_most() noexcept { return state.bytes_most; }

Arena::Outside::Outside() noexcept : was_open_(state.open) { state.open = false; }
Arena::Outside::~Outside() { state.open = was_open_; }

}  // namespace netio::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define NETIO_SIMULATION_HEAP
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define NETIO_SIMULATION_HEAP
#endif
#endif

#ifdef NETIO_SIMULATION_HEAP
// What asks with nothrow keeps its memory beyond a schedule (large buffers): it takes none here.
void* operator new(std::size_t bytes) { return netio::test::take_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return netio::test::take_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { netio::test::free_any(memory); }
void operator delete[](void* memory) noexcept { netio::test::free_any(memory); }
void operator delete(void* memory, std::size_t) noexcept { netio::test::free_any(memory); }
void operator delete[](void* memory, std::size_t) noexcept { netio::test::free_any(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  netio::test::free_any(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  netio::test::free_any(memory);
}
#endif

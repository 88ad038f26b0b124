// Replaces the global operator new by one that counts, and fails when it is told to. All forms, so
// that none is paired with a delete of a sanitizer's.
#include "support/allocation_counter.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

thread_local std::uint64_t allocation_count = 0;

// While armed, allocations are counted here too, and those from `first` to `last` fail.
struct Failing {
  bool armed = false;
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // 0: none
  std::uint64_t last = 0;
  std::uint64_t failed = 0;
};
thread_local Failing failing;

// The same of all threads but the one that said so.
struct FailingOthers {
  std::atomic<const void*> sayer{nullptr};
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> last{0};
  std::atomic<std::uint64_t> failed{0};
};
constinit FailingOthers failing_others;

bool fails_here() noexcept {
  const void* const sayer = failing_others.sayer.load(std::memory_order_acquire);
  if (sayer == nullptr || sayer == &failing) return false;
  const std::uint64_t count = ++failing_others.count;
  if (count < failing_others.first || count > failing_others.last) return false;
  ++failing_others.failed;
  return true;
}

bool fails() noexcept {
  if (fails_here()) return true;
  if (!failing.armed) return false;
  ++failing.count;
  if (failing.first == 0 || failing.count < failing.first || failing.count > failing.last) {
    return false;
  }
  ++failing.failed;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  ++allocation_count;
  if (fails()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = 1) {
  if (void* memory = allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

std::size_t bytes(std::align_val_t alignment) noexcept {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

std::uint64_t netio::test::allocations_on_this_thread() noexcept { return allocation_count; }

void netio::test::fail_allocations(std::uint64_t first, std::uint64_t how_many) noexcept {
  failing = {false, 0, first, first + how_many - 1, failing.failed};
}
bool netio::test::arm_allocations(bool armed) noexcept {
  return std::exchange(failing.armed, armed);
}
std::uint64_t netio::test::allocations_failed() noexcept {
  return failing.failed + failing_others.failed;
}
void netio::test::fail_allocations_of_others(std::uint64_t first, std::uint64_t how_many) noexcept {
  failing_others.sayer.store(nullptr);
  failing_others.count = 0;
  failing_others.first = first;
  failing_others.last = first + how_many - 1;
  if (first != 0) failing_others.sayer.store(&failing, std::memory_order_release);
}
std::uint64_t netio::test::allocations_while_armed() noexcept { return failing.count; }

using std::align_val_t, std::nothrow_t, std::size_t;

void* operator new(size_t n) { return allocate_or_throw(n); }
void* operator new[](size_t n) { return allocate_or_throw(n); }
void* operator new(size_t n, align_val_t a) { return allocate_or_throw(n, bytes(a)); }
void* operator new[](size_t n, align_val_t a) { return allocate_or_throw(n, bytes(a)); }
void* operator new(size_t n, const nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return allocate(n, bytes(a));
}
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return allocate(n, bytes(a));
}

void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { std::free(p); }

// mincore() tells what is there without looking at it.
#include "transport/shm/first_looks.hpp"

#include <algorithm>
#include <array>
#include <sys/mman.h>
#include <utility>

#include <netio/status.hpp>

namespace netio::detail {

namespace {
// With that, a peer that has `had` has as much as is left.
std::size_t most_of(std::size_t all, std::size_t taken, std::size_t had) noexcept {
  const std::size_t rest = all - std::min(taken, all);
  return (rest - std::min(had, rest)) / 2;
}
}  // namespace

bool EmptyMemory::take(std::size_t bytes, std::size_t had) noexcept {
  std::size_t taken = bytes_taken_.load(std::memory_order_relaxed);
  do {
    if (bytes > most_of(bytes_max_, taken, had)) return false;
  } while (!bytes_taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

std::size_t EmptyMemory::most(std::size_t had) const noexcept {
  return most_of(bytes_max_, bytes_taken_.load(std::memory_order_relaxed), had);
}

FirstLooks::FirstLooks(std::span<const std::byte> memory, std::shared_ptr<EmptyMemory> empty)
    : memory_(memory),
      empty_(std::move(empty)),
      seen_((memory.size() / small_page_bytes / word_bits + 1) * sizeof(std::uint64_t),
            Mapping::Fill::lazy) {
  if (seen_.bytes().empty()) {
    throw Error("find address space for notes on shared memory", "there is none left",
                "raise its limit (ulimit -v)");
  }
}

bool FirstLooks::seen(Pages pages) const noexcept {
  const std::uint64_t* const bits = words();
  for (std::size_t page = pages.first; page < pages.behind;) {
    const std::size_t in_word = page % word_bits;
    const std::size_t count = std::min(word_bits - in_word, pages.behind - page);
    const std::uint64_t wanted = (~std::uint64_t{0} >> (word_bits - count)) << in_word;
    if ((bits[page / word_bits] & wanted) != wanted) return false;
    page += count;
  }
  return true;
}

bool FirstLooks::see(Pages pages) noexcept {
  const std::size_t most = empty_->most(taken_bytes_) / small_page_bytes;
  const std::size_t bytes = empty_of(pages, most) * small_page_bytes;
  if (bytes != 0 && !empty_->take(bytes, taken_bytes_)) return false;
  taken_bytes_ += bytes;
  for (std::size_t page = pages.first; page < pages.behind; ++page) {
    words()[page / word_bits] |= std::uint64_t{1} << page % word_bits;
  }
  return true;
}

// Of those that were not seen before. Where the system does not say, none is. It takes some ten
// microseconds to answer for a thousand pages, so it is asked no further than the answer matters.
std::size_t FirstLooks::empty_of(Pages pages, std::size_t most) const noexcept {
  std::array<unsigned char, 1024> there{};
  std::size_t empty = 0;
  while (pages.first != pages.behind && empty <= most) {
    const std::size_t count = std::min(there.size(), pages.behind - pages.first);
    const std::size_t at = pages.first * small_page_bytes;
    const std::size_t bytes = std::min(count * small_page_bytes, memory_.size() - at);
    if (mincore(const_cast<std::byte*>(memory_.data() + at), bytes, there.data()) != 0) return 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t page = pages.first + i;
      const bool was_seen = (words()[page / word_bits] >> page % word_bits & 1U) != 0;
      empty += (there[i] & 1U) == 0 && !was_seen ? 1U : 0U;
    }
    pages.first += count;
  }
  return empty;
}

}  // namespace netio::detail

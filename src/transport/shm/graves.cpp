// A watch on each lifeline, and two sums.
#include "transport/shm/graves.hpp"

#include <exception>
#include <sys/epoll.h>

namespace netio::detail {

void ShmGraves::bury(std::list<ShmGrave> grave) noexcept {
  arena_bytes_ += grave.front().arena_bytes;
  loan_bytes_ += grave.front().loan_bytes;
  graves_.splice(graves_.end(), grave);
  watch_all();
}

// A grave that finds no memory for its watch gets one later: at the next burial, or when the next
// peer wants to come in.
void ShmGraves::watch_all() noexcept {
  for (auto at = graves_.begin(); at != graves_.end(); ++at) {
    if (at->watch) continue;
    try {
      at->watch.emplace(loop_, at->lifeline.get(), EPOLLIN,
                        [this, at](std::uint32_t) { open(at); });
    } catch (const std::exception&) {
      return;
    }
  }
}

void ShmGraves::open(std::list<ShmGrave>::iterator grave) noexcept {
  arena_bytes_ -= grave->arena_bytes;
  loan_bytes_ -= grave->loan_bytes;
  graves_.erase(grave);
}

// A peer that reads on after its connection has ended takes its share of the memory with it, and
// could come for another. Half of the memory is for the peers that are connected. A block that
// several peers hold counts for each of them, so the sums alone are not enough: it is too much only
// if half of the memory is gone indeed.
std::string ShmGraves::why_full(Pool& arena, RangePool& loans) {
  watch_all();
  arena.collect();
  loans.collect();
  const std::size_t arena_half = arena.blocks() / 2;
  const std::size_t loans_half = loans.bytes_all() / 2;
  const bool too_many = graves_.size() >= count_max;
  const bool too_large =
      (arena_bytes_ > arena_half * arena.block_bytes() && arena.blocks_free() < arena_half) ||
      (loan_bytes_ > loans_half && loans.bytes_free() < loans_half);
  if (!too_many && !too_large) return {};
  return std::to_string(graves_.size()) + " connections that have gone hold " +
         std::to_string((arena_bytes_ + loan_bytes_) >> 10U) +
         " KiB of the memory here: release the messages that they received, or end the processes "
         "that hold them";
}

}  // namespace netio::detail

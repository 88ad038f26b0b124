// When requests time out: a heap of times. Requests that end before leave their entries behind,
// which are cleared away when they are more than those that count. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace netio::detail {

class Deadlines {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::int64_t first_ns() const noexcept { return entries_.front().at_ns; }
  // So that `more` may be added without memory; `counts(id)`: the request is still under way.
  // Throws std::bad_alloc.
  template <typename Counts>
  void make_room(std::size_t more, Counts&& counts) {
    if (entries_.capacity() - entries_.size() >= more) return;
    std::erase_if(entries_, [&](const Entry& entry) { return !counts(entry.id); });
    std::make_heap(entries_.begin(), entries_.end(), later);
    const std::size_t most = 2 * (entries_.size() + more);
    if (most > entries_.capacity()) entries_.reserve(most + 64);
  }
  void add(std::int64_t at_ns, std::uint64_t id) noexcept {
    entries_.push_back({at_ns, id});
    std::push_heap(entries_.begin(), entries_.end(), later);
  }
  // The first one's id, which leaves.
  std::uint64_t pop() noexcept {
    std::pop_heap(entries_.begin(), entries_.end(), later);
    const std::uint64_t id = entries_.back().id;
    entries_.pop_back();
    return id;
  }

 private:
  struct Entry {
    std::int64_t at_ns;
    std::uint64_t id;
  };
  static bool later(const Entry& one, const Entry& other) noexcept {
    return one.at_ns > other.at_ns;
  }

  std::vector<Entry> entries_;
};

}  // namespace netio::detail

// Tags that were published or resolved: a hash table of rows that never move. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <netio/publish.hpp>

#include "base/tag_set.hpp"

namespace netio::detail {

class TagTable {
 public:
  struct Row : TagRow {
    // Who wants the tag; `audience` is what publishing is to find, which may be another one for all
    // rows.
    Audience* own = nullptr;
    bool resolved = false;
    bool in_use = false;
  };

  TagTable() : slots_(slots_min) {}

  // Null if it is not there.
  [[nodiscard]] TagRow* find(std::uint64_t tag) const noexcept { return find_row(tag); }
  // It is not there yet. A resolved one stays. Throws std::bad_alloc, and has changed nothing.
  Row& add(std::uint64_t tag, bool resolved);
  void resolve(TagRow& row) noexcept;
  // There are as many that are not resolved as there may be: those are to be forgotten.
  [[nodiscard]] bool full() const noexcept { return unresolved_ >= unresolved_max; }
  // Calls for every row that is forgotten, before that.
  template <typename Call>
  void forget_unresolved(Call&& call) {
    for (Row& row : rows_) {
      if (row.in_use && !row.resolved) call(row);
    }
    forget_unresolved();
  }

  // Messages that nobody wanted, of all tags.
  [[nodiscard]] std::uint64_t unwanted() const noexcept;

  // Calls for every row whose tag is in the set: whichever of the two is shorter is walked. How far
  // that was, in tags or rows.
  template <typename Call>
  std::size_t for_each_in(const TagSet& set, Call&& call) {
    const auto tags = static_cast<std::size_t>(set.tags_up_to(used_));
    if (tags < used_) {
      for (const TagRange& range : set.ranges()) {
        for (std::uint64_t tag = range.first;; ++tag) {
          if (Row* const row = find_row(tag); row != nullptr) call(*row);
          if (tag == range.last) break;
        }
      }
    } else {
      for_each([&](Row& row) {
        if (set.contains(row.tag)) call(row);
      });
    }
    return tags;
  }
  // How many rows there are.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  template <typename Call>
  void for_each(Call&& call) {
    for (const Slot& slot : slots_) {
      if (slot.row != nullptr) call(*slot.row);
    }
  }

 private:
  // The most rows that were not resolved by the user: 11 MB of rows and slots. Beyond that all of
  // them are forgotten, and a publisher that uses ever new tags pays for looking them up again.
  static constexpr std::size_t unresolved_max = std::size_t{1} << 17U;
  struct Slot {
    std::uint64_t tag = 0;
    Row* row = nullptr;
  };
  static constexpr std::size_t slots_min = 1024;  // a power of two, as every size

  // Tags that count up, or differ in their upper bits alone, are spread alike (Fibonacci hashing).
  [[nodiscard]] std::size_t home(std::uint64_t tag) const noexcept {
    return static_cast<std::size_t>((tag * 0x9e3779b97f4a7c15U) >> shift_);
  }
  [[nodiscard]] Row* find_row(std::uint64_t tag) const noexcept {
    std::size_t at = home(tag);
    while (slots_[at].row != nullptr) {
      if (slots_[at].tag == tag) return slots_[at].row;
      at = (at + 1) & (slots_.size() - 1);
    }
    return nullptr;
  }
  void put(Row& row) noexcept;
  void grow();
  void forget_unresolved() noexcept;

  std::vector<Slot> slots_;
  unsigned shift_ = 54;  // 64 less the bits of slots_.size()
  std::size_t used_ = 0;
  std::size_t unresolved_ = 0;
  std::uint64_t unwanted_before_ = 0;  // of tags that were forgotten
  std::deque<Row> rows_;
  std::vector<Row*> free_;
};

}  // namespace netio::detail

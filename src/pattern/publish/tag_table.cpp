// How a TagTable grows and forgets.
#include "pattern/publish/tag_table.hpp"

#include <utility>

namespace netio::detail {

TagTable::Row& TagTable::add(std::uint64_t tag, bool resolved) {
  if (used_ >= slots_.size() / 2) grow();
  Row* row = nullptr;
  if (free_.empty()) {
    // Forgetting must not fail.
    if (free_.capacity() <= rows_.size()) free_.reserve(2 * rows_.size() + 64);
    row = &rows_.emplace_back();
  } else {
    row = free_.back();
    free_.pop_back();
  }
  row->audience = row->own = nullptr;
  row->tag = tag;
  row->resolved = resolved;
  row->in_use = true;
  unresolved_ += resolved ? 0 : 1;
  ++used_;
  put(*row);
  return *row;
}

void TagTable::put(Row& row) noexcept {
  std::size_t at = home(row.tag);
  while (slots_[at].row != nullptr) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {row.tag, &row};
}

void TagTable::resolve(TagRow& row) noexcept {
  if (!std::exchange(static_cast<Row&>(row).resolved, true)) --unresolved_;
}

void TagTable::grow() {
  std::vector<Slot> before(slots_.size() * 2);
  before.swap(slots_);
  --shift_;
  for (const Slot& slot : before) {
    if (slot.row != nullptr) put(*slot.row);
  }
}

void TagTable::forget_unresolved() noexcept {
  for (Slot& slot : slots_) slot.row = nullptr;
  free_.clear();
  used_ = unresolved_ = 0;
  for (Row& row : rows_) {
    if (row.in_use && row.resolved) {
      put(row);
      ++used_;
    } else {
      row.in_use = false;
      unwanted_before_ += std::exchange(row.unwanted, 0);
      free_.push_back(&row);
    }
  }
}

std::uint64_t TagTable::unwanted() const noexcept {
  std::uint64_t sum = unwanted_before_;
  for (const Row& row : rows_) sum += row.unwanted;
  return sum;
}

}  // namespace netio::detail

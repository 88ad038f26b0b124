// Loans are records that are reused; telling the user is left to the end of the turn.
#include "socket/lent_memory.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace netio::detail {

Lease LentMemory::lend(std::span<const std::byte> bytes, std::uint64_t token) noexcept {
  if (free_.empty() && !make_loans()) return {};
  Loan* loan = free_.back();
  free_.pop_back();
  // Nobody writes to a lent block: the wire only reads what it sends.
  loan->place(const_cast<std::byte*>(bytes.data()), bytes.size());
  loan->token = token;
  ++lent_;
  loan->reset_count();
  return Lease::adopt(loan);
}

// Twice as many each time, and room for all of them wherever they go, so that only a new record of
// loans out at once allocates.
bool LentMemory::make_loans() noexcept {
  constexpr std::size_t first_loans = 256;  // 20 KiB
  try {
    const std::size_t more = std::max(loans_.size(), first_loans);
    const std::size_t all = loans_.size() + more;
    for (std::vector<Loan*>* list : {&free_, &released_}) list->reserve(all);
    telling_.reserve(all);
    BlockOwner& owner = *this;
    while (loans_.size() < all) free_.push_back(&loans_.emplace_back(owner, nullptr, 0));
    return true;
  } catch (const std::bad_alloc&) {
    return !free_.empty();
  }
}

void LentMemory::take_back(Lease lease) noexcept {
  taking_back_ = true;
  lease.reset();
  taking_back_ = false;
}

void LentMemory::give_back(Block& block) noexcept {
  auto* loan = static_cast<Loan*>(&block);
  --lent_;
  if (taking_back_) {
    free_.push_back(loan);
    return;
  }
  released_.push_back(loan);
  loop_.defer(*this);
}

void LentMemory::run_deferred() noexcept {
  telling_.clear();
  for (Loan* loan : released_) {
    telling_.push_back(loan->token);
    free_.push_back(loan);
  }
  released_.clear();
  for (std::size_t i = 0; i < telling_.size() && !muted_; ++i) {
    if (on_released_) on_released_(telling_[i]);
  }
}

}  // namespace netio::detail

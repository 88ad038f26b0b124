// The user's memory while the wire reads it: a Block for each loan, and the call that ends it. The
// loan ends when the last link drops its count; the user is told from the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include <netio/loop.hpp>

#include "base/call_back.hpp"
#include "memory/block.hpp"

namespace netio::detail {

class LentMemory final : private BlockOwner, private Deferred {
 public:
  explicit LentMemory(Loop& loop) : loop_(loop) {}

  void on_released(std::function<void(std::uint64_t)> call) { on_released_ = std::move(call); }
  // No more calls: the socket is being destroyed.
  void mute() noexcept { muted_ = true; }

  // Empty without memory for the record of it. Records are reused.
  Lease lend(std::span<const std::byte> bytes, std::uint64_t token) noexcept;
  // A lease that was not posted: the loan never was.
  void take_back(Lease lease) noexcept;
  [[nodiscard]] std::size_t lent() const noexcept { return lent_; }

 private:
  struct Loan final : Block {
    using Block::Block;
    std::uint64_t token = 0;
  };
  bool make_loans() noexcept;
  void give_back(Block& block) noexcept override;
  void run_deferred() noexcept override;

  Loop& loop_;
  CallBack<void(std::uint64_t)> on_released_;
  std::deque<Loan> loans_;  // grows to the most that was ever lent at once
  std::vector<Loan*> free_;
  std::vector<Loan*> released_;  // the user is still to be told
  std::vector<std::uint64_t> telling_;
  std::size_t lent_ = 0;
  bool muted_ = false;
  bool taking_back_ = false;
};

}  // namespace netio::detail

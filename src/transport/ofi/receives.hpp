// The receive side of an ofi link: a page of memory for each receive that is posted, and what came
// in them, in order. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/endpoint.hpp"
#include "memory/pool.hpp"
#include "transport/ofi/device.hpp"
#include "transport/ofi/operations.hpp"

namespace netio::detail {

class OfiReceives final : private OfiOperations {
 public:
  // Up to `window_max` receives at once, in blocks of `pool` charged to `quota`.
  OfiReceives(OfiOperationsOwner& owner, CompletionQueue& queue, Device& device, Pool& pool,
              Quota* quota, std::size_t window_max);

  // Posts receives until `window` are posted or hold something, as far as there is memory; how many
  // it posted, or a negative error.
  long post(Endpoint& endpoint, std::size_t window) noexcept;
  // The same, of receives without memory: only words come that belong to writes.
  long post_for_immediates(Endpoint& endpoint, std::size_t window) noexcept;
  // Words that come on the queue without a receive are this link's.
  [[nodiscard]] OperationOwner* owner_of_immediates() noexcept { return this; }
  // The last post() found no memory: the store to wait for is the pool.
  [[nodiscard]] bool starved() const noexcept { return starved_; }
  [[nodiscard]] Pool& pool() noexcept { return pool_; }
  // Receives that are posted or hold something.
  [[nodiscard]] std::size_t in_use() const noexcept { return slots_.size() - free_.size(); }

  [[nodiscard]] Block& block(std::size_t slot) noexcept { return *slots_[slot].get(); }
  [[nodiscard]] std::byte* data(std::size_t slot) noexcept { return slots_[slot]->data(); }
  // What came is not needed any more, or others hold the memory too.
  void give_back(std::size_t slot) noexcept;

 private:
  void on_completion(Operation& operation, std::size_t bytes) noexcept override;
  void on_immediate(Operation* receive, std::uint64_t word) noexcept override;

  Device& device_;
  Pool& pool_;
  Quota* quota_;
  std::vector<Lease> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Lease>
      spare_;  // the last given back is the warmest; home again once enough are posted
  bool starved_ = false;
  long words_without_receives_ = 0;  // since the last post_for_immediates()
};

}  // namespace netio::detail

// The operations of one kind that a link has on its endpoint, and whom their ends are told. To be
// destroyed after the endpoint was closed: nobody is told any more. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/completion_queue.hpp"

namespace netio::detail {

// What a link does when its operations end.
class OfiOperationsOwner {
 public:
  // Sends or fetches came to an end.
  virtual void on_progress() noexcept = 0;
  // A page came into slot `slot` of the receives, which is the owner's until it gives it back.
  virtual void on_arrival(std::size_t slot, std::size_t bytes) noexcept = 0;
  // The peer wrote into memory of ours, and says this with it.
  virtual void on_immediate(std::uint32_t word) noexcept = 0;
  virtual void on_wire_failure(int error) noexcept = 0;

 protected:
  ~OfiOperationsOwner() = default;
};

class OfiOperations : protected OperationOwner {
 protected:
  OfiOperations(OfiOperationsOwner& owner, CompletionQueue& queue, std::size_t count)
      : owner_(owner), operations_(count), queue_(queue) {
    for (Operation& each : operations_) each.owner = this;
    queue_.will_bury();
  }
  OfiOperations(const OfiOperations&) = delete;
  OfiOperations& operator=(const OfiOperations&) = delete;
  ~OfiOperations() { queue_.bury(std::move(operations_)); }

  [[nodiscard]] std::size_t index_of(const Operation& operation) const noexcept {
    return static_cast<std::size_t>(&operation - operations_.data());
  }

  OfiOperationsOwner& owner_;
  std::vector<Operation> operations_;

 private:
  void on_immediate(Operation*, std::uint64_t) noexcept override {}
  void on_failure(Operation&, int error) noexcept override { owner_.on_wire_failure(error); }

  CompletionQueue& queue_;
};

}  // namespace netio::detail

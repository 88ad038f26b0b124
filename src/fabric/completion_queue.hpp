// What became of operations posted on a device's endpoints, read in bursts from the loop. Owner
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rdma/fi_eq.h>

#include <netio/loop.hpp>

#include "fabric/domain.hpp"

namespace netio::detail {

class OperationOwner;

// What an operation is known by while it is posted; it must not move meanwhile.
struct Operation {
  fi_context2 context{};            // the provider's
  OperationOwner* owner = nullptr;  // null: nobody wants to know any more
};

class OperationOwner {
 public:
  // `bytes`: of a receive, what came.
  virtual void on_completion(Operation& operation, std::size_t bytes) noexcept = 0;
  // The peer wrote into memory of this side, and says `immediate` with it. Null where the provider
  // takes no receive for that.
  virtual void on_immediate(Operation* receive, std::uint64_t immediate) noexcept = 0;
  // `error` is positive.
  virtual void on_failure(Operation& operation, int error) noexcept = 0;

 protected:
  ~OperationOwner() = default;
};

class CompletionQueue final : private Source {
 public:
  // Of `size` completions, or half of that and so on down to `size_min` where the device has no
  // larger one. In a loop that spins it has no descriptor to sleep on, which costs some providers a
  // good part of a round trip; such a loop cannot sleep later. Throws FabricError.
  CompletionQueue(Loop& loop, const Fabric& fabric, const Domain& domain, std::size_t size,
                  std::size_t size_min);
  // Immediates that come without a receive do not say on which endpoint: only one may use the
  // queue then, and they are its owner's. Null: nobody's.
  void own_immediates(OperationOwner* owner) noexcept { immediates_owner_ = owner; }
  ~CompletionQueue() override;

  [[nodiscard]] fid_cq* get() const noexcept { return queue_.get(); }

  // How many operations may be posted at once, by all who use it; without room for more the queue
  // could overflow.
  std::size_t reserved = 0;
  [[nodiscard]] bool has_room(std::size_t operations) const noexcept {
    return operations <= size_ - reserved;
  }

  // Reads all that is there now. From the loop, and not from within a completion.
  void drain() noexcept;
  // Operations of an endpoint that was closed: their owner is told no more. What became of them may
  // still be in the queue: they are freed once it has been seen empty. Needs no memory: there is
  // room for as many as will_bury() was called for.
  void bury(std::vector<Operation> operations) noexcept;
  void will_bury();
  // How many of them are not freed so far.
  [[nodiscard]] std::size_t graves() const noexcept { return graves_.size(); }

 private:
  bool poll(int budget) noexcept override;
  bool read_burst() noexcept;
  bool may_sleep() noexcept override;
  [[nodiscard]] int fd() const noexcept override { return fd_; }
  bool read_failure() noexcept;

  Loop& loop_;
  fid_fabric* fabric_;
  FabricHandle<fid_cq> queue_;
  int fd_ = -1;
  OperationOwner* immediates_owner_ = nullptr;
  std::size_t size_;
  std::vector<std::vector<Operation>> graves_;
  std::size_t to_bury_ = 0;  // those that live
};

}  // namespace netio::detail

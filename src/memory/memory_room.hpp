// Which NUMA node the pools of a context prefer, and whether the control groups of this process
// have room for more memory: asked before memory is taken, because the kernel does not refuse
// memory beyond a group's limit. It kills the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include <netio/status.hpp>

#include "memory/control_group.hpp"
#include "memory/ring.hpp"

namespace netio::detail {

// Of one context, on its thread.
class MemoryRoom {
 public:
  // The NUMA node `node` is preferred; -1: none.
  explicit MemoryRoom(ControlGroup groups = ControlGroup(), int node = -1) noexcept
      : groups_(std::move(groups)), node_(node), limited_(groups_.bound(0).has_value()) {}
  MemoryRoom(const MemoryRoom&) = delete;
  MemoryRoom& operator=(const MemoryRoom&) = delete;

  [[nodiscard]] const ControlGroup& groups() const noexcept { return groups_; }
  [[nodiscard]] int node() const noexcept { return node_; }
  // True if so many bytes more fit in, beside what was promised and a little for the kernel. Reads
  // some files of the system if there is a limit: it is for new memory, never for each message.
  [[nodiscard]] bool fits(std::size_t bytes) noexcept;

  // True if a group had a limit when fits() last looked.
  [[nodiscard]] bool limited() const noexcept { return limited_; }

  // Memory was refused, by a group or by the system. `when_refused` is called, and whoever has it
  // set calls retry() some time later.
  void refuse() noexcept {
    if (when_refused) when_refused();
  }
  std::function<void()> when_refused;
  // The number of calls of retry(): who was refused need not ask again before it is another one.
  [[nodiscard]] std::uint64_t round() const noexcept { return round_; }
  // What to throw where memory is refused, during set-up.
  [[nodiscard]] Error error(std::string operation) const;
  // Tells everybody who waits for the system.
  void retry() noexcept;

  // Someone whose stores are served again then. Leaves when destroyed.
  class Waiter : private RingNode {
   public:
    virtual ~Waiter() = default;
    virtual void on_room() noexcept = 0;

   private:
    friend class MemoryRoom;
  };
  void add(Waiter& waiter) noexcept { waiter.join(waiters_); }

 private:
  // Without a limit, only one call of fits() in so many looks whether there is one now.
  static constexpr std::uint64_t asks_between_looks = 64;

  const ControlGroup groups_;
  const int node_;
  bool limited_;
  std::uint64_t asks_ = 0;
  std::uint64_t round_ = 0;
  RingNode waiters_;  // the head
};

// Memory that was granted and that this process has not written to yet: the groups do not count it
// so far. Any thread; all contexts of the process know of it. If very many are made at once, some
// are not known.
class PromisedMemory {
 public:
  // Address space that will be written to, as long as the object lives.
  explicit PromisedMemory(std::span<const std::byte> memory) noexcept;
  ~PromisedMemory();
  PromisedMemory(const PromisedMemory&) = delete;
  PromisedMemory& operator=(const PromisedMemory&) = delete;

  // Of all that live.
  [[nodiscard]] static std::size_t bytes_untouched() noexcept;

 private:
  std::size_t place_;
};

}  // namespace netio::detail

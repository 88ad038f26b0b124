// One device of a fabric with what all links on it share: queues, and the memory registered with
// it. Opened at the first use, closed with the transport. Owner thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/completion_queue.hpp"
#include "fabric/event_queue.hpp"
#include "fabric/memory_region.hpp"
#include "memory/large_pool.hpp"
#include "memory/pool.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// A fabric and its events.
struct FabricPort {
  FabricPort(Loop& loop, const Info& info) : fabric(info), events(loop, fabric) {}
  Fabric fabric;
  EventQueue events;
};

class Device final : private LargePool::Watcher {
 public:
  // Registers the pools. Throws FabricError.
  Device(const TransportResources& resources, FabricPort& port, const Info& info);

  [[nodiscard]] Domain& domain() noexcept { return domain_; }
  [[nodiscard]] EventQueue& events() noexcept { return port_.events; }
  // One of the queues, with room for so many operations. Throws Error.
  CompletionQueue& queue_with_room(std::size_t operations);
  // One that nobody else has.
  CompletionQueue& queue_alone(std::size_t operations);

  // What operations of this side name memory by.
  struct Local {
    bool usable = false;  // else it has to be copied to memory that is
    void* descriptor = nullptr;
  };
  [[nodiscard]] Local local(const Block* block, std::span<const std::byte> bytes) noexcept;

  // Null if operations of this side may name any memory.
  [[nodiscard]] const Pool* registered_receive_pages() noexcept;

  // Memory that the peer is to read: the registration that covers `bytes` of `block`, kept for the
  // next time where the block belongs to the large pool, else put into `own`. Null without.
  MemoryRegion* lend(const Block& block, std::span<const std::byte> bytes,
                     std::optional<MemoryRegion>& own) noexcept;

  // Memory for the headers of one link, registered. Throws Error.
  static constexpr std::size_t heads_bytes = 8192;
  Lease take_heads(void*& descriptor);

 private:
  struct Heads {
    Heads(Loop& loop, Domain& domain);
    Pool::Ptr pool;
    std::optional<MemoryRegion> region;
  };
  // Of a buffer of the large pool, from its beginning, as far as it was ever used.
  struct LargeRegion {
    std::size_t bytes = 0;
    std::optional<MemoryRegion> region;
  };
  struct LargeRegions {
    LargeRegion local;
    LargeRegion lent;
  };
  void on_buffer_gone(const Block& buffer) noexcept override { large_.erase(&buffer); }
  LargeRegions* regions_of(const Block& block) noexcept;
  MemoryRegion* enter(std::optional<MemoryRegion>& place, std::span<const std::byte> bytes,
                      MemoryRegion::Use use) noexcept;
  MemoryRegion* cover(LargeRegion& region, const Block& block, std::span<const std::byte> bytes,
                      MemoryRegion::Use use) noexcept;

  const TransportResources& resources_;
  FabricPort& port_;
  Domain domain_;
  std::vector<std::unique_ptr<CompletionQueue>> queues_;
  std::vector<std::unique_ptr<CompletionQueue>> queues_alone_;
  std::optional<MemoryRegion> send_region_;
  std::optional<MemoryRegion> receive_region_;
  std::deque<Heads> heads_;
  std::map<const Block*, LargeRegions> large_;
};

}  // namespace netio::detail

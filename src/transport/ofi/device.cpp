// Opens and registers once, looks up often.
#include "transport/ofi/device.hpp"

#include <new>
#include <utility>

#include "fabric/error.hpp"
#include "memory/mapping.hpp"

namespace netio::detail {

namespace {

// Of one queue: about a hundred links of 272 operations (128 sends, 64 injected ones that complete
// in secret, 64 receives, 16 reads). Software devices end at 32767.
constexpr std::size_t queue_size = 28U << 10U;
constexpr std::size_t queue_size_min = 512;
constexpr std::size_t heads_blocks = 64;

bool covers(const Pool& pool, const std::byte* data) noexcept {
  const std::span<std::byte> region = pool.region();
  return data >= region.data() && data < region.data() + region.size();
}

}  // namespace

Device::Device(const TransportResources& resources, FabricPort& port, const Info& info)
    : resources_(resources), port_(port), domain_(port.fabric, info) {
  if (domain_.registers_local()) {
    using Use = MemoryRegion::Use;
    // A registration faults all of it in: better refused here than by the kernel.
    if (!resources_.send_pool.take_all() || !resources_.receive_pages().take_all()) {
      throw resources_.room.error("register memory with a fabric");
    }
    send_region_.emplace(domain_, resources_.send_pool.region(), Use::local);
    receive_region_.emplace(domain_, resources_.receive_pages().region(), Use::local);
  }
  resources_.large_pool.add(*this);
}

CompletionQueue& Device::queue_with_room(std::size_t operations) {
  for (const auto& queue : queues_) {
    if (queue->has_room(operations)) return *queue;
  }
  auto queue = std::make_unique<CompletionQueue>(resources_.loop, port_.fabric, domain_, queue_size,
                                                 queue_size_min);
  if (!queue->has_room(operations)) {
    throw Error("open a completion queue", "the device has none large enough for one connection",
                "use a smaller ?window=");
  }
  return *queues_.emplace_back(std::move(queue));
}

// One that was left is taken again once it was seen empty: what came for the one before is gone.
CompletionQueue& Device::queue_alone(std::size_t operations) {
  for (const auto& queue : queues_alone_) {
    if (queue->reserved == 0 && queue->graves() == 0 && queue->has_room(operations)) return *queue;
  }
  return *queues_alone_.emplace_back(std::make_unique<CompletionQueue>(
      resources_.loop, port_.fabric, domain_, operations, operations));
}

Device::Local Device::local(const Block* block, std::span<const std::byte> bytes) noexcept {
  if (!domain_.registers_local()) return {true, nullptr};
  if (covers(resources_.send_pool, bytes.data())) return {true, send_region_->descriptor()};
  if (covers(resources_.receive_pages(), bytes.data()))
    return {true, receive_region_->descriptor()};
  if (block == nullptr || !resources_.large_pool.owns(*block)) return {};
  // The whole of it: parts of one message are sent one after the other, all under one region.
  LargeRegions* const regions = regions_of(*block);
  if (regions == nullptr) return {};
  const MemoryRegion* const region =
      cover(regions->local, *block, {block->data(), block->capacity()}, MemoryRegion::Use::local);
  return region == nullptr ? Local() : Local{true, region->descriptor()};
}

const Pool* Device::registered_receive_pages() noexcept {
  return receive_region_ ? &resources_.receive_pages() : nullptr;
}

// Null without memory for it.
Device::LargeRegions* Device::regions_of(const Block& block) noexcept try {
  return &large_[&block];
} catch (const std::bad_alloc&) {
  return nullptr;
}

// Registering more of a buffer takes the place of what was registered, which nobody may be using.
MemoryRegion* Device::cover(LargeRegion& large, const Block& block,
                            std::span<const std::byte> bytes, MemoryRegion::Use use) noexcept {
  const auto end = static_cast<std::size_t>(bytes.data() + bytes.size() - block.data());
  if (large.region && end <= large.bytes) return &*large.region;
  large.bytes = (end + small_page_bytes - 1) & ~(small_page_bytes - 1);
  return enter(large.region, {block.data(), large.bytes}, use);
}

// In the place of what is registered there. Null, and nothing there, where it cannot be.
MemoryRegion* Device::enter(std::optional<MemoryRegion>& place, std::span<const std::byte> bytes,
                            MemoryRegion::Use use) noexcept {
  try {
    return &place.emplace(domain_, bytes, use);
  } catch (const FabricError&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

MemoryRegion* Device::lend(const Block& block, std::span<const std::byte> bytes,
                           std::optional<MemoryRegion>& own) noexcept {
  if (resources_.large_pool.owns(block) && block.sole()) {
    LargeRegions* const regions = regions_of(block);
    return regions == nullptr ? nullptr
                              : cover(regions->lent, block, bytes, MemoryRegion::Use::lent);
  }
  return enter(own, bytes, MemoryRegion::Use::lent);
}

Device::Heads::Heads(Loop& loop, Domain& domain)
    : pool(Pool::create(heads_bytes, heads_blocks, loop.owner())) {
  if (!domain.registers_local()) return;
  region.emplace(domain, pool->region(), MemoryRegion::Use::local);
}

Lease Device::take_heads(void*& descriptor) {
  for (Heads& heads : heads_) {
    Lease lease = heads.pool->take();
    if (!lease) continue;
    descriptor = heads.region ? heads.region->descriptor() : nullptr;
    return lease;
  }
  heads_.emplace_back(resources_.loop, domain_);
  return take_heads(descriptor);
}

}  // namespace netio::detail

// fi_mr_reg.
#include "fabric/memory_region.hpp"

#include <string>

#include "fabric/error.hpp"

namespace netio::detail {

std::atomic<std::size_t> MemoryRegion::regions_live{0};

namespace {
std::uint64_t access_for(MemoryRegion::Use use) noexcept {
  switch (use) {
    case MemoryRegion::Use::local:
      return FI_SEND | FI_RECV | FI_READ | FI_WRITE;
    case MemoryRegion::Use::lent:
      return FI_REMOTE_READ;
    case MemoryRegion::Use::ring:
      return FI_REMOTE_WRITE;
  }
  return 0;
}
}  // namespace

MemoryRegion::MemoryRegion(Domain& domain, std::span<const std::byte> bytes, Use use) {
  const std::uint64_t access = access_for(use);
  fid_mr* registered = nullptr;
  const int answer = fi_mr_reg(domain.get(), bytes.data(), bytes.size(), access, 0,
                               domain.next_key(), 0, &registered, nullptr);
  if (answer != 0) {
    throw FabricError("register " + std::to_string(bytes.size() >> 10U) + " KiB with the fabric",
                      -answer);
  }
  region_.reset(registered);
  if (!domain.virtual_addresses()) base_ = reinterpret_cast<std::uintptr_t>(bytes.data());
  ++regions_live;
}

MemoryRegion::~MemoryRegion() { --regions_live; }

}  // namespace netio::detail

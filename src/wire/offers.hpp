// What the accepting side of a netio:// address says of its other wires (docs/wire.md): ports and
// names, never a host. The connecting side tries them at the host that it has reached already.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace netio::detail {

// An offer of an unknown kind is skipped.
enum class OfferedWire : std::uint16_t { shm = 1, verbs = 2, ofi_tcp = 3 };

struct WireOffer {
  OfferedWire wire = OfferedWire::shm;
  std::uint16_t port = 0;  // of a fabric
  std::uint64_t name = 0;  // of shared memory: in the abstract name, as 16 digits
  bool operator==(const WireOffer&) const = default;
};

// Where shared memory can be reached: by processes of one user, in one network namespace, since one
// start of one machine. Zeros: not known.
struct HostPlace {
  std::array<std::uint8_t, 16> boot{};
  std::uint64_t network = 0;
  std::uint32_t user = 0;

  bool operator==(const HostPlace&) const = default;
};

// 128 random bits, drawn for each connection on which something is offered. Zeros: none.
using OfferToken = std::array<std::uint8_t, 16>;

struct WireOffers {
  static constexpr std::size_t most = 8;

  HostPlace place;
  OfferToken token{};
  std::size_t count = 0;  // 0: nothing is offered, and the rest is not said
  std::array<WireOffer, most> offers{};

  // There must be room.
  void add(const WireOffer& offer) noexcept { offers.at(count++) = offer; }
  bool operator==(const WireOffers&) const = default;
};

}  // namespace netio::detail

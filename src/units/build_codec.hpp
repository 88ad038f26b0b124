// The messages of event building as bytes (docs/wire.md, "Event building"): 64-bit words, the first
// of which says what follows. A fragment is a message of its own, whose tag is the number of its
// event. Everything else has a tag that no event has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <variant>

#include "build/build_messages.hpp"

namespace netio::detail {

inline constexpr std::uint64_t build_control_tag = UINT64_MAX;
inline constexpr std::uint64_t build_version = 1;
static_assert(build_control_tag > event_number_max);

// The fragments that follow on this connection are of this run.
struct NextRun {
  std::uint64_t run = 0;
};
// The next fragment on this connection came so from the detector. Without it: good.
struct NextStatus {
  FragmentStatus status = FragmentStatus::good;
};
// The other side is refused, and should end the connection. The text says why, and borrows.
struct Refused {
  std::string_view why;
};

using UnitSaid = std::variant<UnitHello, UnitDropped, UnitMark, UnitWaits, UnitWants, UnitRests,
                              UnitShort, NextRun, NextStatus, Refused>;
using BuilderSaid =
    std::variant<BuilderHello, BuilderDone, BuilderGrant, BuilderWanted, BuilderTurn, Refused>;

// The bytes of one message. A text that is longer is cut.
class BuildBytes {
 public:
  static constexpr std::size_t bytes_max = 512;

  explicit BuildBytes(const UnitMessage& message) noexcept;
  explicit BuildBytes(const BuilderMessage& message) noexcept;
  explicit BuildBytes(const NextRun& message) noexcept;
  explicit BuildBytes(const NextStatus& message) noexcept;
  explicit BuildBytes(const Refused& message) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<std::byte, bytes_max> bytes_;
  std::size_t size_ = 0;
};

// Null, or what is wrong with it in words. `said` is not changed then.
[[nodiscard]] const char* decode(std::span<const std::byte> from, UnitSaid& said) noexcept;
[[nodiscard]] const char* decode(std::span<const std::byte> from, BuilderSaid& said) noexcept;

}  // namespace netio::detail

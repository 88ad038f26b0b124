// The messages of event building as bytes (docs/wire.md, "Event building"): 64-bit words, the first
// of which says what follows. A fragment is a message of its own, whose tag is the number of its
// event. Everything else has a tag that no event has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "build/build_messages.hpp"
#include "units/words.hpp"

namespace netio::detail {

inline constexpr std::uint64_t build_control_tag = UINT64_MAX;
static_assert(build_control_tag > event_number_max);

// The first message of a unit on a connection. The builder accepts the unit, or refuses it. So both
// know that they can work together before the unit has begun.
struct UnitIntroduces {
  BuildPlan plan;
  std::uint32_t source = 0;
  std::uint32_t builder = 0;  // which one the unit means to talk to
};
struct BuilderAccepts {};
// The fragments that follow on this connection are of this run.
struct NextRun {
  std::uint64_t run = 0;
};
// The next fragment on this connection came so from the detector. Without it: good.
struct NextStatus {
  FragmentStatus status = FragmentStatus::good;
};

using UnitSaid = std::variant<UnitHello, UnitDropped, UnitMark, UnitWaits, UnitWants, UnitRests,
                              UnitShort, UnitBusy, UnitIntroduces, NextRun, NextStatus, Refused>;
using BuilderSaid = std::variant<BuilderHello, BuilderDone, BuilderGrant, BuilderWanted,
                                 BuilderTurn, BuilderAsks, BuilderAccepts, Refused>;

// The bytes of one message. A text that is longer is cut.
class BuildBytes {
 public:
  static constexpr std::size_t bytes_max = word_bytes + refused_bytes_max;

  explicit BuildBytes(const UnitMessage& message) noexcept;
  explicit BuildBytes(const BuilderMessage& message) noexcept;
  explicit BuildBytes(const UnitIntroduces& message) noexcept;
  explicit BuildBytes(const BuilderAccepts& message) noexcept;
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

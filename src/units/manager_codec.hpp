// The messages to and from the event manager as bytes (docs/wire.md, "Event manager"): 64-bit
// words, the first of which says what follows. Each is a message with the tag 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "build/manager_messages.hpp"
#include "units/words.hpp"

namespace netio::detail {

// No message is larger: a welcome of a manager has room for a million open assignments.
inline constexpr std::size_t manager_message_bytes_max = std::size_t{64} << 20U;

// What the protocol does not know, because it has no addresses. A list replaces the one before.
//
// From builder to manager, behind the hello: units reach the builder here.
struct BuilderAt {
  Addresses addresses;
};
// From manager to unit, at any time: the unit reaches this builder here.
struct UnitBuilder {
  std::uint32_t builder = 0;
  Addresses addresses;
};

// What a manager receives: the first message on a connection says whether a unit or a builder is at
// the other end.
using SaidToManager =
    std::variant<UnitJoins, UnitProduced, BuilderJoins, BuilderReports, BuilderAt, Refused>;
using SaidToUnit = std::variant<UnitWelcome, UnitAssigned, UnitRevoked, UnitSettled, UnitAsked,
                                UnitStops, UnitBuilder, Refused>;
using SaidToBuilder =
    std::variant<BuilderWelcome, BuilderExpects, BuilderRevoked, BuilderLease, Refused>;

// The bytes of a message, in memory that is used again for the next one. A text that is longer than
// refused_bytes_max is cut. The addresses are within their bounds (words.hpp).
class ManagerBytes {
 public:
  // Valid until the next call. They throw std::bad_alloc.
  std::span<const std::byte> of(const UnitToManager& message);
  std::span<const std::byte> of(const BuilderToManager& message);
  std::span<const std::byte> of(const ManagerToUnit& message);
  std::span<const std::byte> of(const ManagerToBuilder& message);
  std::span<const std::byte> of(const BuilderAt& message);
  std::span<const std::byte> of(const UnitBuilder& message);
  std::span<const std::byte> of(const Refused& message);

 private:
  std::vector<std::byte> bytes_;
};

// Null, or what is wrong with it in words. `said` is not changed then. They throw std::bad_alloc; a
// message takes no more memory than its bytes and its addresses.
[[nodiscard]] const char* decode(std::span<const std::byte> from, SaidToManager& said);
[[nodiscard]] const char* decode(std::span<const std::byte> from, SaidToUnit& said);
[[nodiscard]] const char* decode(std::span<const std::byte> from, SaidToBuilder& said);

}  // namespace netio::detail

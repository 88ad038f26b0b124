// Times as C has them: counts of a unit, where a count that is longer than a hundred years means
// for ever.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "socket/option_bounds.hpp"

namespace netio::c_api {

template <typename Unit>
Unit time_from(std::uint64_t count) noexcept {
  constexpr auto most =
      static_cast<std::uint64_t>(std::chrono::duration_cast<Unit>(detail::time_most).count());
  return Unit(static_cast<typename Unit::rep>(std::min(count, most)));
}

inline std::uint64_t count_of(auto time) noexcept {
  return static_cast<std::uint64_t>(time.count());
}

}  // namespace netio::c_api

// Counts the copies that a socket makes: payload that is taken out of counted or lent memory. What
// send(bytes) is given is gathered, which is no copy. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace netio::detail {

struct Copies {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;

  void add(std::size_t bytes_copied) noexcept {
    ++count;
    bytes += bytes_copied;
  }
};

}  // namespace netio::detail

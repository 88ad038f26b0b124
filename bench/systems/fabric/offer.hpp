// What an end says of its ring while the connection is made: where the other end may write.
#pragma once

#include <cstdint>

namespace netio::bench::fabric {

struct Offer {
  std::uint64_t address = 0;  // of the first slot
  std::uint64_t key = 0;
  std::uint32_t slots = 0;  // that are written to in turn; 0: no ring
  std::uint32_t stride = 0;
};

}  // namespace netio::bench::fabric

// The base of a fixture whose contexts use fabrics: every registration that they made is gone when
// they are. First among the bases, so that it is destroyed last.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include "fabric/memory_region.hpp"

namespace netio::test {

class NoRegionLeaks {
 protected:
  ~NoRegionLeaks() { EXPECT_EQ(detail::MemoryRegion::live(), before_); }

 private:
  std::size_t before_ = detail::MemoryRegion::live();
};

}  // namespace netio::test

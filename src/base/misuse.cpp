// Words on standard error, without memory, and std::terminate().
#include "base/misuse.hpp"

#include <cstdio>
#include <exception>

namespace netio::detail {

void die(const char* what) noexcept {
  (void)std::fprintf(stderr, "netio: %s\n", what);
  std::terminate();
}

}  // namespace netio::detail

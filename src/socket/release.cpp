// The build says it (NETIO_VERSION), to this file alone.
#include "socket/release.hpp"

namespace netio::detail {

std::string_view release() noexcept { return NETIO_VERSION; }

}  // namespace netio::detail

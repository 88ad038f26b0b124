// Unix sockets of abstract names, by which ends find each other that then share memory.
#pragma once

#include <string>

namespace netio::bench {

// Blocking sockets of whole messages; the caller's to close. Throw std::system_error, and
// std::invalid_argument for a name that is too long.
[[nodiscard]] int listen_at_name(const std::string& name);
[[nodiscard]] int connect_to_name(const std::string& name);

}  // namespace netio::bench

// The memory of the context of each process. The defaults of the library are for higher rates.
#pragma once

#include <cstddef>

#include <netio/context.hpp>

namespace demo {

inline netio::ContextOptions context_options() {
  netio::ContextOptions options;
  options.send_pool_bytes = std::size_t{8} << 20U;
  options.receive_pool_bytes = std::size_t{8} << 20U;
  return options;
}

}  // namespace demo

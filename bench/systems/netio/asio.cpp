// The same sockets with their loop inside of Asio's.
#include <stdexcept>

#include "systems/netio/netio.hpp"

#if __has_include(<asio/io_context.hpp>)
#include <netio/asio.hpp>
#endif

namespace netio::bench {

void run(const Options& options, Context& context) {
  if (options.api != "asio") return context.run();
#if __has_include(<asio/io_context.hpp>)
  asio::io_context io(1);
  const AsioDriver driver(io, context);
  io.run();
#else
  throw std::invalid_argument("built without Asio (libasio-dev)");
#endif
}

}  // namespace netio::bench

// netio as a system to measure, by its public headers alone.
#include <stdexcept>

#include "systems/netio/netio.hpp"

namespace netio::bench {

ContextOptions context_options(const Options& options) {
  ContextOptions context;
  context.idle = options.wait == Wait::spin       ? IdlePolicy::spin
                 : options.wait == Wait::adaptive ? IdlePolicy::adaptive
                                                  : IdlePolicy::sleep;
  return context;
}

SocketOptions socket_options(const Options& options) {
  SocketOptions socket;
  socket.mode = options.buffered ? Mode::buffered : Mode::unbuffered;
  return socket;
}

std::string address_of(const Options& options) {
  const bool v6 = options.host.find(':') != std::string::npos;
  std::string scheme = "tcp";
  if (!options.provider.empty()) {
    scheme = options.provider == "verbs" ? "verbs" : "ofi+" + options.provider;
  }
  std::string address = scheme + "://" + (v6 ? "[" + options.host + "]" : options.host) + ":" +
                        std::to_string(options.port);
  if (options.window != 0) address += "?window=" + std::to_string(options.window);
  return address;
}

std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

void stop_with(Worker& worker, Context& context) {
  worker.on_stop([&context] { context.loop().post([&context] { context.stop(); }); });
}

namespace {

void run(Worker& worker) {
  switch (worker.options.role) {
    case Role::receive:
      return receive(worker);
    case Role::send:
      return send(worker);
    case Role::reply:
      return reply(worker);
    case Role::request:
      return request(worker);
  }
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "netio", netio::bench::run,
                                   netio::bench::Reach::fabrics);
}

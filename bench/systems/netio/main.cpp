// netio as a system to measure, by its public headers alone.
#include <algorithm>
#include <stdexcept>
#include <utility>

#ifdef NETIO_WITH_POINTS
#include "points/recorder.hpp"
#endif
#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

// On a fabric every connection has its receives posted in advance: with many, few each.
constexpr std::uint32_t window_of_many = 8;
// What the pools of a context hold at least, however large a page is: of sent pages twice what a
// context needs, and four blocks of four pages to receive into.
constexpr std::size_t sent_pages_min = 8;
constexpr std::size_t received_pages_min = 16;

bool many_on_a_fabric(const Options& options) {
  return !options.provider.empty() && options.connections > 1;
}
std::size_t receive_bytes(const Options& options) {
  const std::size_t page =
      options.page_bytes != 0 ? options.page_bytes : ContextOptions().page_bytes;
  const std::size_t pages = options.window != 0 ? options.window : window_of_many;
  return options.connections * (pages + 2) * (page + page / 16);
}

}  // namespace

ContextOptions context_options(const Options& options) {
  ContextOptions context;
  context.idle = options.wait == Wait::spin       ? IdlePolicy::spin
                 : options.wait == Wait::adaptive ? IdlePolicy::adaptive
                                                  : IdlePolicy::sleep;
  if (options.page_bytes != 0) {
    context.page_bytes = options.page_bytes;
    context.send_pool_bytes =
        std::max(context.send_pool_bytes, sent_pages_min * options.page_bytes);
    context.receive_pool_bytes =
        std::max(context.receive_pool_bytes, received_pages_min * options.page_bytes);
  }
  if (many_on_a_fabric(options)) {
    context.receive_pool_bytes = std::max(context.receive_pool_bytes, receive_bytes(options));
  }
  if (options.role == Role::build) {
    // A builder unit sets memory aside for each read-out unit.
    constexpr std::size_t bytes_of_readout = std::size_t{4} << 20U;
    context.receive_pool_bytes =
        std::max(context.receive_pool_bytes, options.build.readouts * bytes_of_readout);
  }
  return context;
}

SocketOptions socket_options(const Options& options) {
  SocketOptions socket;
  socket.mode = options.buffered ? Mode::buffered : Mode::unbuffered;
  if (options.api == "resume") socket.resume_bytes_max = std::size_t{8} << 20U;
  // A page that is full has to have room, however large it is.
  socket.send_bytes_max = std::max(socket.send_bytes_max, 2 * options.page_bytes);
  // Kept messages count in blocks of four pages.
  socket.receive_bytes_max =
      std::max(socket.receive_bytes_max, received_pages_min * options.page_bytes);
  socket.peers_max = std::size_t{1} << 20U;  // however many are to be measured
  if (many_on_a_fabric(options)) {
    socket.receive_bytes_max = std::max(socket.receive_bytes_max, receive_bytes(options));
  }
  return socket;
}

std::string address_of(const Options& options) {
  if (!options.name.empty()) return (options.both ? "inproc://" : "shm://") + options.name;
  const bool v6 = options.host.find(':') != std::string::npos;
  std::string scheme = "tcp";
  if (!options.provider.empty()) {
    scheme = options.provider == "verbs" ? "verbs" : "ofi+" + options.provider;
  }
  std::string address = scheme + "://" + (v6 ? "[" + options.host + "]" : options.host) + ":" +
                        std::to_string(options.port);
  std::uint32_t window = options.window;
  if (window == 0 && !options.has_ring() && many_on_a_fabric(options)) window = window_of_many;
  char separator = '?';
  const auto add = [&address, &separator](const std::string& parameter) {
    address += std::exchange(separator, '&') + parameter;
  };
  if (window != 0) add("window=" + std::to_string(window));
  if (options.has_ring()) add("engine=ring");
  if (options.slot_bytes != 0) add("slot_bytes=" + std::to_string(options.slot_bytes));
  if (options.slots != 0) add("slots=" + std::to_string(options.slots));
  return address;
}

Options receiver_of(const Options& options) {
  Options there = options;
  there.host = options.relay.host;
  there.port = options.relay.port;
  there.provider = options.relay.provider;
  there.name = options.relay.name;
  return there;
}

std::uint16_t port_of(const Options& options, const std::string& address) {
  if (!options.name.empty()) return 0;
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

void await_peer(Context& context, const Socket& socket) {
  while (socket.peers_connected() == 0) context.loop().run_once(std::chrono::seconds(1));
  for (const PeerSnapshot& peer : socket.peers()) {
    if (!peer.wire_reason.empty())
      throw std::runtime_error("there is no ring: " + peer.wire_reason);
  }
}

void connect(Context& context, Socket& socket, const Options& options) {
  socket.connect(address_of(options));
  await_peer(context, socket);
}

void stop_with(Worker& worker, Context& context) {
  worker.on_stop([&context] { context.loop().post([&context] { context.stop(); }); });
}

namespace {

void play(Worker& worker) {
#ifdef NETIO_WITH_POINTS
  record_points(worker);
#endif
  const std::string& api = worker.options.api;
  if (api == "c") return run_c(worker);
  if (api == "coroutine") return run_coroutine(worker);
  if (api == "blocking") return run_blocking(worker);
  if (api == "queued") return run_queued(worker);
  // These differ in how the loop is turned, in an option, and in what one message is sent as.
  const bool known = api.empty() || api == "asio" || api == "resume" || api == "segments" ||
                     api == "gathered" ||
                     (worker.options.role == Role::relay && (api == "released" || api == "own"));
  if (!known) throw std::invalid_argument("no such surface: " + api);
  if (worker.options.both_ways) return exchange(worker);
  switch (worker.options.role) {
    case Role::receive:
      return worker.options.rate > 0 ? receive_paced(worker) : receive(worker);
    case Role::send:
      if (worker.options.rate > 0) return send_paced(worker);
      return worker.options.loan ? send_loans(worker) : send(worker);
    case Role::reply:
      return worker.options.loan ? reply_loans(worker) : reply(worker);
    case Role::request:
      return worker.options.loan ? request_loans(worker) : request(worker);
    case Role::publish:
      return publish(worker);
    case Role::subscribe:
      return subscribe(worker);
    case Role::relay:
      return relay(worker);
    case Role::build:
      return build(worker);
    case Role::readout:
      return readout(worker);
    case Role::manage:
      return manage(worker);
    case Role::node:
      return node(worker);
  }
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "netio", netio::bench::play,
                                   {.fabrics = true,
                                    .memory = true,
                                    .loans = true,
                                    .publishes = true,
                                    .surfaces = true,
                                    .requests = true,
                                    .concurrent = true,
                                    .relays = true,
                                    .builds = true,
                                    .meshes = true,
                                    .meshes_elsewhere = true,
                                    .pages = true,
                                    .rings = true,
                                    .both_ways = true,
#ifdef NETIO_WITH_POINTS
                                    .points = true,
#endif
                                    .paced = true});
}

// The hot paths whose instructions are counted: both ends in one thread, turned one after the
// other, so that two runs execute the same. Only what runs below counted() is counted (callgrind's
// --toggle-collect); bench/compare/compare.py compiles this file against each of the two builds.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <netio.h>
#include <netio/netio.hpp>

namespace {

using namespace std::chrono_literals;

constexpr std::size_t message_bytes = 64;
constexpr std::uint64_t messages_in_turn = 500;
constexpr std::uint64_t warm_up = 20'000;
const std::array<std::byte, message_bytes> message{};

// The name that callgrind is told.
template <typename Work>
__attribute__((noinline)) void counted(Work& work) {
  work();
  asm volatile("" ::: "memory");
}

std::string address_of(std::string_view wire) {
  if (wire == "shm") return "shm://netio-compare-" + std::to_string(::getpid());
  return "tcp://127.0.0.1:0";
}

void turn(netio::Context& context) { context.loop().run_once(0ms); }

netio::SocketOptions in_mode(netio::Mode mode) {
  netio::SocketOptions options;
  options.mode = mode;
  return options;
}

// Runs both sides until `count` more messages have arrived; counts one of them, both, or none.
enum class Side { none, sends, receives, both };
template <typename Send, typename Receive>
void run(std::uint64_t count, Side side, const std::uint64_t& arrived, std::uint64_t per_message,
         Send send, Receive receive) {
  const std::uint64_t until = arrived + count * per_message;
  std::uint64_t sent = 0;
  auto sending = [&] {
    send(count - sent < messages_in_turn ? count - sent : messages_in_turn, sent);
  };
  auto receiving = [&] { receive(); };
  while (arrived < until) {
    if (side == Side::sends || side == Side::both)
      counted(sending);
    else
      sending();
    if (side == Side::receives || side == Side::both)
      counted(receiving);
    else
      receiving();
  }
}

template <typename Connected>
void come_up(netio::Context& here, netio::Context& there, Connected connected) {
  for (int i = 0; i < 100'000; ++i) {
    if (connected()) return;
    turn(here);
    turn(there);
  }
  throw std::runtime_error("the two ends do not connect");
}

template <typename Send, typename Receive>
void measure(std::uint64_t count, Side side, const std::uint64_t& arrived,
             std::uint64_t per_message, Send send, Receive receive) {
  run(warm_up, Side::none, arrived, per_message, send, receive);
  run(count, side, arrived, per_message, send, receive);
}

void push_to_pull(std::string_view wire, netio::Mode mode, std::uint64_t count, Side side) {
  netio::Context here;
  netio::Context there;
  netio::Pull pull(there, in_mode(mode));
  std::uint64_t arrived = 0;
  pull.on_message([&](const netio::MessageView&) { ++arrived; });
  netio::Push push(here, in_mode(mode));
  push.connect(pull.bind(address_of(wire)));
  come_up(here, there, [&] { return push.peers_connected() == 1 && pull.peers_connected() == 1; });
  measure(
      count, side, arrived, 1,
      [&](std::uint64_t some, std::uint64_t& sent) {
        for (; some != 0 && push.send(message) == netio::Status::ok; --some) ++sent;
        turn(here);
      },
      [&] { turn(there); });
}

#if __has_include(<netio/request.hpp>)
// Of a request: asked, answered from inside the call-back, and the answer taken.
void request(std::string_view wire, std::chrono::nanoseconds within, std::uint64_t count) {
  netio::Context here;
  netio::Context there;
  netio::Reply reply(there);
  reply.on_request([](const netio::MessageView& asked, netio::ReplyTo to) {
    if (to.send(asked.bytes()) != netio::Status::ok) throw std::runtime_error("no answer");
  });
  netio::Request request(here);
  std::uint64_t answered = 0;
  request.on_reply([&](std::uint64_t, const netio::MessageView&) { ++answered; });
  request.connect(reply.bind(address_of(wire)));
  come_up(here, there,
          [&] { return request.peers_connected() == 1 && reply.peers_connected() == 1; });
  measure(
      count, Side::both, answered, 1,
      [&](std::uint64_t some, std::uint64_t& sent) {
        std::uint64_t id = 0;
        const netio::Ask ask{.within = within};
        for (; some != 0 && request.send(message, id, ask) == netio::Status::ok; --some) ++sent;
        turn(here);
      },
      [&] { turn(there); });
}
#endif

void publish(std::size_t subscribers, std::uint64_t count) {
  netio::Context here;
  netio::Context there;
  netio::Publish publisher(here);
  const std::string address = publisher.bind(address_of("tcp"));
  std::uint64_t arrived = 0;
  std::size_t set = 0;
  publisher.on_subscribe([&](const netio::PeerInfo&, const auto&) { ++set; });
  std::vector<std::unique_ptr<netio::Subscribe>> all;
  for (std::size_t i = 0; i < subscribers; ++i) {
    all.push_back(std::make_unique<netio::Subscribe>(there));
    all.back()->on_message([&](const netio::MessageView&) { ++arrived; });
    all.back()->subscribe(7);
    all.back()->connect(address);
  }
  come_up(here, there, [&] { return set == subscribers; });
  measure(
      count, Side::sends, arrived, subscribers,
      [&](std::uint64_t some, std::uint64_t& sent) {
        for (; some != 0 && publisher.send(message, 7) == netio::Status::ok; --some) ++sent;
        turn(here);
      },
      [&] { turn(there); });
}

void send_in_c(std::uint64_t count) {
  netio_context here{};
  netio_buffered_send_socket out{};
  if (netio_init(&here) != NETIO_OK ||
      netio_buffered_send_socket_init(&here, &out, nullptr) != NETIO_OK) {
    throw std::runtime_error(netio_last_error());
  }
  {
    netio::Context there;
    netio::Pull pull(there);
    std::uint64_t arrived = 0;
    pull.on_message([&](const netio::MessageView&) { ++arrived; });
    const std::string address = pull.bind(address_of("tcp"));
    if (netio_connect(&out.socket, address.c_str()) != NETIO_OK) {
      throw std::runtime_error(netio_last_error());
    }
    while (netio_connections(&out.socket) != 1 || pull.peers_connected() != 1) {
      (void)netio_run_once(&here.evloop, 0);
      turn(there);
    }
    measure(
        count, Side::sends, arrived, 1,
        [&](std::uint64_t some, std::uint64_t& sent) {
          for (; some != 0 && netio_send(&out.socket, message.data(), message.size()) == NETIO_OK;
               --some) {
            ++sent;
          }
          (void)netio_run_once(&here.evloop, 0);
        },
        [&] { turn(there); });
  }
  (void)netio_socket_free(&out.socket);
  (void)netio_context_free(&here);
}

void run_path(std::string_view path, std::uint64_t count) {
  using netio::Mode;
  if (path == "tcp-send") return push_to_pull("tcp", Mode::buffered, count, Side::sends);
  if (path == "tcp-receive") return push_to_pull("tcp", Mode::buffered, count, Side::receives);
  if (path == "shm-send") return push_to_pull("shm", Mode::buffered, count, Side::sends);
  if (path == "shm-receive") return push_to_pull("shm", Mode::buffered, count, Side::receives);
  if (path == "tcp-unbuffered") return push_to_pull("tcp", Mode::unbuffered, count, Side::both);
#if __has_include(<netio/request.hpp>)
  if (path == "tcp-request") return request("tcp", 0ns, count);
  if (path == "tcp-request-within") return request("tcp", 1h, count);
  if (path == "shm-request") return request("shm", 0ns, count);
#endif
  if (path == "publish-1") return publish(1, count);
  if (path == "publish-8") return publish(8, count);
  if (path == "c-send") return send_in_c(count);
  throw std::invalid_argument("no such path: " + std::string(path));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: paths PATH MESSAGES (bench/compare/compare.py runs it)\n");
    return 2;
  }
  try {
    run_path(argv[1], std::strtoull(argv[2], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}

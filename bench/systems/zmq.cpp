// ZeroMQ, used as its own performance programs use it: PUSH and PULL, REQ and REP, a message
// object each, default settings otherwise.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <zmq.h>

#include "worker/worker.hpp"

namespace netio::bench {

namespace {

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

class Message {
 public:
  Message() { zmq_msg_init(&message_); }
  explicit Message(std::size_t bytes) {
    check(zmq_msg_init_size(&message_, bytes) == 0, "zmq_msg_init_size");
  }
  ~Message() { zmq_msg_close(&message_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  [[nodiscard]] zmq_msg_t* get() noexcept { return &message_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {static_cast<std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }

 private:
  zmq_msg_t message_{};
};

// A blocking call ends now and then, so that the end of the measurement is seen.
constexpr int look_up_ms = 100;

class Socket {
 public:
  Socket(void* context, int type, const Options& options) : socket_(zmq_socket(context, type)) {
    check(socket_ != nullptr, "zmq_socket");
    flags_ = options.wait == Wait::sleep ? 0 : ZMQ_DONTWAIT;
    set(ZMQ_RCVTIMEO, look_up_ms);
    set(ZMQ_SNDTIMEO, look_up_ms);
    set(ZMQ_LINGER, 0);
    set(ZMQ_IPV6, options.host.find(':') != std::string::npos ? 1 : 0);
  }
  ~Socket() { zmq_close(socket_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  std::uint16_t bind(const Options& options) {
    const std::string port = options.port == 0 ? "*" : std::to_string(options.port);
    check(zmq_bind(socket_, address(options, port).c_str()) == 0, "zmq_bind");
    if (!options.name.empty()) return 0;
    std::string bound(256, '\0');
    std::size_t bytes = bound.size();
    check(zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound.data(), &bytes) == 0, "zmq_getsockopt");
    return static_cast<std::uint16_t>(std::stoul(bound.substr(bound.rfind(':') + 1)));
  }
  void connect(const Options& options) {
    check(zmq_connect(socket_, address(options, std::to_string(options.port)).c_str()) == 0,
          "zmq_connect");
  }

  // False if nothing came, or nothing could be sent, for a while.
  bool receive(Message& message) {
    if (zmq_msg_recv(message.get(), socket_, flags_) >= 0) return true;
    check(zmq_errno() == EAGAIN || zmq_errno() == EINTR, "zmq_msg_recv");
    return false;
  }
  bool send(Message& message) {
    if (zmq_msg_send(message.get(), socket_, flags_) >= 0) return true;
    check(zmq_errno() == EAGAIN || zmq_errno() == EINTR, "zmq_msg_send");
    return false;
  }

 private:
  static std::string address(const Options& options, const std::string& port) {
    if (options.both) return "inproc://" + options.name;
    if (!options.name.empty()) return "ipc://@netio-bench-zmq/" + options.name;
    const bool v6 = options.host.find(':') != std::string::npos;
    return "tcp://" + (v6 ? "[" + options.host + "]" : options.host) + ":" + port;
  }
  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }

  void* socket_;
  int flags_ = 0;
};

void receive(Worker& worker, void* context) {
  Socket pull(context, ZMQ_PULL, worker.options);
  worker.ready(pull.bind(worker.options));
  Message message;
  while (!worker.stopping()) {
    if (pull.receive(message)) worker.tally.take(message.bytes());
  }
}

void send(Worker& worker, void* context) {
  std::vector<std::unique_ptr<Socket>> sockets;
  std::vector<Stamp> stamps;
  for (std::uint32_t i = 0; i < worker.options.connections; ++i) {
    sockets.push_back(std::make_unique<Socket>(context, ZMQ_PUSH, worker.options));
    sockets.back()->connect(worker.options);
    stamps.emplace_back(worker.options.connection_first + i, worker.options.verify);
  }
  worker.ready();
  for (std::size_t i = 0; !worker.stopping(); i = (i + 1) % sockets.size()) {
    Message message(worker.options.message_bytes);
    stamps[i].write(message.bytes());
    if (sockets[i]->send(message)) stamps[i].advance();
  }
}

void reply(Worker& worker, void* context) {
  Socket socket(context, ZMQ_REP, worker.options);
  worker.ready(socket.bind(worker.options));
  Message message;
  while (!worker.stopping()) {
    if (!socket.receive(message)) continue;
    worker.tally.take(message.bytes());
    while (!socket.send(message) && !worker.stopping()) {
    }
  }
}

// REQ and REP take turns: in an open loop a request that is late for that still counts from the
// time it was to leave.
void request(Worker& worker, void* context) {
  const Options& options = worker.options;
  Socket socket(context, ZMQ_REQ, options);
  socket.connect(options);
  worker.ready();
  Stamp stamp(0, options.verify);
  const Pace pace(options.rate);
  for (std::uint64_t sent = 0; !worker.stopping(); ++sent) {
    const std::int64_t begin = pace.wait(sent, options.wait == Wait::sleep);
    Message message(options.message_bytes);
    stamp.write(message.bytes());
    stamp.advance();
    while (!socket.send(message) && !worker.stopping()) {
    }
    while (!socket.receive(message)) {
      if (worker.stopping()) return;
    }
    worker.round_trip(now_ns() - begin);
    worker.tally.take(message.bytes());
  }
}

void run(Worker& worker) {
  // Two ends in one process meet in one context; it goes with the process.
  static void* const context = zmq_ctx_new();
  check(context != nullptr, "zmq_ctx_new");
  zmq_ctx_set(context, ZMQ_MAX_SOCKETS, static_cast<int>(worker.options.connections) + 16);
  switch (worker.options.role) {
    case Role::receive:
      receive(worker, context);
      break;
    case Role::send:
      send(worker, context);
      break;
    case Role::reply:
      reply(worker, context);
      break;
    case Role::request:
      request(worker, context);
      break;
  }
  if (!worker.options.both) zmq_ctx_term(context);
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "zmq", netio::bench::run, {.memory = true});
}

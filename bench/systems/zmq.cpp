// ZeroMQ, used as its own performance programs use it: PUSH and PULL, REQ and REP, PUB and SUB, a
// message object each, default settings otherwise.
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <zmq.h>

#include <nlohmann/json.hpp>

#include "worker/bursts.hpp"
#include "worker/subscribers.hpp"
#include "worker/tags.hpp"
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
  Message(Message&& other) noexcept : Message() { zmq_msg_move(&message_, &other.message_); }
  Message& operator=(Message&&) = delete;

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
  bool send(Message& message) { return send(message, flags_); }
  bool send_at_once(Message& message) { return send(message, ZMQ_DONTWAIT); }
  void set(int option, int value) {
    check(zmq_setsockopt(socket_, option, &value, sizeof value) == 0, "zmq_setsockopt");
  }
  void subscribe(std::uint64_t tag) {
    check(zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, &tag, sizeof tag) == 0, "zmq_setsockopt");
  }

 private:
  bool send(Message& message, int flags) {
    if (zmq_msg_send(message.get(), socket_, flags) >= 0) return true;
    check(zmq_errno() == EAGAIN || zmq_errno() == EINTR, "zmq_msg_send");
    return false;
  }
  static std::string address(const Options& options, const std::string& port) {
    if (options.both) return "inproc://" + options.name;
    if (!options.name.empty()) return "ipc://@netio-bench-zmq/" + options.name;
    const bool v6 = options.host.find(':') != std::string::npos;
    return "tcp://" + (v6 ? "[" + options.host + "]" : options.host) + ":" + port;
  }

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

// A message is its tag, which is what ZeroMQ compares, and the payload.
constexpr std::size_t tag_bytes = sizeof(std::uint64_t);

Message tagged(std::uint64_t tag, std::size_t payload_bytes) {
  Message message(tag_bytes + payload_bytes);
  std::memcpy(message.bytes().data(), &tag, tag_bytes);
  return message;
}

// Subscriptions are not acknowledged: this is sent until everybody has it, which shows that what
// was subscribed before it has arrived.
void synchronize(Worker& worker, Socket& pub) {
  while (!worker.told_to_begin() && !worker.stopping()) {
    Message message = tagged(sync_tag, 0);
    (void)pub.send_at_once(message);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// More than the default of 1,000, with which the ends wait for each other more often.
constexpr int messages_waiting_max = 100'000;

void publish(Worker& worker, void* context) {
  const Options& options = worker.options;
  Socket pub(context, ZMQ_PUB, options);
  pub.set(ZMQ_SNDHWM, messages_waiting_max);
  pub.set(ZMQ_XPUB_NODROP, options.fanout.policy == "block" ? 1 : 0);
  std::atomic<std::uint64_t> sent{0};
  worker.on_snap([&sent](nlohmann::ordered_json& said) { said["messages"] = sent.load(); });
  worker.ready(pub.bind(options));
  const std::vector<std::uint64_t> tags = published_tags(options.fanout);
  synchronize(worker, pub);
  Stamp stamp(0, options.verify);
  Bursts bursts(options.rate, now_ns());
  const bool paced = options.rate > 0;
  std::size_t next = 0;
  while (!worker.stopping()) {
    for (std::uint64_t due = paced ? bursts.due(now_ns(), sent) : 1; due > 0; --due) {
      Message message = tagged(tags[next], options.message_bytes);
      stamp.write(message.bytes().subspan(tag_bytes));
      if (!(paced ? pub.send_at_once(message) : pub.send(message))) break;
      stamp.advance();
      sent.store(sent.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if (++next == tags.size()) next = 0;
    }
    if (paced) std::this_thread::sleep_for(Bursts::apart);
  }
}

void subscribe(Worker& worker, void* context) {
  const Options& options = worker.options;
  Subscribers subscribers(options);
  worker.on_snap([&subscribers](nlohmann::ordered_json& said) { subscribers.tell(said); });
  subscribers.run_apart(
      worker, [&](std::uint32_t number, Tally& tally, const std::function<void()>& subscribed) {
        if (options.fanout.policy != "block") tally.allow_gaps();
        Socket sub(context, ZMQ_SUB, options);
        sub.set(ZMQ_RCVHWM, messages_waiting_max);
        sub.set(ZMQ_SNDHWM, 0);  // subscriptions beyond it are dropped
        for (const std::uint64_t tag : subscribed_tags(options.fanout, number)) sub.subscribe(tag);
        sub.subscribe(sync_tag);
        sub.connect(options);
        Message message;
        bool synchronized = false;
        while (!worker.stopping()) {
          if (!sub.receive(message)) continue;
          if (message.bytes().size() > tag_bytes) {
            tally.take(message.bytes().subspan(tag_bytes));
          } else if (!synchronized) {
            synchronized = true;
            subscribed();
          }
        }
      });
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
    case Role::publish:
      publish(worker, context);
      break;
    case Role::subscribe:
      subscribe(worker, context);
      break;
  }
  if (!worker.options.both) zmq_ctx_term(context);
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "zmq", netio::bench::run,
                                   {.memory = true, .publishes = true});
}

// nng: push0 and pull0, req0 and rep0, pub0 and sub0, a message object each, default settings
// otherwise.
#include <atomic>
#include <cstring>
#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "worker/bursts.hpp"
#include "worker/subscribers.hpp"
#include "worker/tags.hpp"
#include "worker/worker.hpp"

namespace netio::bench {

namespace {

void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + nng_strerror(error));
}

std::span<std::byte> bytes_of(nng_msg* message) {
  return {static_cast<std::byte*>(nng_msg_body(message)), nng_msg_len(message)};
}

class Socket {
 public:
  Socket(int (*open)(nng_socket*), const Options& options) {
    check(open(&socket_), "nng open");
    flags_ = options.wait == Wait::sleep ? 0 : NNG_FLAG_NONBLOCK;
    // A blocking call ends now and then, so that the end of the measurement is seen.
    nng_socket_set_ms(socket_, NNG_OPT_RECVTIMEO, 100);
    nng_socket_set_ms(socket_, NNG_OPT_SENDTIMEO, 100);
    nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0);
  }
  ~Socket() { nng_close(socket_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  std::uint16_t bind(const Options& options) {
    nng_listener listener;
    check(nng_listen(socket_, address(options).c_str(), &listener, 0), "nng_listen");
    if (!options.name.empty()) return 0;
    int port = options.port;
    if (port == 0) check(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), "port");
    return static_cast<std::uint16_t>(port);
  }
  void connect(const Options& options) {
    check(nng_dial(socket_, address(options).c_str(), nullptr, 0), "nng_dial");
  }

  // Null if nothing came for a while. The caller's to free or send.
  nng_msg* receive() {
    nng_msg* message = nullptr;
    const int error = nng_recvmsg(socket_, &message, flags_);
    if (error != NNG_ETIMEDOUT && error != NNG_EAGAIN) check(error, "nng_recvmsg");
    return message;
  }
  // On true the message is gone.
  bool send(nng_msg* message) { return send(message, flags_); }
  // Requests and replies: one that is not taken at once would lose its turn. On false the turn is
  // lost: the other side has to ask anew.
  bool send_in_turn(nng_msg* message) {
    const bool sent = send(message, 0);
    if (!sent) nng_msg_free(message);
    return sent;
  }

  void set(const char* option, int value) {
    check(nng_socket_set_int(socket_, option, value), option);
  }
  void subscribe(std::uint64_t tag) {
    check(nng_socket_set(socket_, NNG_OPT_SUB_SUBSCRIBE, &tag, sizeof tag), "subscribe");
  }

 private:
  bool send(nng_msg* message, int flags) {
    const int error = nng_sendmsg(socket_, message, flags);
    if (error != NNG_ETIMEDOUT && error != NNG_EAGAIN) check(error, "nng_sendmsg");
    return error == 0;
  }
  static std::string address(const Options& options) {
    if (options.both) return "inproc://" + options.name;
    if (!options.name.empty()) return "abstract://netio-bench-nng/" + options.name;
    const bool v6 = options.host.find(':') != std::string::npos;
    return "tcp://" + (v6 ? "[" + options.host + "]" : options.host) + ":" +
           std::to_string(options.port);
  }

  nng_socket socket_{};
  int flags_ = 0;
};

nng_msg* next_message(const Options& options, Stamp& stamp) {
  nng_msg* message = nullptr;
  check(nng_msg_alloc(&message, options.message_bytes), "nng_msg_alloc");
  stamp.write(bytes_of(message));
  stamp.advance();
  return message;
}

void receive(Worker& worker) {
  Socket pull(nng_pull0_open, worker.options);
  worker.ready(pull.bind(worker.options));
  while (!worker.stopping()) {
    nng_msg* const message = pull.receive();
    if (message == nullptr) continue;
    worker.tally.take(bytes_of(message));
    nng_msg_free(message);
  }
}

void send(Worker& worker) {
  const Options& options = worker.options;
  if (options.connections != 1) throw std::runtime_error("one connection only");
  Socket push(nng_push0_open, options);
  push.connect(options);
  worker.ready();
  Stamp stamp(options.connection_first, options.verify);
  while (!worker.stopping()) {
    nng_msg* const message = next_message(options, stamp);
    while (!push.send(message)) {
      if (worker.stopping()) return;
    }
  }
}

void reply(Worker& worker) {
  Socket socket(nng_rep0_open, worker.options);
  worker.tally.allow_gaps();
  worker.ready(socket.bind(worker.options));
  while (!worker.stopping()) {
    nng_msg* const message = socket.receive();
    if (message == nullptr) continue;
    worker.tally.take(bytes_of(message));
    (void)socket.send_in_turn(message);
  }
}

// The answer to a request. A wait for it that times out, as on a machine that is busy, ends the
// request in nng, and another wait would be refused as "Incorrect state": so it is asked anew. Null
// if the measurement ends first.
nng_msg* answer_to_a_request(Worker& worker, Socket& socket, Stamp& stamp) {
  while (!worker.stopping()) {
    if (!socket.send_in_turn(next_message(worker.options, stamp))) continue;
    do {
      if (nng_msg* const message = socket.receive()) return message;
    } while (worker.options.wait != Wait::sleep && !worker.stopping());
  }
  return nullptr;
}

// In turns, as with every REQ and REP: an open loop's late request counts from its intended time.
void request(Worker& worker) {
  const Options& options = worker.options;
  Socket socket(nng_req0_open, options);
  socket.connect(options);
  worker.tally.allow_gaps();
  worker.ready();
  Stamp stamp(0, options.verify);
  const Pace pace(options.rate);
  for (std::uint64_t sent = 0; !worker.stopping(); ++sent) {
    const std::int64_t begin = pace.wait(sent, options.wait == Wait::sleep);
    nng_msg* const message = answer_to_a_request(worker, socket, stamp);
    if (message == nullptr) return;
    worker.round_trip(now_ns() - begin);
    worker.tally.take(bytes_of(message));
    nng_msg_free(message);
  }
}

// A message is its tag, which is what nng compares, and the payload.
constexpr std::size_t tag_bytes = sizeof(std::uint64_t);

nng_msg* tagged(std::uint64_t tag, std::size_t payload_bytes) {
  nng_msg* message = nullptr;
  check(nng_msg_alloc(&message, tag_bytes + payload_bytes), "nng_msg_alloc");
  std::memcpy(nng_msg_body(message), &tag, tag_bytes);
  return message;
}

// It is the receiver that compares; who gets this shows that the publisher knows of it.
void synchronize(Worker& worker, Socket& pub) {
  while (!worker.told_to_begin() && !worker.stopping()) {
    nng_msg* const message = tagged(sync_tag, 0);
    if (!pub.send(message)) nng_msg_free(message);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// What its queues may hold at most. What does not fit is lost, and nobody is told.
constexpr int messages_waiting_max = 8192;

void publish(Worker& worker) {
  const Options& options = worker.options;
  Socket pub(nng_pub0_open, options);
  pub.set(NNG_OPT_SENDBUF, messages_waiting_max);
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
      nng_msg* const message = tagged(tags[next], options.message_bytes);
      stamp.write(bytes_of(message).subspan(tag_bytes));
      stamp.advance();
      while (!pub.send(message)) {
        if (worker.stopping()) return;
      }
      sent.store(sent.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if (++next == tags.size()) next = 0;
    }
    if (paced) std::this_thread::sleep_for(Bursts::apart);
  }
}

void subscribe(Worker& worker) {
  const Options& options = worker.options;
  Subscribers subscribers(options);
  worker.on_snap([&subscribers](nlohmann::ordered_json& said) { subscribers.tell(said); });
  subscribers.run_apart(
      worker, [&](std::uint32_t number, Tally& tally, const std::function<void()>& subscribed) {
        tally.allow_gaps();
        Socket sub(nng_sub0_open, options);
        sub.set(NNG_OPT_RECVBUF, messages_waiting_max);
        for (const std::uint64_t tag : subscribed_tags(options.fanout, number)) sub.subscribe(tag);
        sub.subscribe(sync_tag);
        sub.connect(options);
        bool synchronized = false;
        while (!worker.stopping()) {
          nng_msg* const message = sub.receive();
          if (message == nullptr) continue;
          if (nng_msg_len(message) > tag_bytes) {
            tally.take(bytes_of(message).subspan(tag_bytes));
          } else if (!synchronized) {
            synchronized = true;
            subscribed();
          }
          nng_msg_free(message);
        }
      });
}

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
    case Role::publish:
      return publish(worker);
    case Role::subscribe:
      return subscribe(worker);
  }
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "nng", netio::bench::run,
                                   {.memory = true, .publishes = true});
}

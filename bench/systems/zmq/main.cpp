// ZeroMQ, used as its own performance programs use it: PUSH and PULL, REQ and REP, PUB and SUB, a
// message object each, default settings otherwise. Many requests under way: requests.cpp.
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "systems/zmq/requests.hpp"
#include "systems/zmq/socket.hpp"
#include "worker/bursts.hpp"
#include "worker/subscribers.hpp"
#include "worker/tags.hpp"
#include "worker/worker.hpp"

namespace netio::bench {

namespace {

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

// PULL to PUSH, by ZeroMQ's own proxy, which ends when its context is shut down.
void relay(Worker& worker, void* context) {
  if (worker.options.wait != Wait::sleep) throw std::invalid_argument("its proxy sleeps");
  Socket pull(context, ZMQ_PULL, worker.options);
  Socket push(context, ZMQ_PUSH, worker.options);
  // It sends what it has read, also while the receiver takes nothing for longer than a look-up.
  for (Socket* const socket : {&pull, &push}) {
    for (const int timeout : {ZMQ_RCVTIMEO, ZMQ_SNDTIMEO}) socket->set(timeout, -1);
  }
  Options there = worker.options;
  there.host = there.relay.host;
  there.port = there.relay.port;
  there.name = there.relay.name;
  push.connect(there);
  worker.on_stop([context] { zmq_ctx_shutdown(context); });
  worker.ready(pull.bind(worker.options));
  check(zmq_proxy(pull.get(), push.get(), nullptr) == 0 || worker.stopping(), "zmq_proxy");
  worker.join();
}

void run(Worker& worker) {
  // Two ends in one process meet in one context; it goes with the process.
  static void* const context = zmq_ctx_new();
  check(context != nullptr, "zmq_ctx_new");
  zmq_ctx_set(context, ZMQ_MAX_SOCKETS, static_cast<int>(worker.options.connections) + 16);
  if (const int threads = worker.options.relay.io_threads; threads != 0) {
    check(zmq_ctx_set(context, ZMQ_IO_THREADS, threads) == 0, "zmq_ctx_set");
  }
  switch (worker.options.role) {
    case Role::receive:
      receive(worker, context);
      break;
    case Role::send:
      send(worker, context);
      break;
    case Role::reply:
      worker.options.concurrent != 0 ? answer_many(worker, context) : reply(worker, context);
      break;
    case Role::request:
      worker.options.concurrent != 0 ? ask_many(worker, context) : request(worker, context);
      break;
    case Role::publish:
      publish(worker, context);
      break;
    case Role::subscribe:
      subscribe(worker, context);
      break;
    case Role::relay:
      relay(worker, context);
      break;
    case Role::build:
    case Role::readout:
    case Role::manage:
    case Role::node:
      break;  // refused before
  }
  if (!worker.options.both) zmq_ctx_term(context);
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(
      argc, argv, "zmq", netio::bench::run,
      {.memory = true, .publishes = true, .concurrent = true, .relays = true});
}

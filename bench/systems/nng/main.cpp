// nng: push0 and pull0, req0 and rep0, pub0 and sub0, a message object each, default settings
// otherwise. Many requests under way: requests.cpp.
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
#include <vector>

#include <nlohmann/json.hpp>

#include "systems/nng/requests.hpp"
#include "systems/nng/socket.hpp"
#include "worker/bursts.hpp"
#include "worker/subscribers.hpp"
#include "worker/tags.hpp"
#include "worker/worker.hpp"

namespace netio::bench {

namespace {

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
      return worker.options.concurrent != 0 ? answer_many(worker) : reply(worker);
    case Role::request:
      return worker.options.concurrent != 0 ? ask_many(worker) : request(worker);
    case Role::publish:
      return publish(worker);
    case Role::subscribe:
      return subscribe(worker);
    case Role::relay:
    case Role::build:
    case Role::readout:
    case Role::manage:
    case Role::node:
      return;  // refused before
  }
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "nng", netio::bench::run,
                                   {.memory = true, .publishes = true, .concurrent = true});
}

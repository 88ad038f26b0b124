// The same roles with calls that block: on the thread of the loop, and (queued) with the loop in a
// thread of its own at both ends.
#include <netio/blocking.hpp>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

// How soon an end that waits in vain sees that it is to stop.
constexpr std::chrono::milliseconds look_after{20};

template <class Pull>
void receive_all(Worker& worker, Pull& pull) {
  while (!worker.stopping()) {
    const blocking::Received received = pull.receive(look_after);
    if (received) worker.tally.take(received.message.bytes());
  }
}

template <class Push>
void send_all(Worker& worker, Push& push) {
  Ahead ahead(worker.options.connection_first, worker.options);
  while (!worker.stopping()) {
    if (push.send(ahead.next(), look_after) == Status::ok) ahead.advance();
  }
}

void reply_all(Worker& worker, blocking::Pair& pair) {
  while (!worker.stopping()) {
    const blocking::Received received = pair.receive(look_after);
    if (!received) continue;
    worker.tally.take(received.message.bytes());
    (void)pair.send(received.message.bytes(), std::chrono::seconds(1));
  }
}

void request_all(Worker& worker, blocking::Pair& pair) {
  Stamp stamp(0, worker.options.verify);
  std::vector<std::byte> message(worker.options.message_bytes);
  while (!worker.stopping()) {
    const std::int64_t sent_at = now_ns();
    stamp.write(message);
    if (pair.send(message, std::chrono::seconds(1)) != Status::ok) return;
    stamp.advance();
    const blocking::Received back = pair.receive(std::chrono::seconds(1));
    if (!back) return;
    const std::int64_t now = now_ns();
    worker.tally.take(back.message.bytes());
    worker.round_trip(now - sent_at);
  }
}

}  // namespace

void run_blocking(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  blocking::Pull pull(context, socket_options(options));
  blocking::Push push(context, socket_options(options));
  blocking::Pair pair(context, socket_options(options));
  switch (options.role) {
    case Role::receive:
      worker.ready(port_of(options, pull.bind(address_of(options))));
      receive_all(worker, pull);
      break;
    case Role::send:
      connect(context, push, options);
      worker.ready();
      send_all(worker, push);
      break;
    case Role::reply:
      worker.ready(port_of(options, pair.bind(address_of(options))));
      reply_all(worker, pair);
      break;
    default:
      connect(context, pair, options);
      worker.ready();
      request_all(worker, pair);
  }
  worker.join();
}

void run_queued(Worker& worker) {
  const Options& options = worker.options;
  const blocking::QueueOptions queue{context_options(options), socket_options(options)};
  if (options.role == Role::receive) {
    blocking::QueuedPull pull(queue);
    worker.ready(port_of(options, pull.bind(address_of(options))));
    receive_all(worker, pull);
  } else {
    blocking::QueuedPush push(queue);
    push.connect(address_of(options));
    worker.ready();
    send_all(worker, push);
  }
  worker.join();
}

}  // namespace netio::bench

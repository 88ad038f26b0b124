// The same roles as coroutines.
#include <algorithm>

#include <netio/coroutine.hpp>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

Task<> receive_all(Worker& worker, co::Pull& pull) {
  while (true) {
    const co::Received received = co_await pull.receive();
    if (received.status == Status::closed) co_return;
    if (received) worker.tally.take(received->bytes());
  }
}

// The loop and the order to stop get their turn as often as with call-backs.
Task<> send_all(Worker& worker, Context& context, co::Push& push) {
  Ahead ahead(worker.options.connection_first, worker.options);
  const std::size_t in_turn = std::max<std::size_t>(1, bytes_in_turn / ahead.message_bytes());
  while (!worker.stopping()) {
    for (std::size_t i = 0; i < in_turn; ++i) {
      if (co_await push.send(ahead.next()) != Status::ok) co_return;
      ahead.advance();
    }
    co_await co::sleep(context.loop(), std::chrono::nanoseconds(0));
  }
}

Task<> reply_all(Worker& worker, co::Pair& pair) {
  while (const co::Received received = co_await pair.receive()) {
    worker.tally.take(received->bytes());
    if (co_await pair.send(received->bytes()) != Status::ok) co_return;
  }
}

Task<> request_all(Worker& worker, co::Pair& pair) {
  Stamp stamp(0, worker.options.verify);
  std::vector<std::byte> message(worker.options.message_bytes);
  while (true) {
    const std::int64_t sent_at = now_ns();
    stamp.write(message);
    if (co_await pair.send(message) != Status::ok) co_return;
    stamp.advance();
    const co::Received back = co_await pair.receive();
    if (!back) co_return;
    const std::int64_t now = now_ns();
    worker.tally.take(back->bytes());
    worker.round_trip(now - sent_at);
  }
}

}  // namespace

void run_coroutine(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  co::Pull pull(context, socket_options(options));
  co::Push push(context, socket_options(options));
  co::Pair pair(context, socket_options(options));
  switch (options.role) {
    case Role::receive:
      worker.ready(port_of(options, pull.bind(address_of(options))));
      spawn(context, receive_all(worker, pull));
      break;
    case Role::send:
      connect(context, push, options);
      worker.ready();
      spawn(context, send_all(worker, context, push));
      break;
    case Role::reply:
      worker.ready(port_of(options, pair.bind(address_of(options))));
      spawn(context, reply_all(worker, pair));
      break;
    default:
      connect(context, pair, options);
      worker.ready();
      spawn(context, request_all(worker, pair));
  }
  context.run();
  worker.join();
}

}  // namespace netio::bench

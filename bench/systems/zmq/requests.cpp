// REQ has one request under way, so DEALER asks and ROUTER answers. A request is one part, without
// the empty one that REQ and REP would need: ROUTER adds a part that says where it came from, and
// takes that part back with the answer. No bound on what waits: ROUTER drops answers beyond it.
#include "systems/zmq/requests.hpp"

#include "systems/zmq/socket.hpp"

namespace netio::bench {

namespace {

void unbound(Socket& socket) {
  socket.set(ZMQ_SNDHWM, 0);
  socket.set(ZMQ_RCVHWM, 0);
}

}  // namespace

void answer_many(Worker& worker, void* context) {
  Socket router(context, ZMQ_ROUTER, worker.options);
  unbound(router);
  worker.ready(router.bind(worker.options));
  Message from;
  Message message;
  while (!worker.stopping()) {
    // The parts of a message are there together.
    if (!router.receive(from) || !router.receive(message)) continue;
    worker.tally.take(message.bytes());
    while (!router.send_part(from) && !worker.stopping()) {
    }
    while (!router.send(message) && !worker.stopping()) {
    }
  }
}

void ask_many(Worker& worker, void* context) {
  const Options& options = worker.options;
  Socket dealer(context, ZMQ_DEALER, options);
  unbound(dealer);
  dealer.connect(options);
  worker.ready();
  Stamp stamp(0, options.verify);
  Message answer;
  std::uint32_t left = options.concurrent;
  while (!worker.stopping()) {
    for (; left > 0 && !worker.stopping(); --left) {
      Message message(options.message_bytes);
      stamp.write(message.bytes());
      stamp.advance();
      while (!dealer.send(message) && !worker.stopping()) {
      }
    }
    if (!dealer.receive(answer)) continue;
    worker.tally.take(answer.bytes());
    ++left;
  }
}

}  // namespace netio::bench

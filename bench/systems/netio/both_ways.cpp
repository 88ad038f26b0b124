// Both ways at once: two ends of a Pair, each of which sends as fast as it is let and counts what
// comes.
#include <vector>

#include "systems/netio/netio.hpp"
#include "systems/netio/sender.hpp"

namespace netio::bench {

void exchange(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  std::vector<Sender<Pair>*> ready;
  Sender<Pair> sender(context, options, 0, ready);
  sender.socket().on_message(
      [&worker](const MessageView& message) { worker.tally.take(message.bytes()); });
  if (options.role == Role::receive) {
    worker.ready(port_of(options, sender.socket().bind(address_of(options))));
  } else {
    sender.socket().connect(address_of(options));
    await_peer(context, sender.socket());
    worker.ready();
  }
  send_on(worker, context, ready);
  worker.join();
}

}  // namespace netio::bench

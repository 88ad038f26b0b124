// Receives from one connection or many, and gives back credit for what it has posted again.
#include "systems/fabric/doorman.hpp"
#include "systems/fabric/fabric.hpp"
#include "systems/fabric/rest.hpp"
#include "systems/fabric/window.hpp"

namespace netio::bench::fabric {

void receive(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Window window(options);
  Device device(options, {.receives = window.messages,
                          .receive_bytes = options.message_bytes,
                          .sends = window.credit_messages,
                          .send_bytes = Window::credit_bytes});
  Doorman doorman(device, options.connections, window.messages);
  worker.ready(doorman.port());
  Rest rest(worker, device, stop);
  while (!worker.stopping()) {
    const std::span<const Completion> completions = device.completions.read();
    for (const Completion& completion : completions) {
      Connection& connection = *completion.slot->connection;
      worker.tally.take({completion.slot->bytes, completion.bytes});
      connection.post_receive(*completion.slot);
      if (++connection.received_since_credit < window.credits_each) continue;
      connection.received_since_credit = 0;
      connection.send(connection.send_bytes(0), Window::credit_bytes);
    }
    if (doorman.waits() || rest.events_due()) doorman.take_events();
    rest.after(completions.size());
  }
  worker.join();
}

}  // namespace netio::bench::fabric

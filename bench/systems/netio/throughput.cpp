// One way: a Pull that counts, and Pushes that send as fast as they are let.
#include <memory>
#include <vector>

#include "systems/netio/netio.hpp"
#include "systems/netio/sender.hpp"

namespace netio::bench {

// Bare sockets: one, as two and the copies that the kernel makes of them do not fit a cache of 2
// MiB; but more if one comes back only when it is acknowledged. A fabric: its window, or as many as
// its ring has slots.
std::size_t lent_messages(const Options& options) {
  if (options.provider.empty()) return options.api == "resume" ? 4 : 1;
  constexpr std::size_t bytes_under_way = 4U << 20U;
  if (options.window != 0) return options.window;
  if (options.slots != 0) return options.slots;
  return std::clamp<std::size_t>(bytes_under_way / options.message_bytes, 2, 64);
}

void receive(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pull pull(context, socket_options(worker.options));
  pull.on_message([&worker](const MessageView& message) { worker.tally.take(message.bytes()); });
  worker.ready(port_of(worker.options, pull.bind(address_of(worker.options))));
  run(worker.options, context);
  worker.join();
}

void send(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  std::vector<Sender<Push>*> ready;
  std::vector<std::unique_ptr<Sender<Push>>> senders;
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    senders.push_back(
        std::make_unique<Sender<Push>>(context, options, options.connection_first + i, ready));
    senders.back()->socket().connect(address_of(options));
  }
  for (const auto& sender : senders) await_peer(context, sender->socket());
  worker.ready();
  if (options.idle) context.run();
  send_on(worker, context, ready);
  worker.join();
}

}  // namespace netio::bench

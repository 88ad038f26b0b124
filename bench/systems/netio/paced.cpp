// One way, one message at a time, at a rate: each message finds both ends idle, and is timed.
#include <algorithm>
#include <chrono>
#include <vector>

#include "base/point.hpp"
#include "systems/netio/netio.hpp"
#include "systems/netio/timed.hpp"

namespace netio::bench {

void send_paced(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  Push push(context, socket_options(options));
  connect(context, push, options);

  const auto interval = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / options.rate));
  Stamp stamp(0, options.verify);
  std::vector<std::byte> message(options.message_bytes);
  bool refused = false;
  Timer timer(context.loop(), [&] {
    if (!refused) NETIO_POINT(begin);
    stamp.write(message);
    if (message.size() >= timed_bytes_min && !refused) write_time(message);
    NETIO_POINT(send);
    refused = push.send(message) != Status::ok;
    NETIO_POINT(sent);
    if (!refused) stamp.advance();
    timer.start_once(interval);  // from now on, so that a late one is not followed by a burst
  });
  worker.ready();
  timer.start_once(interval);
  run(options, context);
  worker.join();
}

// The time goes to the end of the call-back.
void receive_paced(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pull pull(context, socket_options(worker.options));
  pull.on_message([&worker](const MessageView& message) {
    worker.tally.take(message.bytes());
    NETIO_POINT(end);
    if (message.size() >= timed_bytes_min) {
      worker.round_trip(now_ns() - read_time(message.bytes()));
    }
  });
  worker.ready(port_of(worker.options, pull.bind(address_of(worker.options))));
  run(worker.options, context);
  worker.join();
}

}  // namespace netio::bench

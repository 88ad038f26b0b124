// Requests and replies over a Pair.
#include <utility>
#include <vector>

#include "systems/netio/netio.hpp"

namespace netio::bench {

void reply(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pair pair(context, socket_options(worker.options));
  Message refused;  // the reply that could not be sent; nothing more is taken before it is
  pair.on_message([&](const MessageView& message) {
    worker.tally.take(message.bytes());
    if (pair.send(message.bytes()) == Status::ok) return;
    refused = message.keep();
    pair.pause();
  });
  pair.on_writable([&] {
    if (pair.send(std::move(refused)) == Status::ok) pair.resume();
  });
  worker.ready(port_of(worker.options, pair.bind(address_of(worker.options))));
  run(worker.options, context);
  worker.join();
}

void request(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  Pair pair(context, socket_options(options));
  Stamp stamp(0, options.verify);
  std::vector<std::byte> message(options.message_bytes);
  Pace pace(options.rate);
  std::uint64_t sent = 0;
  std::uint64_t returned = 0;
  std::int64_t sent_at = 0;
  const auto send_one = [&] {
    stamp.write(message);
    if (pair.send(message) != Status::ok) return;  // open loop: its time goes on
    stamp.advance();
    ++sent;
  };
  const auto send_next = [&] {
    sent_at = now_ns();
    send_one();
  };
  Timer timer(context.loop(), [&] {
    while (pace.at(sent) <= now_ns() && sent - returned < Worker::requests_under_way_max) {
      const std::uint64_t before = sent;
      send_one();
      if (sent == before) break;
    }
    timer.start_once(std::chrono::nanoseconds(std::max<std::int64_t>(0, pace.at(sent) - now_ns())));
  });
  pair.on_message([&](const MessageView& back) {
    const std::int64_t now = now_ns();
    worker.tally.take(back.bytes());
    worker.round_trip(now - (pace.open_loop() ? pace.at(returned) : sent_at));
    ++returned;
    if (!pace.open_loop()) send_next();
  });
  bool up = false;
  pair.on_up([&up](const PeerInfo&) { up = true; });
  pair.connect(address_of(options));
  while (!up) context.loop().run_once(std::chrono::seconds(1));
  worker.ready();
  pace = Pace(options.rate);  // from now on
  if (pace.open_loop()) {
    timer.start_once(std::chrono::nanoseconds(0));
  } else {
    send_next();
  }
  run(options, context);
  worker.join();
}

}  // namespace netio::bench

// A read-out unit: has a fragment of each of 1000 events, and sends it to the builder of the event.
// readout_unit SOURCE ADDRESS...: the addresses of all builders. There are two sources, 0 and 1.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  if (argc < 3) return std::fputs("readout_unit SOURCE ADDRESS...\n", stderr), 2;
  netio::Context context;
  netio::ReadoutOptions options;
  options.plan.sources = 2;
  options.plan.builders = static_cast<std::uint32_t>(argc - 2);
  options.source = static_cast<std::uint32_t>(std::atoi(argv[1]));
  netio::ReadoutUnit unit(context, options);
  netio::EventId event{1, 0};  // run 1, from event 0 on
  const auto send_on = [&] {
    for (; event.number < 1000; event = event.next()) {
      const std::string fragment = "hits of event " + std::to_string(event.number);
      if (unit.send(event, std::as_bytes(std::span(fragment))) != netio::Status::ok) return;
    }
    unit.advance(netio::end_of_run(1));  // builders need not wait for more
    unit.finish(std::chrono::minutes(1), [&] { context.stop(); });
  };
  unit.on_room(send_on);  // after a refusal: the store was full, and has room again
  unit.on_refused([](auto, auto why) { std::fprintf(stderr, "%s\n", std::string(why).c_str()); });
  unit.on_down([](auto, auto&, auto& down) { std::fprintf(stderr, "%s\n", down.detail.c_str()); });
  for (int i = 2; i < argc; ++i) unit.connect(static_cast<std::uint32_t>(i - 2), argv[i]);
  send_on();
  context.run();
  std::printf("%zu sent, %zu settled\n", unit.books().sent, unit.books().settled);
  return unit.books().settled == unit.books().sent ? 0 : 1;
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

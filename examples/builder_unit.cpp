// A builder unit: makes events of the fragments of two read-out units, until both have ended.
// builder_unit ADDRESS NUMBER BUILDERS: its own number, from 0 on, and how many builders there are.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  if (argc < 4) return std::fputs("builder_unit ADDRESS NUMBER BUILDERS\n", stderr), 2;
  netio::Context context;
  netio::BuilderOptions options;
  options.plan.sources = 2;
  options.plan.builders = static_cast<std::uint32_t>(std::atoi(argv[3]));
  options.builder = static_cast<std::uint32_t>(std::atoi(argv[2]));
  options.deadline = std::chrono::seconds(10);  // the units may be started by hand
  netio::BuilderUnit builder(context, options);
  builder.on_event([](const netio::Event& event) {
    if (event.id().number == 0) std::printf("event 0: %zu bytes\n", event.bytes());
    for (std::size_t source = 0; source < event.size(); ++source) {
      if (event[source].missing == netio::Missing::no) continue;
      const std::string why(to_string(event[source].missing));
      std::printf("event %zu, source %zu: %s\n", event.id().number, source, why.c_str());
    }
  });
  std::size_t ended = 0;
  builder.on_down([&](std::uint32_t, const netio::PeerInfo&, const netio::Down& down) {
    if (down.reason == netio::DownReason::closed_by_peer) ++ended;  // else it may come back
    if (ended == 2) builder.close(std::chrono::seconds(1), [&] { context.stop(); });
  });
  std::printf("building at %s\n", builder.bind(argv[1]).c_str());
  std::fflush(stdout);
  context.run();
  std::printf("%zu complete, %zu incomplete\n", builder.books().complete,
              builder.books().incomplete);
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// A monitor: asks a builder (examples/reply.cpp) for its state, once a second, three times.
#include <chrono>
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  netio::Context context;
  netio::Request request(context);
  int asked = 0;
  netio::Timer next(context.loop(), [&] {
    std::uint64_t id = 0;
    // Nobody waits for an answer that is later than a second.
    const netio::Status status = request.send("state?", id, {.within = 1s});
    if (status != netio::Status::ok)
      std::printf("not asked: %s\n", std::string(to_string(status)).c_str());
  });
  const auto go_on = [&] {
    if (++asked == 3) context.close();
  };
  request.on_reply([&](std::uint64_t, const netio::MessageView& answer) {
    std::printf("%s\n", std::string(answer.text()).c_str());
    go_on();
  });
  request.on_failed([&](std::uint64_t, netio::Outcome outcome) {
    std::printf("no answer: %s\n", std::string(to_string(outcome)).c_str());
    go_on();
  });
  request.on_up([&](const netio::PeerInfo&) { next.start_periodic(1s); });
  request.on_down([](auto&, auto& down) { std::fprintf(stderr, "%s\n", down.detail.c_str()); });
  request.connect(argc > 1 ? argv[1] : "tcp://localhost:5555");
  context.run();
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

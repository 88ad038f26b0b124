// Back-pressure: send until "again", save where you are, go on when called. Nothing ever blocks.
#include <chrono>
#include <cstdio>
#include <vector>

#include <netio/netio.hpp>

int main() {
  netio::Context context;
  netio::Push push(context);
  netio::Pull pull(context);
  const std::vector<std::byte> item(10'000);
  constexpr std::size_t available = 20'000;
  std::size_t next = 0;  // the state
  int refusals = 0;

  const auto on_data_available = [&] {
    for (; next < available; ++next) {
      if (push.send(item) != netio::Status::ok) {
        ++refusals;
        return;  // to be continued, at `next`
      }
    }
    push.close();
  };
  push.on_writable(on_data_available);
  push.on_high_watermark([] { std::puts("nearly full: time to raise busy"); });
  push.on_closed([&](const netio::Books& books) {
    std::printf("%zu delivered, refused %d times\n", books.acknowledged, refusals);
    context.stop();
  });
  // A receiver that is busy with something else for a while.
  pull.on_message([](const netio::MessageView&) {});
  pull.pause();
  netio::Timer rest(context.loop(), [&] { pull.resume(); });
  rest.start_once(std::chrono::milliseconds(100));
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  on_data_available();
  context.run();
}

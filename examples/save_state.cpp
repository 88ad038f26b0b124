// "Save state and continue" in one line: examples/back_pressure.cpp as a coroutine. Where it waits,
// its variables are the state, and the loop goes on with everything else.
#include <chrono>
#include <cstdio>
#include <vector>

#include <netio/coroutine.hpp>

namespace {

netio::Task<> send_available(netio::Context& context, netio::co::Push& push) {
  const std::vector<std::byte> item(10'000);
  constexpr int available = 20'000;
  for (int next = 0; next < available; ++next) {
    if (co_await push.send(item) != netio::Status::ok) co_return;  // to be continued, at `next`
  }
  const netio::Books books = co_await push.close();
  std::printf("%zu delivered, refused %zu times\n", books.acknowledged, push.counters().agains);
  context.stop();
}

netio::Task<> receive_later(netio::Context& context, netio::co::Pull& pull) {
  const auto busy = std::chrono::milliseconds(100);
  co_await netio::co::sleep(context.loop(), busy);
  while (co_await pull.receive()) {
  }
}

}  // namespace

int main() {
  netio::Context context;
  netio::co::Push push(context);
  netio::co::Pull pull(context);
  push.on_high_watermark([] { std::puts("nearly full: time to raise busy"); });
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  netio::spawn(context, receive_later(context, pull));
  netio::spawn(context, send_available(context, push));
  context.run();
}

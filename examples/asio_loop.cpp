// netio inside Asio: a timer of Asio's, and sockets of netio's, in one thread without a lock.
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>
#include <functional>

#include <netio/asio.hpp>
#include <netio/netio.hpp>

int main() {
  asio::io_context io(1);
  netio::Context context;
  netio::AsioDriver driver(io, context);
  netio::Push push(context);
  netio::Pull pull(context);
  pull.on_message(
      [](const netio::MessageView& message) { std::printf("got %zu bytes\n", message.size()); });
  push.on_closed([&](const netio::Books& books) {
    std::printf("%zu delivered\n", books.acknowledged);
    driver.stop();  // the io_context has nothing left to wait for, and run() returns
  });
  push.connect(pull.bind("tcp://127.0.0.1:0"));

  asio::steady_timer timer(io);
  const std::function<void()> send_later = [&] {
    timer.expires_after(std::chrono::milliseconds(10));
    timer.async_wait([&](auto) {
      if (push.send("hello") != netio::Status::ok) return send_later();  // not connected yet
      push.close();
    });
  };
  send_later();
  io.run();
}

// Writes events where their reader finds them: through shared memory nobody copies a loan.
#include <algorithm>
#include <cstdio>
#include <utility>

#include <netio/netio.hpp>

int main() {
  constexpr int events = 10;
  netio::Context context;
  netio::Push push(context);
  netio::Pull pull(context);  // in another process it would be the same
  netio::Message event;       // written, and not sent so far
  int sent = 0;

  const auto send_events = [&] {
    for (; sent < events; ++sent) {
      if (!event) {
        netio::Status status{};
        event = push.allocate(std::size_t{16} << 20U, status);
        if (status != netio::Status::ok) return;
        std::ranges::fill(event.writable_bytes(), static_cast<std::byte>(sent));
      }
      if (push.send(std::move(event)) != netio::Status::ok) return;  // it is still ours
    }
    push.close();
  };
  push.on_writable(send_events);  // after "again", or "not connected"
  push.on_closed([&](const netio::Books& books) {
    std::printf("%zu delivered\n", books.acknowledged);
    context.stop();
  });
  pull.on_message([](const netio::MessageView& message) {
    const int number = static_cast<int>(message.bytes().back());
    std::printf("event %d: %zu MiB\n", number, message.size() >> 20U);
  });
  push.connect(pull.bind("shm://*"));
  send_events();
  context.run();
}

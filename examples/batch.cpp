// Receives a page of messages with one call: less cost per message, and a chance to work on many.
#include <cstdio>
#include <cstring>

#include <netio/netio.hpp>

int main() {
  netio::Context context;
  netio::Push push(context);
  netio::Pull pull(context);
  constexpr std::uint64_t total = 100'000;
  std::uint64_t batches = 0;
  std::uint64_t messages = 0;
  std::uint64_t sum = 0;

  pull.on_batch([&](const netio::Batch& batch) {
    ++batches;
    messages += batch.size();
    for (const netio::MessageView message : batch) {
      std::uint64_t number = 0;
      std::memcpy(&number, message.data(), sizeof number);
      sum += number;
    }
    if (messages < total) return;
    std::printf("%zu messages in %zu batches, sum %zu\n", messages, batches, sum);
    context.stop();
  });
  std::uint64_t next = 0;
  const auto send_on = [&] {
    while (next < total && push.send(std::as_bytes(std::span(&next, 1))) == netio::Status::ok) {
      ++next;
    }
  };
  push.on_writable(send_on);
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  send_on();
  context.run();
}

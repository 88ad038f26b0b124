// Coroutines: sending and receiving written one after the other, on one thread, with nothing
// blocked.
#include <chrono>
#include <cstdio>
#include <string>

#include <netio/coroutine.hpp>

namespace {

netio::Task<> receive(netio::co::Pull& pull) {
  while (const netio::co::Received received = co_await pull.receive()) {
    std::printf("%s\n", std::string(received->text()).c_str());
  }
  std::puts("the sender has gone");  // or this socket was closed: received.status says which
}

netio::Task<> send(netio::Context& context, std::string address) {
  netio::co::Push push(context);
  push.connect(address);
  for (int i = 0; i < 3; ++i) {
    if (co_await push.send("event " + std::to_string(i)) != netio::Status::ok) co_return;
    co_await netio::co::sleep(context.loop(), std::chrono::milliseconds(5));
  }
  const netio::Books books = co_await push.close();
  std::printf("%zu delivered\n", books.acknowledged);
  context.stop();
}

}  // namespace

int main() {
  netio::Context context;
  netio::co::Pull pull(context);
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  netio::spawn(context, receive(pull));
  netio::spawn(context, send(context, address));
  context.run();
}

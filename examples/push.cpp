// Sends a thousand messages to whoever pulls at the address given.
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::Push push(context);
  int next = 0;
  const auto send_on = [&] {
    while (next < 1000 && push.send("event " + std::to_string(next)) == netio::Status::ok) ++next;
    if (next == 1000) context.close();  // run() returns when everything has been delivered
  };
  push.on_writable(send_on);  // after a refusal: a receiver came, or has room again
  push.on_down([](auto&, auto& down) { std::fprintf(stderr, "%s\n", down.detail.c_str()); });
  push.connect(argc > 1 ? argv[1] : "tcp://localhost:5555");
  send_on();  // answers "not connected" now; on_writable goes on
  context.run();
  std::printf("%zu of %d delivered\n", push.books().acknowledged, next);
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

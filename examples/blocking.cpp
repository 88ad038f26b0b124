// Blocking calls with time limits: a thread that only waits, and one with a loop and a queue beside
// it.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <netio/blocking.hpp>

int main() try {
  using namespace std::chrono_literals;
  netio::Context context;
  netio::blocking::Pull pull(context);  // this thread turns its loop while it waits
  const std::string address = pull.bind("tcp://127.0.0.1:0");

  std::thread sender([&address] {
    netio::blocking::QueuedPush push;  // has a thread of its own, and a queue to it
    push.connect(address);
    for (int i = 0; i < 3; ++i) {
      if (push.send("event " + std::to_string(i), 1s) != netio::Status::ok) std::puts("full");
    }
    std::printf("%zu delivered\n", push.close(5s).acknowledged);
  });
  int late = 0;
  while (true) {
    const netio::blocking::Received received = pull.receive(100ms);
    if (received) {
      std::printf("%s\n", std::string(received.message.text()).c_str());
    } else if (received.status != netio::Status::again || ++late == 100) {
      break;  // the sender has gone, or does not come
    }
  }
  pull.close();
  sender.join();
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

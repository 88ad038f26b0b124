// Timers, a signal from another thread, POSIX signals and a descriptor: all events of one loop.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

#include <netio/netio.hpp>

int main() {
  using namespace std::chrono_literals;
  netio::Loop loop;  // a Context has one: context.loop()
  // Before threads are started, so that none of them takes the signal.
  netio::PosixSignals interrupt(loop, {SIGINT, SIGTERM}, [&](int number) {
    std::printf("signal %d, ending\n", number);
    loop.stop();
  });
  int count = 3;
  netio::Timer timer(loop, [&] {
    std::printf("%d\n", count);
    if (--count == 0) std::raise(SIGINT);  // as Ctrl-C would
  });
  timer.start_periodic(10ms);

  netio::Signal signal(loop, [] { std::puts("a thread has done its work"); });
  std::thread thread([&] { signal.notify(); });

  int ends[2];
  if (pipe(ends) != 0) return 1;
  netio::Watch watch(loop, ends[0], EPOLLIN, [&](std::uint32_t) {
    char text[16] = {};
    if (read(ends[0], text, sizeof text - 1) > 0) std::printf("the pipe says %s\n", text);
  });
  if (write(ends[1], "hello", 5) != 5) return 1;
  loop.run();
  thread.join();
}

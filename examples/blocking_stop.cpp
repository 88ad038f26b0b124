// Ctrl-C ends a receive() that waits: the signal is an event of the loop that receive() turns, and
// closes the socket.
#include <csignal>
#include <cstdio>
#include <string>

#include <netio/blocking.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::blocking::Pull pull(context);
  // Inside a call-back close() does not wait; receive() answers closed when it is done.
  netio::PosixSignals interrupt(context.loop(), {SIGINT, SIGTERM}, [&](int) { pull.close(); });
  std::printf("pulling at %s\n", pull.bind(argc > 1 ? argv[1] : "tcp://*:5555").c_str());
  std::fflush(stdout);
  while (true) {
    const netio::blocking::Received received = pull.receive();
    if (received) {
      std::printf("%s\n", std::string(received.message.text()).c_str());
    } else if (received.status == netio::Status::not_connected) {
      std::printf("%s\n", received.gone->down.detail.c_str());
    } else {
      break;  // closed
    }
  }
  std::printf("%zu messages\n", pull.books().delivered);
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

// A builder: answers whoever asks for its state (examples/request.cpp), until Ctrl-C.
#include <csignal>
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::Reply reply(context);
  int events = 0;
  netio::Timer build(context.loop(), [&] { ++events; });
  build.start_periodic(std::chrono::milliseconds(1));
  reply.on_request([&](const netio::MessageView& request, netio::ReplyTo to) {
    // What is not answered here is told to the requester when `to` is destroyed. It may also be
    // kept, and answered later.
    if (request.text() != "state?") return;
    const std::string state = "running, " + std::to_string(events) + " events built";
    const netio::Status status = to.send(state);
    if (status != netio::Status::ok)
      std::printf("not sent: %s\n", std::string(to_string(status)).c_str());
  });
  const std::string address = reply.bind(argc > 1 ? argv[1] : "tcp://*:5555");
  std::printf("answering at %s\n", address.c_str());
  std::fflush(stdout);
  netio::PosixSignals interrupt(context.loop(), {SIGINT, SIGTERM}, [&](int) { context.close(); });
  context.run();
  const netio::ReplyBooks books = reply.requests();
  std::printf("%zu requests, %zu answered\n", books.requests, books.answered);
} catch (const netio::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

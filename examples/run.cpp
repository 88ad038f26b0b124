// A source that tells every receiver when its run starts and ends, in order with the data.
#include <cstdio>
#include <string>

#include <netio/netio.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::SocketOptions options;
  options.resume_bytes_max = 8U << 20U;  // what is under way when a connection breaks comes again
  netio::Push push(context, options);
  const int receivers = argc - 1;  // their addresses are the arguments
  int next = 0;
  bool started = false, ended = false;
  std::size_t away = 0;
  const auto tell = [&](const char* what) {
    const netio::ToAll told = push.send_to_all(what);
    if (told.status != netio::Status::ok) return false;  // nobody got it: on_writable follows
    std::printf("%s: %zu told, %zu away\n", what, told.peers, told.away);
    away += told.away;
    return true;
  };
  const auto go_on = [&] {
    if (push.peers_connected() < std::size_t(receivers) && !started) return;  // all are there first
    if (!started && !(started = tell("run 42 starts"))) return;
    while (next < 1000 && push.send("event " + std::to_string(next)) == netio::Status::ok) ++next;
    if (next < 1000 || ended || !(ended = tell("run 42 ends"))) return;
    context.close();  // run() returns when everything has been delivered
  };
  push.on_up([&](const netio::PeerInfo&) { go_on(); });
  push.on_writable(go_on);
  for (int i = 1; i <= receivers; ++i) push.connect(argv[i]);
  context.run();
  const netio::Books books = push.books();
  std::printf("%zu of %zu delivered\n", books.acknowledged, books.sent);
  return away == 0 && books.acknowledged == books.sent ? 0 : 1;
} catch (const netio::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 2;
}

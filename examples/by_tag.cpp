// Work that is spread over workers by a key: the same key goes to the same worker, in order, so
// each worker keeps the state of its keys to itself.
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include <netio/netio.hpp>

int main() {
  netio::Context context;
  netio::SocketOptions options;
  options.distribute = netio::Distribute::by_tag;
  netio::Push push(context, options);
  constexpr std::size_t total = 100'000;
  std::size_t done = 0;
  std::size_t sent = 0;
  struct Worker {
    std::unique_ptr<netio::Pull> pull;
    std::map<std::uint64_t, int> count;  // of its keys alone
  };
  std::vector<Worker> workers(3);

  const auto send_on = [&] {
    if (push.peers_connected() < workers.size()) return;
    while (sent < total && push.send("work", sent % 1000) == netio::Status::ok) ++sent;
  };
  for (Worker& worker : workers) {
    worker.pull = std::make_unique<netio::Pull>(context);
    worker.pull->on_message([&](const netio::MessageView& message) {
      ++worker.count[message.tag()];
      if (++done == total) context.stop();
    });
    push.connect(worker.pull->bind("tcp://127.0.0.1:0"));
  }
  push.on_up([&](const netio::PeerInfo&) { send_on(); });
  push.on_writable(send_on);
  context.run();
  for (const Worker& worker : workers) std::printf("%zu keys\n", worker.count.size());
}

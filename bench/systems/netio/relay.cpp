// The stage between two wires: forward() from a Pull to a Push. --api released: the same, and it
// acknowledges what the receiver has acknowledged, as `netio relay` does. --api own: it sends
// memory of its own for each message that comes, which is what passing it on in place is held
// against.
#include <future>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <netio/forward.hpp>

#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

// Takes messages, and lends as many of its own.
class OwnMemory {
 public:
  OwnMemory(Pull& pull, Push& push, const Options& options)
      : pull_(pull),
        push_(push),
        stamp_(0, options.verify),
        messages_(lent_messages(receiver_of(options))),
        free_(messages_.size()) {
    for (std::vector<std::byte>& message : messages_) message.resize(options.message_bytes);
    pull.on_message([this](const MessageView&) {
      ++owed_;
      send_some();
    });
    push.on_writable([this] { send_some(); });
    push.on_released([this](std::uint64_t) {
      ++free_;
      send_some();
    });
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

 private:
  void send_some() {
    while (owed_ != 0 && free_ != 0) {
      std::vector<std::byte>& message = messages_[next_];
      stamp_.write(message);
      if (push_.lend(message, next_) != Status::ok) break;
      stamp_.advance();
      --owed_;
      --free_;
      next_ = (next_ + 1) % messages_.size();
    }
    if (pull_.paused() == (owed_ != 0)) return;
    owed_ != 0 ? pull_.pause() : pull_.resume();
  }

  Pull& pull_;
  Push& push_;
  Stamp stamp_;
  std::vector<std::vector<std::byte>> messages_;  // in turn, as they come back in order
  std::size_t next_ = 0;
  std::size_t free_;
  std::size_t owed_ = 0;  // messages that came, and for which none was sent yet
};

// What both sockets of the relay have counted, in the thread that asks: the loop gathers it.
void tell_counters(nlohmann::ordered_json& said, Context& context, const Pull& pull,
                   const Push& push) {
  std::promise<nlohmann::ordered_json> gathered;
  context.loop().post([&] {
    const Counters in = pull.counters();
    const Counters out = push.counters();
    gathered.set_value({{"messages", push.books().sent},
                        {"copies", in.copies + out.copies},
                        {"bytes_copied", in.bytes_copied + out.bytes_copied},
                        {"pages_in", in.pages_received},
                        {"pages_out", out.pages_sent},
                        {"agains", out.agains}});
  });
  said.update(gathered.get_future().get());
}

}  // namespace

void relay(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  SocketOptions input = socket_options(options);
  if (options.api == "released") input.acknowledge = Acknowledge::released;
  Pull pull(context, input);
  Push push(context, socket_options(options));
  worker.on_snap([&](nlohmann::ordered_json& said) { tell_counters(said, context, pull, push); });
  connect(context, push, receiver_of(options));
  Forward passing;
  std::optional<OwnMemory> own;
  if (options.api == "own") {
    own.emplace(pull, push, options);
  } else {
    passing = forward(pull, push);
  }
  worker.ready(port_of(options, pull.bind(address_of(options))));
  run(options, context);
  worker.join();
}

}  // namespace netio::bench

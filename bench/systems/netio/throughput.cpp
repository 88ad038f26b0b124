// One way: a Pull that counts, and Pushes that send as fast as they are let.
#include <algorithm>
#include <memory>
#include <vector>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

// Of a message that is sent as a head and a body; a multiple of 8, so that nothing stands between.
constexpr std::size_t head_bytes_of(std::size_t message_bytes) {
  return std::min<std::size_t>(64, message_bytes / 16 * 8);
}

class Sender {
 public:
  // It is in `ready` whenever it can send.
  Sender(Context& context, const Options& options, std::uint32_t number,
         std::vector<Sender*>& ready)
      : push_(context, socket_options(options)),
        ahead_(number, options),
        stamp_(number, options.verify),
        segments_(options.api == "segments"),
        gathers_(options.api == "gathered"),
        lends_(!options.buffered && options.name.empty() &&
               options.message_bytes >= lent_bytes_min),
        messages_(lends_ ? lent_messages(options) : 0),
        gathered_(messages_.size()),
        free_(messages_.size()),
        in_turn_(std::max<std::size_t>(1, bytes_in_turn / options.message_bytes)) {
    for (std::vector<std::byte>& message : messages_) message.resize(options.message_bytes);
    push_.on_up([this, &ready](const PeerInfo&) {
      connected_ = true;
      ready.push_back(this);
    });
    push_.on_writable([this, &ready] { ready.push_back(this); });
    push_.on_released([this, &ready](std::uint64_t) {
      if (free_++ == 0) ready.push_back(this);
    });
    push_.connect(address_of(options));
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  [[nodiscard]] bool connected() const noexcept { return connected_; }

  // False once the socket takes no more: it is in `ready` again when it does.
  bool send_some() {
    if ((segments_ || gathers_) && !lends_) return send_some_pieces();
    for (std::size_t i = 0; i < in_turn_; ++i) {
      if (!(lends_ ? lend() : copy())) return false;
    }
    return true;
  }

 private:
  bool copy() {
    if (push_.send(ahead_.next()) != Status::ok) return false;
    ahead_.advance();
    return true;
  }
  // The same in pieces: not in the loop above, which a branch for each message would slow down.
  [[gnu::noinline]] bool send_some_pieces() {
    for (std::size_t i = 0; i < in_turn_; ++i) {
      if (send_pieces(ahead_.next()) != Status::ok) return false;
      ahead_.advance();
    }
    return true;
  }
  Status send_pieces(std::span<const std::byte> message) {
    if (!segments_) return push_.send(gathered(message, together_));
    const std::size_t head = head_bytes_of(message.size());
    return push_.send_segments({message.first(head), message.subspan(head)});
  }
  Status lend(std::span<const std::byte> message, std::size_t place) {
    if (segments_) {
      const std::size_t head = head_bytes_of(message.size());
      return push_.lend_segments({message.first(head), message.subspan(head)}, place);
    }
    return push_.lend(gathers_ ? gathered(message, gathered_[place]) : message, place);
  }
  static std::span<const std::byte> gathered(std::span<const std::byte> message,
                                             std::vector<std::byte>& to) {
    to.assign(message.begin(), message.end());
    return to;
  }
  bool lend() {
    if (free_ == 0) return false;
    std::vector<std::byte>& message = messages_[next_];
    stamp_.write(message);
    if (lend(message, next_) != Status::ok) return false;
    stamp_.advance();
    --free_;
    next_ = (next_ + 1) % messages_.size();
    return true;
  }

  Push push_;
  Ahead ahead_;  // copied; the rest is of those that are lent
  Stamp stamp_;
  bool segments_;
  bool gathers_;  // copies head and body together first
  bool lends_;
  bool connected_ = false;
  std::vector<std::vector<std::byte>> messages_;  // in turn, as they come back in order
  std::vector<std::byte> together_;               // gathered, of the last that is copied
  std::vector<std::vector<std::byte>> gathered_;  // and of those that are lent
  std::size_t next_ = 0;
  std::size_t free_;
  std::size_t in_turn_;  // messages
};

}  // namespace

// Bare sockets: one, as two and the copies that the kernel makes of them do not fit a cache of 2
// MiB; but more if one comes back only when it is acknowledged. A fabric: its window.
std::size_t lent_messages(const Options& options) {
  if (options.provider.empty()) return options.api == "resume" ? 4 : 1;
  constexpr std::size_t bytes_under_way = 4U << 20U;
  if (options.window != 0) return options.window;
  return std::clamp<std::size_t>(bytes_under_way / options.message_bytes, 2, 64);
}

void receive(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pull pull(context, socket_options(worker.options));
  pull.on_message([&worker](const MessageView& message) { worker.tally.take(message.bytes()); });
  worker.ready(port_of(worker.options, pull.bind(address_of(worker.options))));
  run(worker.options, context);
  worker.join();
}

void send(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  std::vector<Sender*> ready;
  std::vector<std::unique_ptr<Sender>> senders;
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    senders.push_back(
        std::make_unique<Sender>(context, options, options.connection_first + i, ready));
  }
  const auto all_connected = [&senders] {
    return std::all_of(senders.begin(), senders.end(),
                       [](const auto& sender) { return sender->connected(); });
  };
  while (!all_connected()) context.loop().run_once(std::chrono::seconds(1));
  worker.ready();
  if (options.idle) context.run();
  while (!worker.stopping()) {
    // Those that can send no more leave the list, and come back by call-back.
    std::erase_if(ready,
                  [&worker](Sender* sender) { return !worker.stopping() && !sender->send_some(); });
    context.loop().run_once(std::chrono::seconds(ready.empty() ? -1 : 0));
  }
  worker.join();
}

}  // namespace netio::bench

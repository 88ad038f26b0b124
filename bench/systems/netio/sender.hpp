// Sends measured messages as fast as the socket takes them: copied, lent, or in pieces.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "systems/netio/ahead.hpp"
#include "systems/netio/netio.hpp"

namespace netio::bench {

// Of a message that is sent as a head and a body; a multiple of 8, so that nothing stands between.
[[nodiscard]] constexpr std::size_t head_bytes_of(std::size_t message_bytes) {
  return std::min<std::size_t>(64, message_bytes / 16 * 8);
}

// An end that also receives must not leave that for long.
[[nodiscard]] constexpr std::size_t bytes_in_turn_of(const Options& options) {
  return options.both_ways ? bytes_in_turn / 64 : bytes_in_turn;
}

// A Push, or one end of a Pair (`Socket`), that sends as fast as it is let.
template <typename Socket>
class Sender {
 public:
  // It is in `ready` whenever it can send.
  Sender(Context& context, const Options& options, std::uint32_t number,
         std::vector<Sender*>& ready)
      : socket_(context, socket_options(options)),
        ahead_(number, options),
        stamp_(number, options.verify),
        segments_(options.api == "segments"),
        gathers_(options.api == "gathered"),
        lends_(!options.buffered && options.name.empty() &&
               options.message_bytes >= lent_bytes_min),
        messages_(lends_ ? lent_messages(options) : 0),
        gathered_(messages_.size()),
        free_(messages_.size()),
        in_turn_(std::max<std::size_t>(1, bytes_in_turn_of(options) / options.message_bytes)) {
    for (std::vector<std::byte>& message : messages_) message.resize(options.message_bytes);
    socket_.on_up([this, &ready](const PeerInfo&) { ready.push_back(this); });
    socket_.on_writable([this, &ready] { ready.push_back(this); });
    socket_.on_released([this, &ready](std::uint64_t) {
      if (free_++ == 0) ready.push_back(this);
    });
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  [[nodiscard]] Socket& socket() noexcept { return socket_; }

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
    if (socket_.send(ahead_.next()) != Status::ok) return false;
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
    if (!segments_) return socket_.send(gathered(message, together_));
    const std::size_t head = head_bytes_of(message.size());
    return socket_.send_segments({message.first(head), message.subspan(head)});
  }
  Status lend(std::span<const std::byte> message, std::size_t place) {
    if (segments_) {
      const std::size_t head = head_bytes_of(message.size());
      return socket_.lend_segments({message.first(head), message.subspan(head)}, place);
    }
    return socket_.lend(gathers_ ? gathered(message, gathered_[place]) : message, place);
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

  Socket socket_;
  Ahead ahead_;  // copied; the rest is of those that are lent
  Stamp stamp_;
  bool segments_;
  bool gathers_;  // copies head and body together first
  bool lends_;
  std::vector<std::vector<std::byte>> messages_;  // in turn, as they come back in order
  std::vector<std::byte> together_;               // gathered, of the last that is copied
  std::vector<std::vector<std::byte>> gathered_;  // and of those that are lent
  std::size_t next_ = 0;
  std::size_t free_;
  std::size_t in_turn_;  // messages
};

// Until the worker is told to stop. `ready`: those that can send.
template <typename Socket>
void send_on(Worker& worker, Context& context, std::vector<Sender<Socket>*>& ready) {
  while (!worker.stopping()) {
    // Those that can send no more leave the list, and come back by call-back.
    std::erase_if(ready,
                  [&worker](auto* sender) { return !worker.stopping() && !sender->send_some(); });
    context.loop().run_once(std::chrono::seconds(ready.empty() ? -1 : 0));
  }
}

}  // namespace netio::bench

// Many evil peers at a time: each that was ended comes back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "siege/attack.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {

// `come` makes a peer, `go_on` lets it do its next step; false: it is to come anew.
template <typename Peer>
void crowd(std::size_t count, Attack::Clock::time_point until, const std::function<Peer()>& come,
           const std::function<bool(Peer&)>& go_on) {
  std::vector<std::optional<Peer>> peers(count);
  while (Attack::Clock::now() < until) {
    for (std::optional<Peer>& peer : peers) {
      if (!peer) peer.emplace(come());
      if (!go_on(*peer)) peer.reset();
      if (Attack::Clock::now() >= until) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// The hello of a peer that nobody has met.
inline detail::Hello strangers_hello(detail::WirePattern pattern) {
  static std::uint64_t strangers = 0;
  detail::Hello hello = sound_hello(pattern);
  ++strangers;
  for (std::size_t i = 0; i < sizeof strangers; ++i) {
    hello.run[i] = hello.stream[i] = static_cast<std::uint8_t>(strangers >> (8 * i));
  }
  return hello;
}

// A peer that has said hello, and goes on once it is answered.
class Guest {
 public:
  // `first` are its pages behind the one that says where it stands, which is that it will send the
  // message `next`.
  Guest(RawTcp raw, const Bytes& hello, Bytes first = {}, std::uint64_t next = 0)
      : raw_(std::move(raw)), first_(std::move(first)), next_(next) {
    raw_.send(hello);
  }
  [[nodiscard]] RawTcp& raw() { return raw_; }
  // Reads as far as the answer, and no further. True if it is in.
  bool go_in() {
    if (!in_ && hello_in(raw_.received()).nonce != 0) {
      raw_.confirm(next_);
      raw_.send(std::exchange(first_, {}));
      in_ = true;
    }
    return in_;
  }
  // Of who takes notice of the end only.
  bool stay() {
    (void)go_in();
    return !raw_.ended();
  }

 private:
  RawTcp raw_;
  Bytes first_;
  std::uint64_t next_;
  bool in_ = false;
};

// Of who reads nothing: whether it was ended shows when it writes, a page that says nothing.
inline bool is_there_unread(Guest& guest) {
  if (!guest.go_in()) return !guest.raw().ended();
  return guest.raw().send(page_of(detail::PageHeader{}, {})) != 0;
}

}  // namespace netio::test

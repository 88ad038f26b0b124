// What a socket told through its call-backs, written down for a test to read.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

namespace netio {

// How GoogleTest prints them.
inline void PrintTo(Status status, std::ostream* out) { *out << to_string(status); }
inline void PrintTo(DownReason reason, std::ostream* out) { *out << to_string(reason); }
inline void PrintTo(const Books& books, std::ostream* out) {
  *out << "sent " << books.sent << ", acknowledged " << books.acknowledged << ", dropped "
       << books.dropped() << ", in doubt " << books.in_doubt << ", unacknowledged "
       << books.unacknowledged << ", delivered " << books.delivered << ", missed " << books.missed;
}

}  // namespace netio

namespace netio::test {

[[nodiscard]] inline testing::AssertionResult add_up(const Books& books) {
  if (books.sent == books.acknowledged + books.dropped() + books.unsettled()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << testing::PrintToString(books);
}

// Peers that came and went, and the end.
class Seen {
 public:
  struct Gone {
    PeerInfo peer;
    Down down;
  };

  explicit Seen(Socket& socket) {
    socket.on_up([this](const PeerInfo& peer) { ups.push_back(peer); });
    socket.on_down([this](const PeerInfo& peer, const Down& down) {
      downs.push_back({peer, down});
    });
    socket.on_closed([this](const Books& books) { closings.push_back(books); });
  }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;

  [[nodiscard]] bool was_down_for(DownReason reason) const {
    for (const Gone& gone : downs) {
      if (gone.down.reason == reason) return true;
    }
    return false;
  }
  // For failure messages.
  [[nodiscard]] std::string why() const {
    std::string text;
    for (const Gone& gone : downs) {
      text += std::string(to_string(gone.down.reason)) + ": " + gone.down.detail + "\n";
    }
    return text;
  }

  std::vector<PeerInfo> ups;
  std::vector<Gone> downs;
  std::vector<Books> closings;
};

// Every message that came, copied.
class Inbox {
 public:
  struct Arrived {
    std::vector<std::byte> bytes;
    std::uint64_t tag = 0;
    std::uint64_t sender = 0;
  };

  explicit Inbox(Receiving& socket) {
    socket.on_message([this, &socket](const MessageView& message) {
      messages.push_back(
          {{message.bytes().begin(), message.bytes().end()}, message.tag(), socket.sender_id()});
    });
  }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  [[nodiscard]] std::size_t size() const { return messages.size(); }
  [[nodiscard]] const Arrived& operator[](std::size_t i) const { return messages.at(i); }

  std::vector<Arrived> messages;
};

// The invariants of a socket's books, checked whenever asked: they add up, and never go back.
class BooksCheck {
 public:
  explicit BooksCheck(const Socket& socket) : socket_(socket) {}

  void operator()() {
    const Books now = socket_.books();
    EXPECT_TRUE(add_up(now));
    EXPECT_GE(now.sent, last_.sent);
    EXPECT_GE(now.acknowledged, last_.acknowledged);
    EXPECT_GE(now.dropped(), last_.dropped());
    EXPECT_GE(now.delivered, last_.delivered);
    EXPECT_GE(now.missed, last_.missed);
    last_ = now;
  }

 private:
  const Socket& socket_;
  Books last_;
};

}  // namespace netio::test

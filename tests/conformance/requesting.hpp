// What tests of requests share: how requests ended, the law of their books, and a fixture in which
// who asks writes the ends down and who is asked keeps requests open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {

// How requests ended, by id.
class Answers {
 public:
  explicit Answers(Request& request) {
    request.on_reply([this](std::uint64_t id, const MessageView& answer) {
      EXPECT_FALSE(texts.contains(id)) << "a second answer";
      texts[id] = std::string(answer.text());
    });
    request.on_failed([this](std::uint64_t id, Outcome outcome) {
      EXPECT_FALSE(failed.contains(id)) << "a second end";
      failed[id] = outcome;
    });
  }
  [[nodiscard]] std::size_t ended() const { return texts.size() + failed.size(); }

  std::map<std::uint64_t, std::string> texts;
  std::map<std::uint64_t, Outcome> failed;
};

inline void expect_law(const Request& request) {
  const RequestBooks books = request.requests();
  std::uint64_t ended = 0;
  for (const std::uint64_t n : books.ended) ended += n;
  EXPECT_EQ(books.asked, ended + books.under_way);
}

inline void expect_law(const Reply& reply) {
  const ReplyBooks books = reply.requests();
  EXPECT_EQ(books.requests, books.answered + books.not_answered + books.unwanted + books.open);
}

class Requesting : public Conformance {
 protected:
  void write_down(Request& request) {
    request.on_reply([this](std::uint64_t, const MessageView&) { ++answered_; });
    request.on_failed([this](std::uint64_t, Outcome outcome) { failed_.push_back(outcome); });
  }
  void hold_all(Reply& reply) {
    reply.on_request([this](const MessageView& message, ReplyTo to) {
      texts_.emplace_back(message.text());
      open_.push_back(std::move(to));
    });
  }
  // Asks, turning the loops while there is no room. The id.
  std::uint64_t ask(Request& request, const Ask& how = {}) {
    std::uint64_t id = 0;
    EXPECT_SOON(pump_, request.send("?", id, how) == Status::ok);
    request.flush();
    return id;
  }
  // Dials the other one, which is bound behind the relay, until both are connected.
  void join_through(Relay& relay, Socket& dialer, const Socket& other) {
    dialer.connect(relay.address());
    ASSERT_SOON(pump_, dialer.peers_connected() == 1 && other.peers_connected() == 1);
  }

  int answered_ = 0;
  std::vector<Outcome> failed_;
  std::vector<ReplyTo> open_;
  std::vector<std::string> texts_;  // of those that are held
};

}  // namespace netio::test

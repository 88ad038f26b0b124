// The fixture of tests of requests: who asks writes down how they ended, who is asked keeps them
// open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {

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

// What the simulation knows of requests: what became of each at both ends, as the users of both
// sockets were told. A request is named like a message (names.hpp), and so is an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <netio/reply.hpp>
#include <netio/request.hpp>

#include "simulation/names.hpp"

namespace netio::test {

class Run;
struct Dial;

// An idempotent request is sent up to so many times in all.
inline constexpr std::size_t handings_most = 8;

// One time that a request was given to the user of a Reply socket.
struct Handing {
  enum class Fate : std::uint8_t {
    open,      // the user still has the ReplyTo
    answered,  // and the answer was taken
    given_up,  // the ReplyTo was destroyed, or the socket closed, without an answer
  };
  Run* by = nullptr;
  const Dial* dial = nullptr;
  Fate fate = Fate::open;
  Name answer = 0;  // in its contents
  std::uint32_t answer_bytes = 0;
};

// One request, from send() on.
struct Asked {
  Name name = 0;  // in its contents
  std::uint64_t id = 0;
  std::uint32_t bytes = 0;
  Ask ask;
  std::int64_t at_ns = 0;
  std::optional<Outcome> ended;
  std::uint64_t ended_at_up = 0;    // so many connections had come up here when the user knew
  bool said_to_have_ended = false;  // by cancel(): then that is told in the same turn
  std::vector<Handing> handings;

  // When its time is over; never without a limit.
  [[nodiscard]] std::int64_t until_ns() const noexcept;
};

// A ReplyTo that the user of a Reply socket has.
struct Held {
  ReplyTo to;
  Run* asker = nullptr;
  std::uint32_t place = 0;     // among what that one asked
  std::size_t handing = 0;     // of that request
  bool until_settled = false;  // the user means to keep it while all else settles
};

}  // namespace netio::test

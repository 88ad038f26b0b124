// The answer of send_to_all().
#pragma once

#include <cstddef>

#include <netio/status.hpp>

namespace netio {

// What became of a message, or a request, to all: send_to_all().
struct [[nodiscard]] ToAll {
  // As send() answers, for all peers together; send_to_all() says when it is what.
  Status status = Status::ok;
  // The number of peers that take the message: all that are up, or none.
  std::size_t peers = 0;
  // The number of peers that are expected and are not up now. They do not get the message, also not
  // when they come: those that this side connects to (Socket::peers() lists them), and those that
  // had connected to this side, if messages are kept for them (SocketOptions::resume_bytes_max).
  // Nobody else is expected: compare `peers` with the number that you expect to connect.
  std::size_t away = 0;

  // All took it, and nobody was away.
  [[nodiscard]] bool to_everyone() const noexcept { return status == Status::ok && away == 0; }
};

}  // namespace netio

// What was taken for a peer and waits above its outgoing stream until the link has room. Only
// publishing has one: the others answer `again` instead. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>

#include <netio/status.hpp>

#include "memory/store.hpp"
#include "socket/resend_queue.hpp"

namespace netio::detail {

class Upstream {
 public:
  [[nodiscard]] virtual bool empty() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t messages() const noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  // The bytes of waiting messages that lie in this memory. May walk all that waits.
  [[nodiscard]] virtual std::size_t bytes_in(const StorePart& memory) const noexcept = 0;
  // Gives the stream what waits, in order. `again` if the link took only a part, or there is no
  // memory: the stream asks again when it is told of room.
  virtual Status post_waiting() noexcept = 0;
  // There was no memory for what had to wait: nothing leaves any more, and the connection is to
  // end.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  // The stream goes on with another connection.
  virtual void begin_connection() noexcept = 0;
  // What follows there is the message at this position, in front of which the peer was told this.
  // Tells it again what it has not been told on this connection. `again`: called again later.
  virtual Status tell_again(std::uint64_t position, const Told& told) noexcept = 0;
  // Forgets what waits, which the stream has counted as dropped.
  virtual void clear() noexcept = 0;

 protected:
  ~Upstream() = default;
};

}  // namespace netio::detail

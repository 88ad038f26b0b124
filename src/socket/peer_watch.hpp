// Looks now and then whether a peer goes on with what it has begun, gives back memory that others
// lack, and is there at all. It costs a page nothing: it compares what is counted anyway. Owner
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "socket/incoming_stream.hpp"
#include "socket/outgoing_stream.hpp"
#include "socket/shortages.hpp"
#include "socket/stall_watch.hpp"
#include "transport/link.hpp"

namespace netio::detail {

class PeerWatch {
 public:
  // A connection has come up.
  void begin(std::int64_t now_ns) noexcept;

  // Sees whether bytes have come since the last look.
  void listen(const Link& link, std::int64_t now_ns) noexcept;
  // When the connection came up, and when it was last seen that bytes had come on it.
  [[nodiscard]] std::int64_t up_since_ns() const noexcept { return up_since_ns_; }
  [[nodiscard]] std::int64_t heard_ns() const noexcept { return heard_ns_; }

  // The time of a look, and how long a peer may take (SocketOptions::stall_after).
  struct Look {
    std::int64_t now_ns;
    std::int64_t stall_after_ns;
  };
  // The memory that a message on its way here takes, and whether others wait for it.
  struct Memory {
    std::size_t page_bytes;
    bool pages_waited_for;
    bool large_waited_for;
  };
  // Null, or what the peer does wrong: it holds memory for a message and does not go on with it.
  // With `leaving`, both sides have said good-bye, and the peer has its end of the connection to
  // close.
  [[nodiscard]] const char* check_receiving(Link& link, const IncomingStream& incoming,
                                            bool leaving, const Memory& memory, Look look) noexcept;
  // The same of large messages on their way to the peer. With `forgiven`, it may hold their memory.
  [[nodiscard]] const char* check_sending(const OutgoingStream& outgoing,
                                          const Shortages& shortages, bool forgiven,
                                          Look look) noexcept;
  // The host has left what was sent unanswered for so long.
  [[nodiscard]] bool host_is_gone(const Link& link, std::int64_t now_ns,
                                  std::int64_t unanswered_max_ns) noexcept;

 private:
  [[nodiscard]] std::uint64_t receiving_progress(Link& link, const IncomingStream& incoming,
                                                 bool leaving) noexcept;

  std::int64_t up_since_ns_ = 0;
  std::int64_t heard_ns_ = 0;
  std::uint64_t heard_bytes_ = 0;    // on this connection by then
  StallWatch receiving_;             // of the message that is begun
  std::uint64_t part_progress_ = 0;  // bytes of messages in parts, as far as they are here
  HoldingWatch sending_;             // of large messages on their way
  std::int64_t answered_ns_ = 0;     // when the host was last not known to be silent
};

}  // namespace netio::detail

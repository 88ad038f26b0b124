// What a call answers: Status on hot calls, Error (thrown) at set-up, Down when a peer goes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <netio/export.hpp>

// The event-driven API in C++: sockets and loop, and call-backs that the loop calls.
namespace netio {

// The answer of every call on the data path. Those calls never block and never throw.
enum class [[nodiscard]] Status : std::uint8_t{
    ok,             // done; the library has the message
    again,          // nothing was taken; the socket's on_writable tells when to try again
    not_connected,  // nothing was taken; no peer is there yet, on_writable tells when one is
    closed,         // the socket was closed; it will never be ok again
    too_big,        // the message exceeds a limit that will not change by waiting
    invalid,        // the call makes no sense in this state (a commit without a reserve, ...)
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(Status status) noexcept;

// Thrown by set-up calls (construct, bind, connect): what was tried, why it failed, what to do.
// Where no memory is left they throw std::bad_alloc instead, and may be made again.
class NETIO_API Error : public std::runtime_error {
 public:
  // what() has all three.
  Error(std::string operation, std::string cause, std::string advice = {});

  // What was tried.
  [[nodiscard]] const std::string& operation() const noexcept { return operation_; }
  // Why it failed.
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }
  // What the user can do about it; empty when there is nothing to say.
  [[nodiscard]] const std::string& advice() const noexcept { return advice_; }

 private:
  std::string operation_;
  std::string cause_;
  std::string advice_;
};

// Thrown for an address that makes no sense, whatever is there to be found.
class NETIO_API AddressError : public Error {
  using Error::Error;
};

// Why a connection ended, or was not made.
enum class DownReason : std::uint8_t {
  closed_by_peer,     // the peer ended in order: everything it sent has arrived
  closed_here,        // this side closed the socket
  lost,               // the connection broke without a good-bye: process killed, cable pulled
  refused,            // nobody listens at the address
  unreachable,        // no route, host down, connect timed out
  name_unknown,       // the host name does not exist
  name_temporary,     // the name service did not answer
  foreign_protocol,   // the other end does not speak netio
  version_mismatch,   // the other end speaks a version of netio that this one does not
  pattern_mismatch,   // the other end is a socket that does not pair with this one
  rejected,           // the other end refused for a reason of its own (see the detail)
  handshake_timeout,  // connected, but no hello came in time
  protocol_error,     // the peer sent bytes that the wire format does not allow
  message_too_big,    // the peer announced a message over this socket's limit
  too_slow,           // a subscriber was behind for too long, or by too much (Policy::disconnect);
                      // both sides are told, the subscriber if it reads on within handshake_within
  stalled,            // a message was begun and not continued within the stall limit
  resources,          // this process is out of descriptors or memory
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(DownReason reason) noexcept;

// Why a connection ended, or was not made, for programs and for people.
struct Down {
  DownReason reason = DownReason::lost;  // docs/guide.md says what to do about each
  std::string detail;                    // one sentence for a person, with addresses and numbers
};

}  // namespace netio

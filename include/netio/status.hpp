// What calls answer: a Status on the data path, an Error (thrown) at set-up, and a Down when a
// connection ends.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <netio/export.hpp>

// The event-driven API in C++: sockets and loop, and call-backs that the loop calls.
namespace netio {

// The answer of every call on the data path. None of those calls blocks or throws. On any answer
// but ok nothing was taken.
enum class [[nodiscard]] Status : std::uint8_t{
    ok,             // done; the library has the message
    again,          // no room or memory for now; on_writable of the socket tells when to try again
    not_connected,  // no peer is connected; on_writable tells when to try again
    closed,         // the socket was closed; no later call will answer ok
    too_big,        // the message exceeds a limit; waiting does not change that
    invalid,        // the call makes no sense in this state (a commit without a reserve, ...)
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(Status status) noexcept;

// Thrown by set-up calls (constructors, bind, connect): what was tried, why it failed, what to do.
// If no memory is left they throw std::bad_alloc instead; nothing was done then, and the call may
// be made again.
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

// Thrown for an address that makes no sense and never will.
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
  name_unknown,       // nobody knows the host name, or not yet
  name_temporary,     // the name service did not answer
  foreign_protocol,   // the other end does not speak netio
  version_mismatch,   // the other end speaks a version of netio that this one does not
  pattern_mismatch,   // the other end is a socket that does not pair with this one
  rejected,           // the other end refused for a reason of its own (see the detail)
  handshake_timeout,  // connected, but no hello came in time
  protocol_error,     // the peer sent bytes that the wire format does not allow
  message_too_big,    // the peer announced a message over this socket's limit
  too_slow,           // a subscriber was behind for too long, or by too much (Policy::disconnect);
                      // the subscriber is told this reason if it reads within handshake_within
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

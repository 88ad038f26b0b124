// What a worker is told on its command line. Every system takes the same options and refuses
// those that it cannot honour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace netio::bench {

enum class Role : std::uint8_t {
  receive,  // binds; counts and checks what comes
  send,     // connects; sends as fast as it can
  reply,    // binds; sends each message back
  request,  // connects; times round trips
};

enum class Wait : std::uint8_t { sleep, spin, adaptive };

struct Options {
  Role role = Role::receive;
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one, which the worker then says
  std::size_t message_bytes = 64;
  bool buffered = true;
  Wait wait = Wait::sleep;
  int cpu = -1;                   // -1: all that the process may use
  std::uint32_t connections = 1;  // sending: how many of its own; receiving: how many will come
  std::uint32_t connection_first = 0;  // sending: the number of the first of them
  double rate = 0;                     // requests a second, 0: the next when the last has returned
  bool verify = false;                 // fill and check every byte, not the number alone
  bool loan = false;     // sending: written into the wire's memory; round trips: untouched there
  bool idle = false;     // connect, and send nothing
  std::string provider;  // of libfabric, such as tcp or verbs; empty: sockets
  std::string name;      // to meet at in shared memory; empty: sockets or a fabric
  bool both = false;     // with a name: the end that binds is a thread of this process too
  int binder_cpu = -1;   // what that thread runs on; -1: any
  std::uint32_t window = 0;  // messages under way on a fabric; 0: the system's own choice
};

// Ends the process on a wrong option.
[[nodiscard]] Options parse_options(int argc, char** argv, const char* system);

}  // namespace netio::bench

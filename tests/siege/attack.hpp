// The attacks that a siege consists of: what evil peers do at an address until their time is over.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace netio::test {

// Who is attacked: the end of the flow that listens. The other end of it is the good peer.
enum class Victim : std::uint8_t { recv, send, pub, sub };

struct Attack {
  using Clock = std::chrono::steady_clock;

  const char* name;
  const char* what;     // for a person
  const char* address;  // where the victim listens: any free place there
  Victim victim = Victim::recv;
  const char* message_bytes = "256";  // of the good flow
  // The victim's resident memory may grow by so much: what its options allow, or, of small things,
  // what they come to.
  std::int64_t resident_mib_max = 64;
  // In a process of its own. May throw: then the attack has failed, not the victim.
  void (*run)(const std::string& address, Clock::time_point until) = nullptr;
};

// Those over tcp, at publishers and subscribers, in shared memory, and on a fabric.
[[nodiscard]] std::span<const Attack> attacks_over_tcp();
[[nodiscard]] std::span<const Attack> attacks_by_tags();
[[nodiscard]] std::span<const Attack> attacks_in_shared_memory();
[[nodiscard]] std::span<const Attack> attacks_on_a_fabric();

}  // namespace netio::test

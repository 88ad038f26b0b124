// Who is at an address? Asks one hello of whoever listens there, and connects no socket. `netio
// info ADDRESS` is made of it. Owner thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netio/context.hpp>
#include <netio/export.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class ProbeCore;
}

// What a Probe has found.
struct ProbeResult {
  bool answered = false;  // a netio is there, and the fields below it are of its hello
  Down down{};            // if nothing answered: why, in a sentence for a person

  std::string name;                     // SocketOptions::name of the socket there; may be empty
  std::string pattern;                  // "push", "pull", ...
  std::string release;                  // of netio there: "0.1.0"; empty if that does not say it
  std::array<std::uint8_t, 16> run{};   // PeerInfo::run of that socket
  unsigned wire_version_min = 0;        // the lowest version of the wire format that it speaks
  unsigned wire_version_max = 0;        // the highest
  std::uint64_t message_bytes_max = 0;  // the largest message that it takes
  std::vector<std::string> offers;      // a netio:// address: the wires there, "shm" and so on
  // PeerInfo::wire of a connection from here, as far as that is known without one.
  std::string wire;
  std::string wire_reason;  // PeerInfo::wire_reason, the same
  // From the hello of this side to the answer.
  std::chrono::nanoseconds round_trip{0};
};

// The other end neither tells its user of the question nor counts it. (netio before 0.1.0 tells of
// a connection that did not come up.)
class NETIO_API Probe {
 public:
  // Asks at once. Calls `on_result` from the loop, once, within `within`. The call may destroy the
  // Probe. Destroy it before the context. Throws Error as Socket::connect() does.
  Probe(Context& context, std::string_view address,
        std::function<void(const ProbeResult&)> on_result,
        std::chrono::nanoseconds within = std::chrono::seconds(5));
  // Without a result nothing is called any more.
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

 private:
  std::unique_ptr<detail::ProbeCore> core_;
};

}  // namespace netio

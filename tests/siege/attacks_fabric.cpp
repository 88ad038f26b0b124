// Attacks on a fabric, libfabric's tcp provider.
#include <array>
#ifdef NETIO_WITH_FABRIC
#include <memory>

#include "siege/crowd.hpp"
#include "support/raw_fabric.hpp"
#include "support/raw_tcp.hpp"
#endif

namespace netio::test {

#ifdef NETIO_WITH_FABRIC
namespace {

using Clock = Attack::Clock;
using Peer = std::unique_ptr<RawFabric>;

void say_nothing(const std::string& address, Clock::time_point until) {
  crowd<Peer>(
      100, until, [&] { return std::make_unique<RawFabric>(address); },
      [](Peer& raw) { return !raw->ended(); });
}

void come_in_crowds(const std::string& address, Clock::time_point until) {
  struct Guest {
    Peer raw;
    bool greeted = false;
    bool in = false;
  };
  crowd<Guest>(
      80, until, [&] { return Guest{std::make_unique<RawFabric>(address)}; },
      [&](Guest& guest) {
        if (!guest.greeted && guest.raw->connected()) {
          detail::Hello hello = strangers_hello(detail::WirePattern::push);
          hello.receives = RawFabric::receives;
          hello.receive_bytes = hello.page_bytes_max;
          guest.greeted = guest.raw->send(hello_of(hello));
        } else if (!guest.in && !guest.raw->received().empty()) {
          const detail::Hello answer = hello_in(guest.raw->received().front());
          guest.in = guest.raw->send(confirm_page(answer.nonce));
        }
        return !guest.raw->ended();
      });
}

// What is no fabric, at the fabric's port.
void speak_http(const std::string& address, Clock::time_point until) {
  crowd<RawTcp>(
      50, until,
      [&] {
        RawTcp raw = RawTcp::connect(address);
        raw.send("GET /status HTTP/1.1\r\nHost: netio\r\n\r\n");
        return raw;
      },
      [](RawTcp& raw) { return !raw.ended(); });
}

constexpr const char* fabric = "ofi+tcp://127.0.0.1:0";
constexpr std::array attacks{
    Attack{"silent-fabric", "100 connections that say nothing, renewed", fabric, Victim::recv,
           "256", 128, say_nothing},
    Attack{"crowd-fabric", "80 idle senders, renewed", fabric, Victim::recv, "256", 128,
           come_in_crowds},
    Attack{"http-fabric", "50 connections that speak HTTP, renewed", fabric, Victim::recv, "256",
           128, speak_http},
};

}  // namespace
#else
namespace {
constexpr std::array<Attack, 0> attacks;
}
#endif

std::span<const Attack> attacks_on_a_fabric() { return attacks; }

}  // namespace netio::test

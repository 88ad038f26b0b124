// Attacks by bytes on a connection, from silence to messages that never end.
#include <array>
#include <random>
#include <string_view>

#include "siege/crowd.hpp"
#include "support/raw_tcp.hpp"
#include "wire/frame.hpp"

namespace netio::test {

namespace {

using detail::PageHeader;
using detail::WirePattern;
using Clock = Attack::Clock;

Bytes hello_from(WirePattern pattern, std::uint64_t session) {
  detail::Hello hello = sound_hello(pattern);
  for (std::size_t i = 0; i < sizeof session; ++i) {
    hello.session[i] = static_cast<std::uint8_t>(session >> (8 * i));
  }
  return hello_of(hello);
}

std::uint64_t next_session() {
  static std::uint64_t sessions = 0;
  return ++sessions;
}

RawTcp greet(const std::string& address, WirePattern pattern) {
  RawTcp raw = RawTcp::connect(address);
  raw.send(hello_from(pattern, next_session()));
  return raw;
}

void say_nothing(const std::string& address, Clock::time_point until) {
  crowd<RawTcp>(
      1000, until, [&] { return RawTcp::connect(address); },
      [](RawTcp& raw) { return !raw.ended(); });
}

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

// A sound hello and a page that is wrong in several ways, with some bytes exchanged for others.
void send_damaged_pages(const std::string& address, Clock::time_point until) {
  std::mt19937_64 random(1);
  crowd<RawTcp>(
      50, until,
      [&] {
        Bytes bytes = hello_from(WirePattern::push, next_session());
        PageHeader header;
        header.bytes = 64;
        header.messages = 1;
        Bytes frame(64);
        detail::store_u64(
            frame.data(),
            detail::frame_word(5000, detail::frame_flag::more | detail::frame_flag::continued));
        append(bytes, page_of(header, frame));
        for (int i = 0; i < 3; ++i) {
          bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        RawTcp raw = RawTcp::connect(address);
        raw.send(bytes);
        return raw;
      },
      [&](RawTcp& raw) { return !raw.ended() && random() % 8 != 0; });
}

// The largest message there may be, of which a byte comes now and then.
void drip_large_messages(const std::string& address, Clock::time_point until) {
  PageHeader header;
  header.bytes = 1U << 30U;
  header.messages = 1;
  const Bytes begin = page_of(header, {});
  crowd<RawTcp>(
      16, until,
      [&] {
        RawTcp raw = greet(address, WirePattern::push);
        raw.send(begin);
        return raw;
      },
      [](RawTcp& raw) {
        raw.send(std::array{std::byte{}});
        return !raw.ended();
      });
}

void come_in_crowds(const std::string& address, Clock::time_point until) {
  crowd<RawTcp>(
      900, until, [&] { return greet(address, WirePattern::push); },
      [](RawTcp& raw) { return !raw.ended(); });
}

// Comes back each time with the same session, and says that it has sent a lot meanwhile.
void claim_what_never_was(const std::string& address, Clock::time_point until) {
  std::uint64_t next_sequence = 0;
  crowd<RawTcp>(
      8, until,
      [&] {
        detail::Hello hello = sound_hello(WirePattern::push, 77);
        hello.next_sequence = next_sequence += std::uint64_t{1} << 40U;
        RawTcp raw = RawTcp::connect(address);
        raw.send(hello_of(hello));
        PageHeader header;
        header.sequence = hello.next_sequence;
        raw.send(page_of(header, {}));
        return raw;
      },
      [](RawTcp& raw) { return !raw.ended(); });
}

void take_and_never_read(const std::string& address, Clock::time_point until) {
  crowd<RawTcp>(
      20, until, [&] { return greet(address, WirePattern::pull); }, is_there_unread);
}

constexpr const char* tcp = "tcp://127.0.0.1:0";
constexpr std::array attacks{
    Attack{"silent-tcp", "1,000 connections that say nothing, renewed", tcp, Victim::recv, "256",
           64, say_nothing},
    Attack{"http", "50 connections that speak HTTP, renewed", tcp, Victim::recv, "256", 64,
           speak_http},
    // Each may begin a large message, whose first byte takes a huge page.
    Attack{"damaged", "50 connections with damaged hellos and pages, renewed", tcp, Victim::recv,
           "256", 64 + 50 * 2, send_damaged_pages},
    Attack{"dripped", "16 senders of 1 GiB, byte by byte", tcp, Victim::recv, "8MiB", 4096,
           drip_large_messages},
    Attack{"crowd-tcp", "900 idle senders", tcp, Victim::recv, "256", 128, come_in_crowds},
    Attack{"forged", "8 senders that claim to have sent what never was", tcp, Victim::recv, "256",
           64, claim_what_never_was},
    Attack{"never-read", "20 receivers that take messages of 30 MB and do not read them", tcp,
           Victim::send, "30MB", 4096, take_and_never_read},
};

}  // namespace

std::span<const Attack> attacks_over_tcp() { return attacks; }

}  // namespace netio::test

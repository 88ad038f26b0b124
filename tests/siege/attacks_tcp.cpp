// Attacks by bytes on a connection, from silence to messages that never end.
#include <array>
#include <random>
#include <string_view>
#include <utility>

#include "siege/crowd.hpp"
#include "support/raw_tcp.hpp"
#include "wire/frame.hpp"

namespace netio::test {

namespace {

using detail::PageHeader;
using detail::WirePattern;
using Clock = Attack::Clock;

Guest greet(const std::string& address, WirePattern pattern, Bytes first = {}) {
  return {RawTcp::connect(address), hello_of(strangers_hello(pattern)), std::move(first)};
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
  crowd<Guest>(
      50, until,
      [&] {
        Bytes hello = hello_of(strangers_hello(WirePattern::push));
        PageHeader header;
        header.bytes = 64;
        header.messages = 1;
        Bytes frame(64);
        detail::store_u64(
            frame.data(),
            detail::frame_word(5000, detail::frame_flag::more | detail::frame_flag::continued));
        Bytes page = page_of(header, frame);
        Bytes& damaged = random() % 2 == 0 ? hello : page;
        for (int i = 0; i < 3; ++i) {
          damaged[random() % damaged.size()] = static_cast<std::byte>(random());
        }
        return Guest{RawTcp::connect(address), hello, page};
      },
      [&](Guest& guest) { return guest.stay() && random() % 8 != 0; });
}

// The largest message there may be, of which a byte comes now and then.
void drip_large_messages(const std::string& address, Clock::time_point until) {
  PageHeader header;
  header.bytes = 1U << 30U;
  header.messages = 1;
  const Bytes begin = page_of(header, {});
  crowd<Guest>(
      16, until, [&] { return greet(address, WirePattern::push, begin); },
      [](Guest& guest) {
        if (guest.go_in()) guest.raw().send(std::array{std::byte{}});
        return !guest.raw().ended();
      });
}

void come_in_crowds(const std::string& address, Clock::time_point until) {
  crowd<Guest>(
      900, until, [&] { return greet(address, WirePattern::push); },
      [](Guest& guest) { return guest.stay(); });
}

// Comes back each time on the same stream, and says that it has sent a lot meanwhile.
void claim_what_never_was(const std::string& address, Clock::time_point until) {
  std::uint64_t epoch = 0;
  crowd<Guest>(
      8, until,
      [&] {
        detail::Hello hello = sound_hello(WirePattern::push, 77);
        hello.epoch = ++epoch;
        PageHeader header;
        header.sequence = (epoch - 1) << 40U;
        return Guest{RawTcp::connect(address), hello_of(hello), page_of(header, {}),
                     header.sequence};
      },
      [](Guest& guest) { return guest.stay(); });
}

void take_and_never_read(const std::string& address, Clock::time_point until) {
  crowd<Guest>(
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

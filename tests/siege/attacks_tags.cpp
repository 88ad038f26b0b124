// Attacks on publishers by their subscribers, and on subscribers by their publishers.
#include <array>
#include <string>

#include "conformance/raw_control.hpp"
#include "siege/crowd.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {

namespace {

using detail::WirePattern;
using detail::WirePolicy;
using Clock = Attack::Clock;
using namespace std::chrono_literals;

// What subscribers cost is charged to their host: the good one is on another.
constexpr std::uint8_t attackers_host = 2;

// Of one kind with the good subscriber: pages may be shared.
Guest subscriber(const std::string& address, const Bytes& first) {
  return {RawTcp::connect(address, attackers_host),
          hello_of(strangers_hello(WirePattern::subscribe)), first};
}

void block(const std::string& address, Clock::time_point until) {
  const Bytes all =
      page_of(Change{.ranges = {every_tag}, .policy = WirePolicy::block, .behind_bytes_max = 0});
  auto renewed = Clock::now();
  crowd<Guest>(
      8, until, [&] { return subscriber(address, all); },
      [&](Guest& guest) {
        if (Clock::now() - renewed > 2s) {
          renewed = Clock::now();
          return false;
        }
        return is_there_unread(guest);
      });
}

std::vector<TagRange> many_ranges(std::uint64_t from) {
  std::vector<TagRange> ranges;
  // As many as fit a page.
  for (std::uint64_t i = 0; i < 4000; ++i) ranges.push_back({from + 2 * i, from + 2 * i});
  return ranges;
}

// Of a set of millions of ranges that grows page by page, and begins anew.
void subscribe_to_ranges(const std::string& address, Clock::time_point until) {
  struct Growing {
    Guest guest;
    std::uint64_t pages = 0;
  };
  crowd<Growing>(
      16, until, [&] { return Growing{subscriber(address, page_of(Change{.ranges = {}}))}; },
      [&](Growing& growing) {
        if (!growing.guest.go_in()) return !growing.guest.raw().ended();
        RawTcp& raw = growing.guest.raw();
        (void)raw.received();
        for (int i = 0; i < 4; ++i) {
          const Bytes more = page_of(Change{.revision = growing.pages + 2,
                                            .flags = detail::subscribe_flag::last,
                                            .ranges = many_ranges(1000 + 8000 * growing.pages)});
          if (raw.send(more) != more.size()) return false;
          ++growing.pages;
        }
        return !raw.ended() && growing.pages < 500;
      });
}

void change_without_end(const std::string& address, Clock::time_point until) {
  Bytes frames;
  for (std::uint64_t revision = 1; frames.size() < 60'000; ++revision) {
    append(frames, frame_of(Change{.revision = revision, .ranges = {{revision, revision}}}));
  }
  const Bytes page = control_page(frames);
  crowd<Guest>(
      16, until, [&] { return subscriber(address, page); },
      [](Guest& guest) { return guest.stay(); });
}

void send_control_pages_of_67_mb(const std::string& address, Clock::time_point until) {
  detail::PageHeader header;
  header.bytes = 67'000'000;
  header.flags = detail::page_flag::control;
  Bytes page = page_of(header, {});
  page.resize(page.size() + (1U << 20U));
  crowd<Guest>(
      4, until, [&] { return subscriber(address, page); },
      [&](Guest& guest) {
        return (!guest.go_in() || guest.raw().send(page) != 0) && !guest.raw().ended();
      });
}

void sample_and_never_read(const std::string& address, Clock::time_point until) {
  const Bytes all = page_of(Change{.ranges = {every_tag},
                                   .policy = WirePolicy::sample,
                                   .behind_bytes_max = std::uint64_t{64} << 20U});
  crowd<Guest>(
      12, until, [&] { return subscriber(address, all); }, is_there_unread);
}

// A publisher that drops, as it says, more than can have been, before it is asked for anything.
void drop_what_never_was(const std::string& address, Clock::time_point until) {
  std::uint64_t epoch = 0;
  crowd<Guest>(
      8, until,
      [&] {
        detail::Hello hello = sound_hello(WirePattern::publish, 77);
        hello.epoch = ++epoch;
        Bytes first = page_of(detail::SubscribedFrame{.revision = 1});
        append(first, page_of(detail::GapFrame{.dropped = std::uint64_t{1} << 55U,
                                               .reason = detail::GapReason::dropped_new}));
        return Guest{RawTcp::connect(address, attackers_host), hello_of(hello), first};
      },
      [](Guest& guest) { return guest.stay(); });
}

constexpr const char* tcp = "tcp://127.0.0.1:0";
constexpr std::array attacks{
    Attack{"block", "8 subscribers that block, with no queue, and do not read; renewed", tcp,
           Victim::pub, "256", 128, block},
    Attack{"ranges", "16 subscribers to millions of ranges", tcp, Victim::pub, "256", 512,
           subscribe_to_ranges},
    Attack{"changes", "16 subscribers that change their set without end", tcp, Victim::pub, "256",
           128, change_without_end},
    Attack{"control-pages", "4 subscribers with control pages of 67 MB", tcp, Victim::pub, "256",
           64, send_control_pages_of_67_mb},
    Attack{"samples", "12 subscribers that sample all tags and do not read", tcp, Victim::pub,
           "1000", 512, sample_and_never_read},
    Attack{"gaps", "8 publishers that claim to have dropped what never was", tcp, Victim::sub,
           "256", 64, drop_what_never_was},
};

}  // namespace

std::span<const Attack> attacks_by_tags() { return attacks; }

}  // namespace netio::test

// What a peer on a fabric can get wrong, or do on purpose: hellos, pages, grants and lent memory
// that make no sense, strangers at the port, and ends at the worst moment.
#ifdef NETIO_WITH_FABRIC

#include "conformance/bad_fabric.hpp"

#include <functional>
#include <initializer_list>
#include <thread>

#include "support/region_leaks.hpp"
#include "wire/frame.hpp"
#include "wire/segments.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::MemoryRegion;
using detail::PageHeader;
using detail::WirePattern;
namespace frame_flag = detail::frame_flag;
namespace page_flag = detail::page_flag;

// The attacker connects to a pull.
class BadFabric : private NoRegionLeaks, public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "ofi+tcp://127.0.0.1:0"; }

  RawFabricPtr connected() {
    RawFabricPtr raw = std::make_unique<RawFabric>(address());
    EXPECT_SOON(pump_, raw->connected());
    return raw;
  }
  RawFabricPtr met() { return met(fresh_stream()); }
  RawFabricPtr met(std::uint8_t session) {
    RawFabricPtr raw = connected();
    const std::size_t ups = at_pull_.ups.size();
    raw->send(hello_of(fabric_hello(WirePattern::push, session)));
    go_in(*raw);
    EXPECT_SOON(pump_, (raw->turn(), at_pull_.ups.size() == ups + 1));
    return raw;
  }
  // Says where it stands, once its hello is answered.
  void go_in(RawFabric& raw) {
    EXPECT_SOON(pump_, raw.received().size() == 1);
    raw.send(confirm_page(hello_in(raw.received().front()).nonce));
  }
  // What the pull is told of it, which must not take long.
  Down down_of(RawFabric& raw) {
    const std::size_t downs = at_pull_.downs.size();
    EXPECT_SOON(pump_, (raw.turn(), at_pull_.downs.size() > downs));
    const Down down = next_down().down;
    EXPECT_TRUE(is_readable(down));
    EXPECT_SOON(pump_, raw.ended());
    return down;
  }
  struct Case {
    const char* name;
    Messages messages;
    DownReason reason = DownReason::protocol_error;
  };
  // Each on a connection of its own, with the good sender served in between.
  void expect_refused(const std::vector<Case>& cases) {
    std::uint8_t session = 100;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.name);
      const RawFabricPtr raw = met(++session);
      for (const Bytes& message : one.messages) raw->send(message);
      const Down down = down_of(*raw);
      EXPECT_EQ(down.reason, one.reason) << down.detail;
      good_messages(3);
    }
  }
  // Instead of a hello.
  Down told_of(std::span<const std::byte> first) {
    const RawFabricPtr raw = connected();
    raw->send(first);
    const Down down = down_of(*raw);
    good_messages(3);
    return down;
  }
};

// --- Greeting.

TEST_F(BadFabric, who_sends_no_hello_in_time_is_dropped) {
  const RawFabricPtr raw = connected();
  EXPECT_EQ(down_of(*raw).reason, DownReason::handshake_timeout);
}

TEST_F(BadFabric, foreign_bytes_instead_of_a_hello_are_named) {
  const std::string_view http = "GET / HTTP/1.1\r\n\r\n";
  const Down down = told_of(std::as_bytes(std::span(http)));
  EXPECT_EQ(down.reason, DownReason::foreign_protocol) << down.detail;
  EXPECT_NE(down.detail.find("HTTP"), std::string::npos) << down.detail;
  EXPECT_EQ(told_of(Bytes(500, std::byte{7})).reason, DownReason::foreign_protocol);
}

TEST_F(BadFabric, a_hello_of_another_size_than_its_message_is_refused) {
  const Bytes hello = hello_of(fabric_hello(WirePattern::push, 5));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{12},
                                  detail::hello_fixed_bytes, hello.size() - 1}) {
    SCOPED_TRACE(bytes);
    const Down down = told_of(std::span(hello).first(bytes));
    EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  }
  const Down longer = told_of(all({hello, Bytes(8)}));
  EXPECT_EQ(longer.reason, DownReason::protocol_error) << longer.detail;
  const Down twice = told_of(all({hello, hello}));
  EXPECT_EQ(twice.reason, DownReason::protocol_error) << twice.detail;
}

TEST_F(BadFabric, a_hello_with_an_impossible_number_of_receives_is_refused) {
  for (const std::uint32_t count : {0U, 1U, 2U, 3U, 1025U, 1U << 31U, ~0U}) {
    SCOPED_TRACE(count);
    Hello hello = fabric_hello(WirePattern::push, 5);
    hello.receives = count;
    const Down down = told_of(hello_of(hello));
    EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  }
}

// --- Pages.

TEST_F(BadFabric, pages_that_are_not_what_they_say_are_refused) {
  const Bytes message = all({frame_word(8), Bytes(8)});
  PageHeader larger;
  larger.bytes = 64;
  PageHeader odd;
  odd.bytes = 12;
  PageHeader most;
  most.bytes = ~7U;
  PageHeader reserved;
  reserved.reserved = 1;
  const Bytes good = page(message, 1);
  expect_refused({
      {"nothing", {Bytes()}},
      {"one byte", {Bytes(1)}},
      {"a header cut short", {Bytes(31)}},
      {"a body cut short", {page_of(larger, Bytes(56))}},
      {"no body", {page_of(larger, {})}},
      {"as large as can be said", {page_of(most, Bytes(64))}},
      {"size no multiple of 8", {page_of(odd, Bytes(12))}},
      {"bytes behind the page", {all({good, Bytes(8)})}},
      {"a header cut short behind the page", {all({good, Bytes(31)})}},
      {"a second page that is too long", {all({good, page_of(larger, Bytes(8))})}},
      {"unknown flags", {page(message, 1, 0, 4)}},
      {"the library's own flag", {page(message, 1, 0, page_flag::begun)}},
      {"reserved field in use", {page_of(reserved, {})}},
      {"more messages than can be", {page(message, 3)}},
      {"fewer messages than it says", {page(message, 2)}},
      {"out of sequence", {page(message, 1, 5)}},
      {"the same twice", {all({good, good})}},
      {"good-bye of an unknown kind",
       {page(frame_word(0, frame_flag::control | (99U << frame_flag::control_shift)), 0, 0,
             page_flag::control)}},
      {"an acknowledgement of what was never sent", {[] {
         PageHeader header;
         header.acknowledged = 1;
         return page_of(header, {});
       }()}},
  });
}

TEST_F(BadFabric, grants_that_cannot_be_are_refused) {
  expect_refused({
      {"more than anybody has", {grant(1024)}},
      {"as many as can be said", {grant(UINT16_MAX)}},
      {"too many in sum", {grant(900), grant(900)}},
      {"too many in one message", {all({grant(500), grant(500), grant(500)})}},
      {"fetched what was never lent", {grant(0, 1)}},
      {"fetched as much as can be said", {grant(0, UINT16_MAX)}},
  });
}

TEST_F(BadFabric, a_message_larger_than_a_receive_is_refused) {
  const RawFabricPtr raw = met();
  raw->send(message_page(0, Bytes(200'000)));
  const Down down = down_of(*raw);
  EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
}

// --- Lent memory.

TEST_F(BadFabric, lent_pages_of_the_wrong_form_are_refused) {
  const RawFabric::Place nowhere{4096, 1};
  const Bytes place = all({word(nowhere.address), word(nowhere.key)});
  const Bytes lent = lent_page(4096, nowhere);
  const auto of = [](const Bytes& body, std::uint32_t messages = 1) {
    return page(body, messages, 0, page_flag::lent);
  };
  const Bytes first_part = page(all({frame_word(64, frame_flag::more), word(1000), Bytes(64)}), 0);
  expect_refused({
      {"of nothing", {of(all({frame_word(0), place}))}},
      {"larger than a message may be",
       {of(all({frame_word(wary_message_bytes_max + 1), place}))},
       DownReason::message_too_big},
      {"of 4 GiB", {of(all({frame_word(~0U), place}))}, DownReason::message_too_big},
      {"no body", {of({})}},
      {"no place", {of(frame_word(4096))}},
      {"no key", {of(all({frame_word(4096), word(4096)}))}},
      {"more than a place", {of(all({frame_word(4096), place, word(0)}))}},
      {"a tag that is not there", {of(all({frame_word(4096, frame_flag::tagged), place}))}},
      {"a tag that was not announced", {of(all({frame_word(4096), word(7), place}))}},
      {"a part", {of(all({frame_word(4096, frame_flag::more), word(9999), place}))}},
      {"a later part", {of(all({frame_word(4096, frame_flag::continued), place}))}},
      {"a control frame", {of(all({frame_word(4096, frame_flag::control | 0x100U), place}))}},
      {"unknown frame flags", {of(all({frame_word(4096, 1U << 20U), place}))}},
      {"no message", {of(all({frame_word(4096), place}), 0)}},
      {"two messages", {of(all({frame_word(4096), place}), 2)}},
      {"two frames", {of(all({frame_word(4096), place, frame_word(4096), place}), 2)}},
      {"control as well", {page(all({frame_word(4096), place}), 0, 0, 3)}},
      {"a page behind it", {all({lent, page(frame_word(0), 1, 1)})}},
      {"a page before it", {all({page(frame_word(0), 1), lent_page(4096, nowhere, 1)})}},
      {"inside a message in parts", {first_part, lent}},
      {"a front of a message without segments", {of(all({frame_word(4096), Bytes(64), place}))}},
      {"a front that is all of it",
       {of(all({frame_word(64, detail::segment_flags(2)), Bytes(64), place}))}},
      {"a front longer than the message",
       {of(all({frame_word(16, detail::segment_flags(2)), Bytes(64), place}))}},
  });
}

// A table of two segments and the first of them, of 8 bytes; the second one is lent.
Bytes front_page(std::uint64_t body_bytes, RawFabric::Place place, std::uint64_t sequence,
                 std::uint64_t head_bytes = 8, std::uint64_t said_bytes = 0) {
  const std::uint64_t said = said_bytes != 0 ? said_bytes : body_bytes;
  const auto size = static_cast<std::uint32_t>(32 + body_bytes);
  return page(all({frame_word(size, detail::segment_flags(2)), word(head_bytes), word(said),
                   word(2), word(0x64616568), word(place.address), word(place.key)}),
              1, sequence, page_flag::lent);
}

TEST_F(BadFabric, a_lent_segment_behind_a_front_arrives_with_it) {
  const Bytes memory = payload(1, 100'000);
  std::size_t right = 0;
  pull_.on_message([&](const MessageView& message) {
    take(message);
    const Segments segments = message.segments();
    if (segments.size() == 2 && segments[0].size() == 8 && segments[0][0] == std::byte{'h'} &&
        is_payload(segments[1], 1)) {
      ++right;
    }
  });
  const RawFabricPtr raw = met();
  const RawFabric::Place place = raw->lend(memory);
  for (std::uint64_t i = 0; i < 40; ++i) raw->send(front_page(100'000, place, i));
  EXPECT_SOON(pump_, (raw->turn(), right == 40));
}

// The reader keeps them until there is no memory for more: their fronts wait with them.
TEST_F(BadFabric, fronts_wait_until_there_is_memory) {
  constexpr std::size_t bytes = 1'000'000;
  constexpr std::uint64_t count = 60;
  const Bytes memory = payload(1, bytes);
  std::vector<Message> kept;
  std::uint64_t taken = 0;
  pull_.on_message([&](const MessageView& message) {
    take(message);
    if (message.tag() == good_tag) return;
    const Segments segments = message.segments();
    ASSERT_EQ(segments.size(), 2U);
    EXPECT_EQ(segments[0][0], std::byte{'h'});
    EXPECT_TRUE(is_payload(segments[1], 1));
    kept.push_back(message.keep());
    ++taken;
  });
  const RawFabricPtr raw = met();
  const RawFabric::Place place = raw->lend(memory);
  for (std::uint64_t i = 0; i < count; ++i) raw->send(front_page(bytes, place, i));
  EXPECT_SOON(pump_, (raw->turn(), pull_.counters().starved != 0));
  EXPECT_LT(taken, count);
  EXPECT_SOON(pump_, (raw->turn(), kept.clear(), taken == count));
}

// Who reads nothing takes no memory for what he is lent, front or not.
TEST_F(BadFabric, fronts_take_no_memory_of_a_paused_reader) {
  const Bytes memory(1'000'000, std::byte{1});
  const RawFabricPtr raw = met();
  const RawFabric::Place place = raw->lend(memory);
  pull_.pause();
  raw->send(message_page(0, payload(0, 100)));
  for (std::uint64_t i = 1; i < 40; ++i) raw->send(front_page(1'000'000, place, i));
  for (int i = 0; i < 200; ++i) raw->turn(), pump_.run_for(1ms);
  EXPECT_EQ(pull_.counters().starved, 0U);
  Pull other(there_, wary_options());
  Push sender(here_, wary_options());
  std::size_t came = 0;
  other.on_message([&](const MessageView&) { ++came; });
  sender.connect(other.bind("ofi+tcp://127.0.0.1:0"));
  ASSERT_SOON(pump_, (raw->turn(), sender.lend(memory, 1) == Status::ok));
  EXPECT_SOON(pump_, (raw->turn(), came == 1));
  pull_.resume();
  EXPECT_SOON(pump_, (raw->turn(), evil_received_.size() == 40));
}

TEST_F(BadFabric, a_front_whose_table_lies_is_refused) {
  const Bytes memory(100'000, std::byte{1});
  constexpr std::uint64_t wraps = ~std::uint64_t{0} - 7;
  const std::pair<std::uint64_t, std::uint64_t> lies[] = {
      {8, 99'999}, {8, 100'001}, {16, 100'000}, {0, 100'000}, {wraps, 100'000}, {8, wraps}};
  for (const auto& [head, said] : lies) {
    SCOPED_TRACE(std::to_string(head) + " and " + std::to_string(said));
    const RawFabricPtr raw = met();
    raw->send(front_page(100'000, raw->lend(memory), 0, head, said));
    EXPECT_EQ(down_of(*raw).reason, DownReason::protocol_error);
    good_messages(3);
  }
  EXPECT_TRUE(evil_received_.empty());
}

TEST_F(BadFabric, places_that_are_not_lent_are_refused) {
  const Bytes memory(wary_message_bytes_max, std::byte{1});
  const std::initializer_list<std::function<void(RawFabric::Place&, std::uint32_t&)>> lies = {
      [](RawFabric::Place& place, std::uint32_t&) { place.key += 1000; },
      [](RawFabric::Place& place, std::uint32_t&) { place.key = ~std::uint64_t{0}; },
      [](RawFabric::Place& place, std::uint32_t&) { place.address += std::uint64_t{1} << 40U; },
      [](RawFabric::Place& place, std::uint32_t&) { place.address = ~std::uint64_t{0} - 8; },
      [](RawFabric::Place&, std::uint32_t& size) { size = wary_message_bytes_max; },
  };
  int number = 0;
  for (const auto& lie : lies) {
    SCOPED_TRACE(++number);
    const RawFabricPtr raw = met(static_cast<std::uint8_t>(100 + number));
    RawFabric::Place place = raw->lend(std::span(memory).first(4096));
    std::uint32_t size = 4096;
    lie(place, size);
    raw->send(lent_page(size, place));
    const Down down = down_of(*raw);
    EXPECT_TRUE(down.reason == DownReason::lost || down.reason == DownReason::protocol_error)
        << down.detail;
    good_messages(3);
  }
  EXPECT_TRUE(evil_received_.empty());
}

TEST_F(BadFabric, more_lent_messages_than_are_allowed_at_once_are_refused) {
  const Bytes memory(100'000, std::byte{1});
  const RawFabricPtr raw = met();
  const RawFabric::Place place = raw->lend(memory);
  // Nothing is served meanwhile: the raw side makes no progress.
  for (std::uint64_t i = 0; i < 65; ++i) raw->send(lent_page(100'000, place, i));
  ASSERT_SOON(pump_, !at_pull_.downs.empty());
  EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << at_pull_.why();
}

TEST_F(BadFabric, a_lent_message_that_no_page_could_hold_is_refused) {
  ContextOptions large = wary_context();
  large.large_bytes_max = std::size_t{32} << 30U;
  SocketOptions options = wary_options();
  options.message_bytes_max = std::size_t{1} << 40U;
  Context context(large);
  Pump pump{&context};
  Pull pull(context, options);
  Seen at_pull(pull);
  const RawFabricPtr raw = std::make_unique<RawFabric>(pull.bind(place()));
  EXPECT_SOON(pump, raw->connected());
  raw->send(hello_of(fabric_hello(WirePattern::push, 68)));
  ASSERT_SOON(pump, raw->received().size() == 1);
  raw->send(confirm_page(hello_in(raw->received().front()).nonce));
  ASSERT_SOON(pump, (raw->turn(), at_pull.ups.size() == 1));
  const Bytes memory(8U << 20U);
  raw->send(lent_page(~std::uint32_t{0} - 7, raw->lend(memory)));
  ASSERT_SOON(pump, (raw->turn(), at_pull.downs.size() == 1));
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::message_too_big) << at_pull.why();
}

TEST_F(BadFabric, who_lends_and_does_not_serve_it_is_dropped_for_stalling) {
  const Bytes memory(100'000, std::byte{1});
  const RawFabricPtr raw = met();
  raw->send(lent_page(100'000, raw->lend(memory)));
  ASSERT_SOON(pump_, at_pull_.downs.size() == 1);
  EXPECT_EQ(next_down().down.reason, DownReason::stalled) << at_pull_.why();
}

TEST_F(BadFabric, lent_messages_that_are_sound_arrive_among_others) {
  const Bytes memory = payload(1, 100'000);
  const RawFabricPtr raw = met();
  const RawFabric::Place place = raw->lend(memory);
  raw->send(message_page(0, payload(0, 100)));
  raw->send(lent_page(100'000, place, 1));
  raw->send(message_page(2, payload(2, 100)));
  EXPECT_SOON(pump_, (raw->turn(), evil_received_.size() == 3));
  for (std::size_t i = 0; i < evil_received_.size(); ++i) {
    EXPECT_TRUE(is_payload(evil_received_[i], i));
  }
}

// Parts may be with the reader while the rest of them, and what is lent behind it, waits.
TEST_F(BadFabric, a_lent_message_behind_parts_that_a_paused_reader_has_not_seen_is_a_good_one) {
  const Bytes memory = payload(1, 100'000);
  const RawFabricPtr raw = met();
  raw->send(page(all({frame_word(64, frame_flag::more), word(128), Bytes(64)}), 0));
  pump_.run_for(50ms);
  pull_.pause();
  raw->send(page(all({frame_word(64, frame_flag::continued), Bytes(64)}), 1));
  raw->send(lent_page(100'000, raw->lend(memory), 1));
  pump_.run_for(20ms);
  pull_.resume();
  EXPECT_SOON(pump_, (raw->turn(), evil_received_.size() == 2));
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
}

TEST_F(BadFabric, who_sends_more_than_was_granted_disturbs_nobody) {
  const RawFabricPtr raw = met();
  std::uint64_t sent = 0;
  while (sent < 1000 && raw->send(message_page(sent, payload(sent, 5000)))) ++sent;
  good_messages(3);
  EXPECT_SOON(pump_, (raw->turn(), evil_received_.size() == sent || !at_pull_.downs.empty()));
}

// --- Strangers.

TEST_F(BadFabric, strangers_on_plain_tcp_disturb_nobody) {
  const std::string tcp = "tcp" + address().substr(address().find("://"));
  Bytes zeros(100'000);
  for (const int which : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(which);
    RawTcp raw = RawTcp::connect(tcp);
    if (which == 1) raw.send("GET / HTTP/1.1\r\n\r\n");
    if (which == 2) raw.send(hello_of(sound_hello(WirePattern::push, 9)));
    if (which == 3) raw.send(zeros);
    if (which == 4) raw.reset();
    pump_.run_for(50ms);
    good_messages(3);
  }
  EXPECT_EQ(pull_.peers_connected(), 1U);
}

TEST_F(BadFabric, a_netio_peer_of_plain_tcp_is_told_readably) {
  Push push(here_, wary_options());
  Seen at_push(push);
  push.connect("tcp" + address().substr(address().find("://")));
  ASSERT_SOON(pump_, !at_push.downs.empty());
  EXPECT_TRUE(is_readable(at_push.downs[0].down)) << at_push.why();
  EXPECT_NE(at_push.why().find("the same scheme"), std::string::npos) << at_push.why();
  EXPECT_EQ(push.peers_connected(), 0U);
  good_messages(3);
}

TEST_F(BadFabric, dialing_what_is_no_fabric_ends_with_a_readable_reason) {
  RawListener http;
  Pull of_tcp(there_, wary_options());
  const std::string tcp = of_tcp.bind("tcp://127.0.0.1:0");
  for (const std::string& where : {http.address(), tcp}) {
    SCOPED_TRACE(where);
    Push push(here_, wary_options());
    Seen at_push(push);
    push.connect("ofi+" + where);
    std::optional<RawTcp> raw;
    ASSERT_SOON(pump_, [&] {
      if (!raw && (raw = http.accept())) raw->send("HTTP/1.1 400 Bad Request\r\n\r\n");
      return !at_push.downs.empty();
    }());
    EXPECT_TRUE(is_readable(at_push.downs[0].down)) << at_push.why();
    if (where == tcp) {
      EXPECT_NE(at_push.why().find("the same scheme"), std::string::npos) << at_push.why();
    }
    good_messages(3);
  }
}

// --- Ends.

TEST_F(BadFabric, closing_in_every_state_disturbs_nobody) {
  const Bytes memory(wary_message_bytes_max, std::byte{1});
  std::uint64_t epoch = 0;
  const auto say_hello = [&](RawFabric& raw, WirePattern pattern) {
    Hello hello = fabric_hello(pattern, 8);
    hello.epoch = ++epoch;
    raw.send(hello_of(hello));
  };
  std::uint64_t next = 0;
  const auto come_back = [&](RawFabric& raw) {
    say_hello(raw, WirePattern::push);
    EXPECT_SOON(pump_, raw.received().size() == 1);
    const std::uint64_t nonce = hello_in(raw.received().front()).nonce;
    raw.send(confirm_page({.nonce = nonce, .next = next, .oldest_kept = next}));
    return next++;
  };
  const std::initializer_list<std::function<void(RawFabric&)>> states = {
      [](RawFabric&) {},
      [&](RawFabric& raw) { say_hello(raw, WirePattern::push); },
      [&](RawFabric& raw) { say_hello(raw, WirePattern::pull); },
      [&](RawFabric& raw) {
        say_hello(raw, WirePattern::push);
        raw.send(message_page(0, payload(0, 100)));
      },
      [&](RawFabric& raw) { raw.send(message_page(come_back(raw), payload(0, 100))); },
      [&](RawFabric& raw) {
        raw.send(lent_page(wary_message_bytes_max, raw.lend(memory), come_back(raw)));
      },
  };
  for (const int turns : {0, 1, 3, 10}) {
    for (const auto& state : states) {
      RawFabricPtr raw = std::make_unique<RawFabric>(address());
      raw.reset();  // while connecting
      pump_.turns(turns);
      raw = connected();
      state(*raw);
      for (int i = 0; i < turns; ++i) {
        (void)raw->connected();
        pump_.turns(1);
      }
      raw.reset();
      good_messages(2);
    }
  }
  EXPECT_SOON(pump_, pull_.peers_connected() == 1);
}

// The listener goes in a call-back about another connection, with requests to it waiting behind
// that event.
TEST_F(BadFabric, a_socket_closed_when_told_of_an_end_forgets_requests_that_wait) {
  for (int round = 0; round < 10; ++round) {
    Pull pull(there_, wary_options());
    const std::string where = pull.bind(place());
    std::size_t closings = 0;
    pull.on_closed([&](const Books&) { ++closings; });
    pull.on_down([&](const PeerInfo&, const Down&) { pull.close(0ms); });
    std::string nobody;
    {
      RawListener listener;
      nobody = listener.address();
    }
    pull.connect("ofi+" + nobody);
    std::vector<RawFabricPtr> waiting;
    for (int i = 0; i < 8; ++i) waiting.push_back(std::make_unique<RawFabric>(where));
    ASSERT_SOON(pump_, [&] {
      for (const RawFabricPtr& raw : waiting) raw->turn();
      return closings == 1;
    }());
  }
}

}  // namespace
}  // namespace netio::test

#endif

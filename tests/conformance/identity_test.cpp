// Who is who: a run, a stream and a name tell peers apart and know those that come back, and a
// connection gives way only to a newer one of its stream that is confirmed.
#include <algorithm>
#include <memory>
#include <optional>

#include "conformance/conformance.hpp"
#include "conformance/evil.hpp"
#include "support/sanitized.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::WirePattern;

class Identity : public Conformance {
 protected:
  SocketOptions called(std::string name) {
    SocketOptions options = eager();
    options.name = std::move(name);
    return options;
  }
};

TEST_P(Identity, is_told_at_both_ends) {
  Pull pull(there_, called("builder 1"));
  Push push(here_, called("unit 7"));
  Seen at_pull(pull);
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  push.connect(bind(pull));
  ASSERT_SOON(pump_, at_pull.ups.size() == 1 && at_push.ups.size() == 1);
  EXPECT_EQ(at_pull.ups[0].name, "unit 7");
  EXPECT_EQ(at_push.ups[0].name, "builder 1");
  EXPECT_NE(at_pull.ups[0].run, PeerInfo{}.run);
  EXPECT_NE(at_push.ups[0].run, PeerInfo{}.run);
  EXPECT_NE(at_pull.ups[0].run, at_push.ups[0].run);
  EXPECT_EQ(pull.peers().front().name, "unit 7");
  EXPECT_EQ(pull.peers().front().run, at_pull.ups[0].run);
  push.close();
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_NE(at_pull.downs[0].down.detail.find("unit 7"), std::string::npos) << at_pull.why();
}

// They are two peers, each with books of its own, though nothing else but the run differs.
TEST_P(Identity, of_two_peers_of_one_name_is_two) {
  Pull pull(there_, called("builder"));
  Inbox inbox(pull);
  Seen at_pull(pull);
  const std::string address = bind(pull);
  Push first(here_, called("unit"));
  Push second(here_, called("unit"));
  first.connect(address);
  second.connect(address);
  ASSERT_SOON(pump_, at_pull.ups.size() == 2);
  EXPECT_EQ(at_pull.ups[0].name, at_pull.ups[1].name);
  EXPECT_NE(at_pull.ups[0].run, at_pull.ups[1].run);
  EXPECT_NE(at_pull.ups[0].id, at_pull.ups[1].id);
  for (int i = 0; i < 3; ++i) ASSERT_SOON(pump_, first.send("of the first") == Status::ok);
  ASSERT_SOON(pump_, second.send("of the second") == Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 4);
  std::vector<std::uint64_t> delivered;
  for (const PeerSnapshot& peer : pull.peers()) delivered.push_back(peer.books.delivered);
  std::ranges::sort(delivered);
  EXPECT_EQ(delivered, (std::vector<std::uint64_t>{1, 3}));
}

// One socket that dials twice is one run, with two streams that live side by side.
TEST_P(Identity, of_two_connections_of_one_socket_is_one_run) {
  Pull pull(there_, called("builder"));
  Inbox inbox(pull);
  Seen at_pull(pull);
  const std::string address = bind(pull);
  Push push(here_, called("unit"));
  push.connect(address);
  push.connect(address);
  ASSERT_SOON(pump_, at_pull.ups.size() == 2 && push.peers_connected() == 2);
  EXPECT_EQ(at_pull.ups[0].run, at_pull.ups[1].run);
  EXPECT_NE(at_pull.ups[0].id, at_pull.ups[1].id);
  for (int i = 0; i < 10; ++i) ASSERT_SOON(pump_, push.send("to either") == Status::ok);
  push.flush();
  ASSERT_SOON(pump_, inbox.size() == 10 && push.books().unsettled() == 0);
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
}

TEST_P(Identity, of_a_dialed_peer_that_was_restarted_is_another_run) {
  Push push(here_, called("unit"));
  Seen at_push(push);
  std::optional<Pull> pull(std::in_place, there_, called("first life"));
  std::string address = bind(*pull);
  push.connect(address);
  ASSERT_SOON(pump_, at_push.ups.size() == 1);
  pull.reset();
  ASSERT_SOON(pump_, !at_push.downs.empty());
  EXPECT_NE(at_push.downs[0].down.detail.find("(first life)"), std::string::npos) << at_push.why();
  pull.emplace(there_, called("second life"));
  std::uint64_t received = 0;
  pull->on_message([&](const MessageView&) { ++received; });
  (void)pull->bind(address);
  ASSERT_SOON(pump_, at_push.ups.size() == 2);
  EXPECT_EQ(at_push.ups[1].id, at_push.ups[0].id) << "a dialed peer keeps its id";
  EXPECT_NE(at_push.ups[1].run, at_push.ups[0].run);
  EXPECT_EQ(at_push.ups[1].restarts, 1U);
  EXPECT_EQ(at_push.ups[0].name, "first life");
  EXPECT_EQ(at_push.ups[1].name, "second life");
  ASSERT_SOON(pump_, push.send("to the second") == Status::ok);
  push.flush();
  ASSERT_SOON(pump_, received == 1 && push.books().unsettled() == 0);
  EXPECT_TRUE(add_up(push.books()));
}

TEST_P(Identity, of_an_accepted_peer_that_was_restarted_is_another_peer) {
  Pull pull(there_, called("builder"));
  Seen at_pull(pull);
  pull.on_message([](const MessageView&) {});
  const std::string address = bind(pull);
  for (int life = 0; life < 2; ++life) {
    Push push(here_, called("unit"));
    push.connect(address);
    ASSERT_SOON(pump_, at_pull.ups.size() == static_cast<std::size_t>(life) + 1);
  }
  EXPECT_NE(at_pull.ups[0].run, at_pull.ups[1].run);
  EXPECT_NE(at_pull.ups[0].id, at_pull.ups[1].id);
  EXPECT_EQ(at_pull.ups[1].restarts, 0U);
}

TEST_P(Identity, of_who_refuses_is_its_own_and_not_that_of_who_was_there_before) {
  Push push(here_, called("unit"));
  Seen at_push(push);
  std::optional<Pull> pull(std::in_place, there_, called("builder"));
  std::string address = bind(*pull);
  push.connect(address);
  ASSERT_SOON(pump_, at_push.ups.size() == 1);
  pull.reset();
  ASSERT_SOON(pump_, !at_push.downs.empty());
  Pair other(there_, called("imposter"));
  (void)other.bind(address);
  ASSERT_SOON(pump_, at_push.was_down_for(DownReason::pattern_mismatch));
  EXPECT_NE(at_push.downs.back().down.detail.find("(imposter)"), std::string::npos)
      << at_push.why();
  EXPECT_EQ(at_push.downs.back().down.detail.find("builder"), std::string::npos) << at_push.why();
}

TEST_P(Identity, with_a_name_that_is_none_is_refused_by_the_constructor) {
  EXPECT_NO_THROW(Push(here_, called(std::string(63, 'x'))));
  for (const std::string& name : {std::string(64, 'x'), std::string("a\nb"), std::string("\x1b[2J"),
                                  std::string("gr\xc3\xbc\xc3\x9f"), std::string("a\0b", 3)}) {
    EXPECT_THROW(Push(here_, called(name)), Error);
  }
}

ON_EVERY_TRANSPORT_AND_MODE(Identity);

// --- Connections of one stream, said byte by byte.

class StaleConnection : public EvilSender {
 protected:
  static constexpr std::uint8_t stream = 42;

  // Says hello; no more.
  RawTcp hello(const Hello& hello) {
    RawTcp raw = RawTcp::connect(address());
    raw.send(hello_of(hello));
    EXPECT_SOON(pump_, hello_in(raw.received()).stream == hello.stream);
    return raw;
  }
  static Hello of_epoch(std::uint64_t epoch) {
    Hello hello = sound_hello(WirePattern::push, stream);
    hello.epoch = epoch;
    return hello;
  }
  // One that is up, and has sent as many messages as `next` says before it.
  RawTcp up(std::uint64_t epoch, std::uint64_t next = 0) {
    RawTcp raw = hello(of_epoch(epoch));
    const std::size_t ups = at_pull_.ups.size();
    raw.confirm(next);
    EXPECT_SOON(pump_, at_pull_.ups.size() == ups + 1);
    return raw;
  }
  void expect_served(RawTcp& raw, std::uint64_t sequence) {
    const std::size_t before = evil_received_.size();
    raw.send(message_page(sequence, payload(0, 100)));
    ASSERT_SOON(pump_, evil_received_.size() == before + 1);
  }
  void expect_refused(RawTcp& raw) {
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::rejected) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("has had this connection"), std::string::npos)
        << gone.down.detail;
    EXPECT_FALSE(gone.peer.was_up);
    ASSERT_SOON(pump_, raw.ended());
    EXPECT_EQ(hello_in(raw.received()).refusal, detail::Refusal::other);
  }
};

TEST_F(StaleConnection, is_replaced_when_a_newer_one_is_confirmed_and_not_before) {
  RawTcp old = up(1);
  expect_served(old, 0);
  const std::uint64_t id = at_pull_.ups.back().id;
  RawTcp newer = hello(of_epoch(2));
  pump_.run_for(20ms);
  EXPECT_FALSE(old.ended()) << "a hello alone cuts nothing";
  expect_served(old, 1);
  newer.confirm(2);
  ASSERT_SOON(pump_, at_pull_.ups.size() == 3);
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::lost);
  EXPECT_NE(gone.down.detail.find("came back"), std::string::npos) << gone.down.detail;
  ASSERT_SOON(pump_, old.ended());
  expect_served(newer, 2);
  EXPECT_EQ(at_pull_.ups.back().id, id) << "it is the same peer";
  EXPECT_EQ(at_pull_.ups.back().books.delivered, 2U);
  EXPECT_EQ(pull_.books().missed, 0U);
}

TEST_F(StaleConnection, is_not_replaced_by_a_hello_that_was_captured_and_is_sent_again) {
  RawTcp connection = up(7);
  expect_served(connection, 0);
  for (int i = 0; i < 3; ++i) {
    RawTcp replayed = hello(of_epoch(7));
    expect_refused(replayed);
    expect_served(connection, static_cast<std::uint64_t>(i) + 1);
  }
}

TEST_F(StaleConnection, is_not_replaced_by_one_that_was_captured_with_its_first_page) {
  RawTcp connection = up(1);
  expect_served(connection, 0);
  const std::uint64_t nonce = hello_in(connection.received()).nonce;
  connection.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  RawTcp back = up(3, 1);
  // Of an epoch that was said, and never came up; with the nonce of another connection.
  for (const std::uint64_t epoch : {std::uint64_t{2}, std::uint64_t{3}}) {
    RawTcp replayed = hello(of_epoch(epoch));
    expect_refused(replayed);
  }
  RawTcp guessed = hello(of_epoch(4));
  guessed.send(confirm_page({.nonce = nonce, .next = 1, .oldest_kept = 1}));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
  EXPECT_NE(gone.down.detail.find("nonce"), std::string::npos) << gone.down.detail;
  expect_served(back, 1);
}

TEST_F(StaleConnection, has_an_epoch_that_falls_repeats_or_jumps) {
  RawTcp first = up(5);
  for (const std::uint64_t epoch : {std::uint64_t{4}, std::uint64_t{1}, std::uint64_t{5}}) {
    RawTcp raw = hello(of_epoch(epoch));
    expect_refused(raw);
  }
  RawTcp jumped = up(std::uint64_t{1} << 63U);
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  RawTcp last = up(~std::uint64_t{0});
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  RawTcp wrapped = hello(of_epoch(1));
  expect_refused(wrapped);
  expect_served(last, 0);
  RawTcp none = RawTcp::connect(address());
  none.send(hello_of(of_epoch(0)));
  EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << at_pull_.why();
}

// Two that were greeted side by side: whichever is confirmed first, the newer one stays.
TEST_F(StaleConnection, gives_way_whatever_the_order_in_which_they_are_confirmed) {
  {
    RawTcp older = hello(of_epoch(1));
    RawTcp newer = hello(of_epoch(2));
    newer.confirm();
    ASSERT_SOON(pump_, at_pull_.ups.size() == 2);
    older.confirm();
    const Seen::Gone& gone = next_down();
    EXPECT_FALSE(gone.peer.was_up);
    EXPECT_NE(gone.down.detail.find("older"), std::string::npos) << gone.down.detail;
    ASSERT_SOON(pump_, older.ended());
    expect_served(newer, 0);
  }
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  RawTcp older = hello(of_epoch(3));
  RawTcp newer = hello(of_epoch(4));
  older.confirm(1);
  newer.confirm(1);
  ASSERT_SOON(pump_, older.ended());
  expect_served(newer, 1);
  (void)next_down();
}

// It was greeted before the newer one, and says where it stands when that has come and gone.
TEST_F(StaleConnection, that_is_confirmed_behind_the_end_of_a_newer_one_is_too_old) {
  RawTcp older = hello(of_epoch(5));
  RawTcp newer = up(6);
  expect_served(newer, 0);
  newer.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  older.confirm();
  const Seen::Gone& gone = next_down();
  EXPECT_FALSE(gone.peer.was_up);
  EXPECT_NE(gone.down.detail.find("older"), std::string::npos) << gone.down.detail;
  RawTcp back = up(7, 1);
  expect_served(back, 1);
  EXPECT_EQ(pull_.books().missed, 0U);
}

// Otherwise nobody who says so would ever come up again.
TEST_F(StaleConnection, that_does_not_agree_on_where_the_stream_stands_ends_the_stream) {
  RawTcp first = up(1);
  expect_served(first, 0);
  Hello back = of_epoch(2);
  back.peer_run = hello_in(first.received()).run;
  first.close();
  (void)next_down();
  RawTcp lying = hello(back);
  lying.confirm(1, 7);
  EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << at_pull_.why();
  back.epoch = 3;
  RawTcp again = hello(back);
  ASSERT_SOON(pump_, again.ended());
  EXPECT_EQ(hello_in(again.received()).refusal, detail::Refusal::expired);
  EXPECT_EQ(pull_.books().delivered, 1U + good_received_);
}

// A socket remembers 8,192 streams whose peers went, and forgets those first on which nothing came.
TEST_F(StaleConnection, is_forgotten_when_many_others_have_come_and_gone) {
  if (sanitized) GTEST_SKIP() << "takes minutes with a sanitizer; StreamRecords has a test too";
  const auto come_and_go = [this](const Hello& hello, bool says_something) {
    RawTcp raw = this->hello(hello);
    const detail::RunId run = hello_in(raw.received()).run;
    const std::size_t ups = at_pull_.ups.size();
    raw.confirm(0);
    EXPECT_SOON(pump_, at_pull_.ups.size() == ups + 1);
    if (says_something) expect_served(raw, 0);
    raw.close();
    EXPECT_EQ(next_down().down.reason, DownReason::lost);
    return run;
  };
  Hello with_message = of_epoch(1);
  Hello without = sound_hello(WirePattern::push, stream + 1);
  with_message.peer_run = come_and_go(with_message, true);
  without.peer_run = come_and_go(without, false);
  constexpr std::uint16_t others = 8191;
  for (std::uint16_t i = 0; i < others; ++i) {
    Hello other = sound_hello(WirePattern::push, stream + 2);
    other.stream[0] = static_cast<std::uint8_t>(i & 0xffU);
    other.stream[1] = static_cast<std::uint8_t>(i >> 8U);
    (void)come_and_go(other, false);
  }
  without.epoch = with_message.epoch = 2;
  RawTcp forgotten = hello(without);
  ASSERT_SOON(pump_, forgotten.ended());
  EXPECT_EQ(hello_in(forgotten.received()).refusal, detail::Refusal::expired);
  RawTcp remembered = hello(with_message);
  const std::size_t ups = at_pull_.ups.size();
  remembered.confirm(1);
  ASSERT_SOON(pump_, at_pull_.ups.size() == ups + 1);
  EXPECT_EQ(at_pull_.ups.back().books.delivered, 1U) << "the books of before";
  EXPECT_EQ(pull_.books().delivered, 1U + good_received_) << "nothing that was forgotten is lost";
}

// Somebody else may have said a higher one: whose stream it is draws another.
TEST_F(StaleConnection, of_an_epoch_that_was_used_up_is_told_that_the_stream_expired) {
  RawTcp thief = up(~std::uint64_t{0});
  Hello back = of_epoch(2);
  back.peer_run = hello_in(thief.received()).run;
  RawTcp again = hello(back);
  ASSERT_SOON(pump_, again.ended());
  EXPECT_EQ(hello_in(again.received()).refusal, detail::Refusal::expired);
}

// A hello that refuses need say nothing else: who connects cannot begin with that.
TEST_F(StaleConnection, that_refuses_before_it_was_answered_is_refused) {
  Hello nothing;
  nothing.pattern = WirePattern::push;
  nothing.refusal = detail::Refusal::other;
  nothing.page_bytes_max = 0;
  nothing.message_bytes_max = ~std::uint64_t{0};
  RawTcp raw = RawTcp::connect(address());
  raw.send(hello_of(nothing));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::rejected) << gone.down.detail;
  ASSERT_SOON(pump_, raw.ended());
  EXPECT_EQ(hello_in(raw.received()).refusal, detail::Refusal::other);
}

TEST_F(StaleConnection, of_another_run_does_not_get_the_stream) {
  RawTcp connection = up(1);
  Hello thief = of_epoch(2);
  thief.run.fill(99);
  RawTcp raw = hello(thief);
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::rejected) << gone.down.detail;
  EXPECT_NE(gone.down.detail.find("another socket's"), std::string::npos) << gone.down.detail;
  ASSERT_SOON(pump_, raw.ended());
  expect_served(connection, 0);
}

TEST_F(StaleConnection, of_a_stream_that_is_not_known_here_is_told_that_it_expired) {
  for (const bool of_this_run : {true, false}) {
    Hello hello = of_epoch(9);
    hello.peer_run.fill(1);
    if (of_this_run) {
      RawTcp other = this->hello(sound_hello(WirePattern::push, 43));
      hello.peer_run = hello_in(other.received()).run;
      other.close();
      (void)next_down();
    }
    const std::size_t downs = at_pull_.downs.size();
    RawTcp raw = this->hello(hello);
    ASSERT_SOON(pump_, raw.ended());
    EXPECT_EQ(at_pull_.downs.size(), downs) << "it comes again at once: " << at_pull_.why();
    EXPECT_EQ(hello_in(raw.received()).refusal, detail::Refusal::expired);
  }
}

// What a peer may not use, because it was not offered: named in the reason.
TEST_F(StaleConnection, is_ended_for_what_was_not_offered) {
  namespace frame_flag = detail::frame_flag;
  struct Case {
    Bytes bytes;
    const char* word;
  };
  const auto control = [](std::uint32_t kind) {
    return page(
        all({frame_word(8, frame_flag::control | (kind << frame_flag::control_shift)), word(1)}), 0,
        0, detail::page_flag::control);
  };
  const std::vector<Case> cases = {
      {page(all({frame_word(8, frame_flag::request), word(7), word(1)}), 1), "request"},
      {page(all({frame_word(8), word(1)}), 1, 0, detail::page_flag::redelivered), "redelivery"},
      {control(7), "*stay*"},
      {control(8), "*ask*"},
      {control(9), "*grant*"},
      {control(10), "*cancel*"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.word);
    RawTcp raw = greeted();
    raw.send(one.bytes);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
    EXPECT_NE(gone.down.detail.find(one.word), std::string::npos) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("offered"), std::string::npos) << gone.down.detail;
    ASSERT_SOON(pump_, raw.ended());
    good_messages(3);
  }
  EXPECT_TRUE(evil_received_.empty());
}

// --- What an answer may say of itself to who dialed.

using FalseAnswer = EvilReceiver;

TEST_F(FalseAnswer, is_found_out) {
  struct Case {
    const char* word;
    void (*lie)(Hello&);
  };
  for (const Case& one : std::initializer_list<Case>{
           {"another connection", [](Hello& hello) { hello.stream.fill(3); }},
           {"another connection", [](Hello& hello) { ++hello.epoch; }},
           {"nonce", [](Hello& hello) { hello.nonce = 0; }},
           {"another socket", [](Hello& hello) { hello.peer_run.fill(3); }}}) {
    SCOPED_TRACE(one.word);
    RawListener server;
    Push push(here_, wary_options());
    Seen at_push(push);
    push.connect(server.address());
    std::optional<RawTcp> raw;
    ASSERT_SOON(pump_, (raw || (raw = server.accept())) && hello_in(raw->received()).epoch != 0);
    Hello hello = answer_to(hello_in(raw->received()), WirePattern::pull);
    one.lie(hello);
    raw->send(hello_of(hello));
    ASSERT_SOON(pump_, !at_push.downs.empty());
    EXPECT_EQ(at_push.downs[0].down.reason, DownReason::protocol_error) << at_push.why();
    EXPECT_NE(at_push.why().find(one.word), std::string::npos) << at_push.why();
    EXPECT_TRUE(at_push.ups.empty());
  }
}

// Not false at all: an earlier connection of the stream was confirmed after this hello, and what it
// carried did not come.
TEST_F(FalseAnswer, of_a_new_stream_may_have_positions_all_the_same) {
  RawListener server;
  Pull pull(here_, wary_options());
  Seen at_pull(pull);
  pull.connect(server.address());
  std::optional<RawTcp> raw;
  ASSERT_SOON(pump_, (raw || (raw = server.accept())) && hello_in(raw->received()).epoch != 0);
  const Hello answer = answer_to(hello_in(raw->received()), WirePattern::push);
  ASSERT_EQ(answer.peer_run, detail::RunId{});
  raw->send(hello_of(answer));
  raw->send(confirm_page({.nonce = answer.nonce, .next = 2, .oldest_kept = 2}));
  ASSERT_SOON(pump_, at_pull.ups.size() == 1);
  EXPECT_EQ(pull.books().missed, 2U);
}

// It counts its connections up, keeps its stream, and draws another one when it is told to.
TEST_F(FalseAnswer, that_the_stream_expired_is_followed_by_another_stream_at_once) {
  RawListener server;
  Push push(here_, wary_options());
  Seen at_push(push);
  push.connect(server.address());
  const auto next = [&] {
    std::optional<RawTcp> raw;
    EXPECT_SOON(pump_, (raw || (raw = server.accept())) && hello_in(raw->received()).epoch != 0);
    return std::move(*raw);
  };
  RawTcp first = next();
  const Hello said = hello_in(first.received());
  EXPECT_EQ(said.epoch, 1U);
  EXPECT_EQ(said.peer_run, detail::RunId{});
  const Hello answer = answer_to(said, WirePattern::pull);
  first.send(hello_of(answer));
  first.send(confirm_page(answer.nonce));
  ASSERT_SOON(pump_, at_push.ups.size() == 1);
  ASSERT_EQ(push.send("in doubt"), Status::ok);
  push.flush();
  pump_.run_for(5ms);
  first.close();
  RawTcp second = next();
  const Hello again = hello_in(second.received());
  EXPECT_EQ(again.stream, said.stream);
  EXPECT_EQ(again.epoch, 2U);
  EXPECT_EQ(again.peer_run, answer.run);
  EXPECT_EQ(push.books().in_doubt, 1U);
  Hello refusal = answer_to(again, WirePattern::pull);
  refusal.refusal = detail::Refusal::expired;
  const std::size_t downs = at_push.downs.size();
  second.send(hello_of(refusal));
  RawTcp third = next();
  const Hello anew = hello_in(third.received());
  EXPECT_NE(anew.stream, said.stream);
  EXPECT_EQ(anew.epoch, 1U);
  EXPECT_EQ(anew.peer_run, detail::RunId{});
  EXPECT_EQ(anew.run, said.run);
  EXPECT_EQ(push.books().unsettled(), 0U);
  EXPECT_EQ(push.books().dropped_by[static_cast<std::size_t>(DropReason::connection_lost)], 1U);
  EXPECT_EQ(at_push.downs.size(), downs) << "nothing to tell: " << at_push.why();
}

}  // namespace
}  // namespace netio::test

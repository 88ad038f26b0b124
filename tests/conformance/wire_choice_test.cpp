// Which wire a connection to a netio:// address goes over, and what is said about it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/conformance.hpp"
#include "socket/other_wires.hpp"
#include "support/raw_shm.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::OfferedWire;
using detail::WireOffer;
using detail::WirePattern;

class WireChoice : public testing::Test {
 protected:
  static constexpr auto any = "netio://127.0.0.1:0";

  // Where a Pull is bound.
  std::string bind(Pull& pull, const std::string& address = any) {
    pull.on_message([this](const MessageView&) { ++received_; });
    return pull.bind(address);
  }
  // They are connected, and carry a message.
  void expect_up(Push& push, const Pull& pull, std::size_t peers = 1) {
    ASSERT_SOON(pump_, push.peers_connected() == peers && pull.peers_connected() == peers);
    const std::uint64_t before = received_;
    ASSERT_EQ(push.send("a message"), Status::ok);
    ASSERT_SOON(pump_, received_ == before + 1 && push.books().acknowledged == push.books().sent);
  }
  static SocketOptions eager() {
    SocketOptions options;
    options.reconnect_after_min = 2ms;
    options.reconnect_after_max = 20ms;
    return options;
  }
  static std::string reason(const Push& push) { return push.peers().at(0).wire_reason; }

  Context here_{small_context()};
  Context there_{small_context()};
  Pump pump_{&here_, &there_};
  std::uint64_t received_ = 0;
};

TEST_F(WireChoice, goes_over_shared_memory_on_one_host_and_nobody_hears_of_the_first_connection) {
  Pull pull(there_);
  Push push(here_);
  Seen at_pull(pull);
  Seen at_push(push);
  const std::string bound = bind(pull);
  push.connect(bound);
  expect_up(push, pull);
  EXPECT_EQ(at_push.ups.at(0).wire, "shm");
  EXPECT_EQ(at_push.ups.at(0).wire_reason, "");
  EXPECT_EQ(at_push.ups.at(0).address, bound);
  EXPECT_EQ(at_pull.ups.at(0).wire, "shm");
  EXPECT_TRUE(at_pull.ups.at(0).address.starts_with("netio://127.0.0.1:"))
      << at_pull.ups.at(0).address;
  pump_.run_for(20ms);
  for (const Socket* const each : {static_cast<Socket*>(&push), static_cast<Socket*>(&pull)}) {
    EXPECT_EQ(each->counters().connects, 1U);
    EXPECT_EQ(each->counters().disconnects, 0U);
    EXPECT_EQ(each->counters().rejected, 0U);
    EXPECT_EQ(each->peers().size(), 1U);
  }
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
}

TEST_F(WireChoice, is_made_again_when_the_other_end_is_another_run) {
  auto pull = std::make_unique<Pull>(there_);
  Push push(here_, eager());
  Seen at_push(push);
  const std::string bound = bind(*pull);
  push.connect(bound);
  expect_up(push, *pull);
  pull.reset();
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  pull = std::make_unique<Pull>(there_);
  bind(*pull, bound + "?wire=tcp");
  expect_up(push, *pull);
  EXPECT_EQ(at_push.ups.back().wire, "tcp");
  EXPECT_EQ(at_push.ups.back().wire_reason, "the other end offers no other wire");
  pull.reset();
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  pull = std::make_unique<Pull>(there_);
  bind(*pull, bound);
  expect_up(push, *pull);
  EXPECT_EQ(at_push.ups.back().wire, "shm");
  EXPECT_EQ(at_push.ups.back().restarts, 2U);
}

TEST_F(WireChoice, stays_on_tcp_where_that_is_asked_for) {
  Pull pull(there_);
  Push push(here_);
  push.connect(bind(pull) + "?wire=tcp");
  expect_up(push, pull);
  EXPECT_EQ(push.peers().at(0).wire, "tcp");
  EXPECT_EQ(reason(push), "tcp was asked for");
  EXPECT_EQ(pull.peers().at(0).wire, "tcp");
}

TEST_F(WireChoice, says_that_a_wire_is_not_offered) {
  Pull pull(there_);
  Push push(here_);
  push.connect(bind(pull, "netio://127.0.0.1:0?wire=shm") + "?wire=ofi+tcp");
  expect_up(push, pull);
  EXPECT_EQ(push.peers().at(0).wire, "tcp");
  EXPECT_TRUE(reason(push).starts_with("ofi+tcp: ")) << reason(push);
}

TEST_F(WireChoice, reaches_who_listens_on_tcp_alone) {
  Pull pull(there_);
  Push push(here_);
  const std::string bound = bind(pull, "tcp://127.0.0.1:0");
  push.connect("netio" + bound.substr(3));
  expect_up(push, pull);
  EXPECT_EQ(push.peers().at(0).wire, "tcp");
  EXPECT_EQ(reason(push), "the other end offers no other wire");
  EXPECT_EQ(pull.peers().at(0).wire, "tcp");
}

TEST_F(WireChoice, is_no_matter_of_who_connects_over_tcp) {
  Pull pull(there_);
  Push push(here_);
  push.connect("tcp" + bind(pull).substr(5));
  expect_up(push, pull);
  EXPECT_EQ(push.peers().at(0).wire, "tcp");
  EXPECT_EQ(reason(push), "");
  EXPECT_EQ(pull.peers().at(0).wire, "tcp");
}

TEST_F(WireChoice, of_two_connections_to_one_address_is_made_for_each) {
  Pull pull(there_);
  Push push(here_);
  const std::string bound = bind(pull);
  push.connect(bound);
  push.connect(bound);
  ASSERT_SOON(pump_, push.peers_connected() == 2 && pull.peers_connected() == 2);
  for (const auto& peer : pull.peers()) EXPECT_EQ(peer.wire, "shm");
}

#ifdef NETIO_WITH_FABRIC
TEST_F(WireChoice, takes_a_fabric_that_both_ask_for) {
  Pull pull(there_);
  Push push(here_);
  push.connect(bind(pull, "netio://127.0.0.1:0?wire=ofi+tcp") + "?wire=ofi+tcp");
  expect_up(push, pull);
  EXPECT_EQ(push.peers().at(0).wire, "ofi+tcp");
  EXPECT_EQ(reason(push), "");
  EXPECT_EQ(pull.peers().at(0).wire, "ofi+tcp");
  EXPECT_EQ(pull.counters().rejected, 0U);
}
#endif

TEST_F(WireChoice, takes_a_device_that_both_have) {
  const char* const host = std::getenv("NETIO_TEST_VERBS");
  if (host == nullptr) GTEST_SKIP() << "NETIO_TEST_VERBS names no RDMA device's address";
  Pull pull(there_);
  const std::string bound = bind(pull, "netio://" + std::string(host) + ":0");
  std::chrono::nanoseconds best = 1h;
  for (std::size_t i = 0; i < 3; ++i) {
    Push push(here_);
    push.connect(bound + "?wire=verbs");
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1);
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begun);
    expect_up(push, pull);
    EXPECT_EQ(push.peers().at(0).wire, "verbs");
    EXPECT_EQ(reason(push), "");
    EXPECT_EQ(pull.peers().at(0).wire, "verbs");
    push.close();
    ASSERT_SOON(pump_, push.closed() && pull.peers_connected() == 0);
  }
  std::printf("up after %.1f ms\n", static_cast<double>(best.count()) * 1e-6);
  EXPECT_EQ(pull.counters().rejected, 0U);
}

TEST_F(WireChoice, refuses_options_that_it_does_not_know) {
  Pull pull(there_);
  EXPECT_THROW(pull.bind("netio://127.0.0.1:0?wire=best&wires=2"), AddressError);
  EXPECT_THROW(pull.bind("netio://127.0.0.1:0?wire=rdma"), AddressError);
  EXPECT_THROW(pull.connect("netio://127.0.0.1:1?window=5"), AddressError);
  EXPECT_THROW(pull.connect("netio://127.0.0.1:0"), AddressError);
  EXPECT_THROW(pull.connect("netio://*:5000"), AddressError);
}

// One side says what it offers and the other answers: the choice takes seven turns of the loops. A
// turn with nothing to do waits for a millisecond, so that a timer of 50 ms would take 50 turns.
TEST_F(WireChoice, waits_for_no_timer) {
  constexpr int turns_most = 40;
  Pull pull(there_);
  Push push(here_);
  push.connect(bind(pull));
  int turns = 0;
  for (; push.peers_connected() == 0 && turns < turns_most; ++turns) pump_.turn(1ms);
  EXPECT_LT(turns, turns_most);
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  EXPECT_EQ(push.peers().at(0).wire, "shm");
}

// An accepting side that is played: it offers what it is told to.
class Offering : public WireChoice {
 protected:
  // Answers the hello of the Push with these offers. Its token is all sevens.
  void offer(const std::function<void(detail::WireOffers&)>& change) {
    push_.connect("netio://127.0.0.1:" + std::to_string(listener_.port()));
    std::optional<RawTcp> found;
    ASSERT_SOON(pump_, (found = listener_.accept()).has_value());
    raw_ = std::make_unique<RawTcp>(std::move(*found));
    ASSERT_SOON(pump_, hello_in(raw_->received()).epoch != 0);
    theirs_ = hello_in(raw_->received());
    Hello answer = answer_to(theirs_, WirePattern::pull);
    answer.offers.place = detail::place_of_this_thread();
    answer.offers.token.fill(7);
    answer.offers.add({.wire = OfferedWire::shm, .name = name_});
    change(answer.offers);
    answer_ = answer;
    raw_->send(hello_of(answer));
  }
  // The Push has confirmed on tcp, and is up when it is answered; why it stayed.
  std::string reason_to_stay() {
    const std::size_t hello_bytes = hello_of(theirs_).size();
    EXPECT_SOON(pump_, raw_->received().size() > hello_bytes);
    raw_->send(confirm_page(answer_.nonce));
    EXPECT_SOON(pump_, push_.peers_connected() == 1);
    EXPECT_EQ(push_.peers().at(0).wire, "tcp");
    return reason(push_);
  }
  static std::string address_of(std::uint64_t name) { return to_string(detail::shm_url(name)); }

  Push push_{here_};
  Seen seen_{push_};
  RawListener listener_;
  std::unique_ptr<RawTcp> raw_;
  Hello theirs_;
  Hello answer_;
  const std::uint64_t name_ = 0x6e657469'00000000U + static_cast<std::uint64_t>(::getpid());
};

TEST_F(Offering, of_another_host_is_not_tried) {
  offer([](auto& offers) { offers.place.boot[3] ^= 1U; });
  EXPECT_EQ(reason_to_stay(), "shm: the other end is on another host; verbs: not offered there");
}

TEST_F(Offering, of_another_network_namespace_is_not_tried) {
  offer([](auto& offers) { ++offers.place.network; });
  EXPECT_TRUE(reason_to_stay().starts_with("shm: the other end is in another network namespace"));
}

TEST_F(Offering, of_another_user_is_not_tried) {
  offer([](auto& offers) { offers.place.user = 12345; });
  EXPECT_TRUE(reason_to_stay().starts_with("shm: the other end is of another user, 12345"));
}

TEST_F(Offering, at_which_nobody_listens_costs_nothing_more) {
  const auto begun = std::chrono::steady_clock::now();
  offer([](auto&) {});
  const std::string why = reason_to_stay();
  EXPECT_TRUE(why.starts_with("shm: nobody listens at " + address_of(name_))) << why;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 500ms);
  EXPECT_TRUE(seen_.downs.empty()) << seen_.why();
}

TEST_F(Offering, at_which_nothing_answers_is_given_up_after_a_second) {
  const RawShmListener silent(address_of(name_), SOCK_SEQPACKET);
  const auto begun = std::chrono::steady_clock::now();
  offer([](auto&) {});
  const std::string why = reason_to_stay();
  EXPECT_TRUE(why.starts_with("shm: did not come up in time")) << why;
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 900ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 1500ms);
  EXPECT_TRUE(seen_.downs.empty()) << seen_.why();
}

TEST_F(Offering, at_which_another_socket_answers_is_not_taken) {
  Pull other(there_);
  Seen at_other(other);
  other.bind(address_of(name_));
  offer([](auto&) {});
  const std::string why = reason_to_stay();
  EXPECT_TRUE(why.starts_with("shm: ")) << why;
  EXPECT_EQ(other.peers_connected(), 0U);
}

// Of a release that knows no tokens.
TEST_F(Offering, at_which_another_run_answers_is_not_taken) {
  RawShmListener listener(address_of(name_), SOCK_SEQPACKET);
  offer([](auto&) {});
  std::unique_ptr<RawShm> other;
  ASSERT_SOON(pump_, (other = listener.accept()) != nullptr);
  ASSERT_SOON(pump_, other->answered());
  Hello theirs = theirs_;
  ++theirs.epoch;
  other->greet(hello_of(answer_to(theirs, WirePattern::pull, 2)));
  const std::string why = reason_to_stay();
  EXPECT_TRUE(why.starts_with("shm: another socket than the one that has offered it answers"))
      << why;
}

TEST_F(Offering, of_unknown_wires_or_with_no_port_is_skipped) {
  offer([](auto& offers) {
    offers.count = 0;
    offers.add({.wire = static_cast<OfferedWire>(99), .port = 5, .name = 7});
    offers.add({.wire = OfferedWire::verbs});
  });
  const std::string why = reason_to_stay();
  EXPECT_TRUE(why.starts_with("shm: not offered there; verbs: ")) << why;
}

TEST_F(Offering, side_that_does_not_wait_for_the_confirm_breaks_the_protocol) {
  const RawShmListener silent(address_of(name_), SOCK_SEQPACKET);
  offer([](auto&) {});
  raw_->send(confirm_page(answer_.nonce));
  ASSERT_SOON(pump_, raw_->ended());
  EXPECT_EQ(push_.peers_connected(), 0U);
}

// The connection over tcp ends while shared memory is tried: the next one is not kept waiting.
TEST_F(Offering, that_keeps_the_other_end_waiting_too_long_is_not_tried_again_at_once) {
  const RawShmListener silent(address_of(name_), SOCK_SEQPACKET);
  offer([](auto&) {});
  pump_.run_for(20ms);
  raw_->close();
  std::optional<RawTcp> found;
  ASSERT_SOON(pump_, (found = listener_.accept()).has_value());
  RawTcp again = std::move(*found);
  ASSERT_SOON(pump_, hello_in(again.received()).epoch != 0);
  Hello answer = answer_to(hello_in(again.received()), WirePattern::pull);
  answer.offers = answer_.offers;
  const std::size_t hello_bytes = again.received().size();
  const auto begun = std::chrono::steady_clock::now();
  again.send(hello_of(answer));
  ASSERT_SOON(pump_, again.received().size() > hello_bytes);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 500ms);
}

// A connecting side that is played, to a Pull at a netio:// address.
class Offered : public WireChoice {
 protected:
  void SetUp() override {
    tcp_ = std::make_unique<RawTcp>(RawTcp::connect("tcp" + bound_.substr(5)));
    hello_ = sound_hello(WirePattern::push);
    tcp_->send(hello_of(hello_));
    ASSERT_SOON(pump_, hello_in(tcp_->received()).nonce != 0);
    answer_ = hello_in(tcp_->received());
    ASSERT_GE(answer_.offers.count, 1U);
    ASSERT_EQ(answer_.offers.offers[0].wire, OfferedWire::shm);
    address_ = to_string(detail::shm_url(answer_.offers.offers[0].name));
    ++hello_.epoch;
    hello_.token = answer_.offers.token;
  }
  // Says this hello over shared memory; whether it was refused.
  bool is_refused(const Hello& hello) {
    const std::uint64_t before = pull_.counters().rejected;
    RawShm raw(address_);
    raw.greet(hello_of(hello));
    pump_.run_for(5ms);
    const bool answered = raw.answered();
    raw.close();
    EXPECT_SOON(pump_, answered || pull_.counters().rejected == before + 1);
    return !answered && seen_.downs.back().down.reason == DownReason::rejected;
  }

  Pull pull_{there_};
  Seen seen_{pull_};
  std::string bound_ = bind(pull_);
  std::unique_ptr<RawTcp> tcp_;
  Hello hello_;
  Hello answer_;
  std::string address_;
};

TEST_F(Offered, may_be_taken_with_the_token_and_a_higher_epoch) {
  RawShm raw(address_);
  raw.greet(hello_of(hello_));
  ASSERT_SOON(pump_, raw.answered());
  ASSERT_SOON(pump_, pull_.peers_connected() == 1);
  EXPECT_EQ(pull_.peers().at(0).wire, "shm");
  // The other connection is given up, and nobody is told.
  ASSERT_SOON(pump_, tcp_->ended());
  EXPECT_TRUE(seen_.downs.empty()) << seen_.why();
  EXPECT_EQ(pull_.counters().rejected, 0U);
}

TEST_F(Offered, may_be_left_for_tcp_again) {
  RawShm raw(address_);
  raw.send(hello_of(hello_), raw.descriptors());
  ASSERT_SOON(pump_, raw.answered());
  raw.send(hello_of(hello_));
  tcp_->confirm();
  ASSERT_SOON(pump_, pull_.peers_connected() == 1);
  EXPECT_EQ(pull_.peers().at(0).wire, "tcp");
  ASSERT_SOON(pump_, raw.ended());
  EXPECT_TRUE(seen_.downs.empty()) << seen_.why();
  EXPECT_EQ(pull_.counters().rejected, 0U);
}

TEST_F(Offered, is_refused_with_another_token) {
  hello_.token[5] ^= 1U;
  EXPECT_TRUE(is_refused(hello_));
  EXPECT_EQ(pull_.counters().rejected, 1U);
  tcp_->confirm();
  ASSERT_SOON(pump_, pull_.peers_connected() == 1);
}

TEST_F(Offered, is_refused_without_a_token) {
  hello_.token = {};
  EXPECT_TRUE(is_refused(hello_));
}

TEST_F(Offered, is_refused_to_another_stream_or_run_or_an_older_connection) {
  Hello other = hello_;
  other.stream[0] ^= 1U;
  EXPECT_TRUE(is_refused(other));
  seen_.downs.clear();
  other = hello_;
  other.run[0] ^= 1U;
  EXPECT_TRUE(is_refused(other));
  seen_.downs.clear();
  other = hello_;
  --other.epoch;
  EXPECT_TRUE(is_refused(other));
}

TEST_F(Offered, is_refused_once_the_other_end_stays_on_tcp) {
  tcp_->confirm();
  ASSERT_SOON(pump_, pull_.peers_connected() == 1);
  EXPECT_TRUE(is_refused(hello_));
  EXPECT_EQ(pull_.peers_connected(), 1U);
}

TEST_F(Offered, wire_is_no_wire_for_a_token_on_tcp) {
  RawTcp raw = RawTcp::connect("tcp" + bound_.substr(5));
  raw.send(hello_of(hello_));
  ASSERT_SOON(pump_, raw.ended());
  raw.close();
  ASSERT_SOON(pump_, pull_.counters().rejected == 1);
}

TEST_F(Offered, is_told_of_once_if_both_connections_end) {
  {
    RawShm raw(address_);
    raw.send(hello_of(hello_), raw.descriptors());
    ASSERT_SOON(pump_, raw.answered());
    tcp_->close();
    pump_.run_for(10ms);
    EXPECT_TRUE(seen_.downs.empty()) << seen_.why();
  }
  ASSERT_SOON(pump_, !seen_.downs.empty());
  pump_.run_for(10ms);
  EXPECT_EQ(seen_.downs.size(), 1U) << seen_.why();
  EXPECT_EQ(pull_.counters().rejected, 1U) << seen_.why();
}

}  // namespace
}  // namespace netio::test

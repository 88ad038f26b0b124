// Subscribers of a publisher that keeps what was sent for those who come back: they vanish and
// return all the time, or never, or lie about where they stand.
#include <vector>

#include "conformance/evil_subscriber.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::WirePolicy;

class ReturningSubscriber : public EvilSubscriber {
 protected:
  ReturningSubscriber()
      : EvilSubscriber(PublishOptions{.block_for_max = 100ms}, {.policy = Policy::block},
                       options()) {}
  static SocketOptions options() {
    SocketOptions options = wary_options();
    options.resume_bytes_max = std::size_t{64} << 10U;
    return options;
  }
  // Another connection of the stream, which has been up `epoch` times with this one.
  Hello returning(std::uint8_t stream, std::uint64_t epoch) {
    Hello hello = alike_hello(stream);
    hello.epoch = epoch;
    if (epoch > 1) hello.peer_run = run_;
    return hello;
  }
  // Asks for the tag of the good one, is answered, and vanishes.
  void come_and_vanish(const Hello& hello, std::uint64_t revision, WirePolicy policy,
                       std::uint64_t got = 0) {
    RawTcp raw = greeted(hello, 2, got);
    if (HasFailure()) return;
    run_ = hello_in(raw.received()).run;
    raw.send(page_of(Change{.revision = revision,
                            .ranges = {{good_tag, good_tag}},
                            .policy = policy,
                            .behind_bytes_max = 0}));
    // What it is told first is of its set before.
    ASSERT_SOON(pump_, [&] {
      const Heard now = heard(raw.received());
      return !now.answers.empty() && now.answers.back().revision == revision;
    }());
    const std::size_t downs = at_publish_.downs.size();
    raw.reset();
    ASSERT_SOON(pump_, at_publish_.downs.size() == downs + 1);
  }
  detail::RunId run_{};
};

TEST_F(ReturningSubscriber, that_returns_all_the_time_costs_the_others_nothing) {
  const std::uint64_t times = sanitized ? 50 : 1000;
  for (std::uint64_t epoch = 1; epoch <= times; ++epoch) {
    come_and_vanish(returning(100, epoch), epoch, WirePolicy::drop_old);
    if (HasFailure()) return;
    if (epoch % 10 == 0) good_messages(1);
  }
  EXPECT_EQ(publish_.peers().size(), 2U);
}

TEST_F(ReturningSubscriber, that_says_it_got_what_was_not_sent_loses_its_stream) {
  come_and_vanish(returning(101, 1), 1, WirePolicy::drop_new);
  good_messages(20);
  RawTcp raw = RawTcp::connect(address(), 2);
  raw.send(hello_of(returning(101, 2)));
  ASSERT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  const std::size_t downs = at_publish_.downs.size();
  raw.confirm(0, std::uint64_t{1} << 20U);
  ASSERT_SOON(pump_, at_publish_.downs.size() == downs + 1);
  EXPECT_EQ(at_publish_.downs.back().down.reason, DownReason::protocol_error);
  EXPECT_EQ(publish_.peers().size(), 1U) << "its subscription is over";
}

// An answer to it could not be told from the answer before.
TEST_F(ReturningSubscriber, that_repeats_a_revision_is_refused) {
  come_and_vanish(returning(102, 1), 7, WirePolicy::drop_new);
  RawTcp raw = greeted(returning(102, 2));
  const std::size_t downs = at_publish_.downs.size();
  raw.send(page_of(Change{.revision = 7, .ranges = {{good_tag, good_tag}}}));
  ASSERT_SOON(pump_, at_publish_.downs.size() == downs + 1);
  EXPECT_EQ(at_publish_.downs.back().down.reason, DownReason::protocol_error);
  EXPECT_EQ(publish_.peers().size(), 1U);
}

// Each of them would hold the publisher up: their host may, for a while.
TEST_F(ReturningSubscriber, that_blocks_and_never_returns_holds_nobody_up_for_long) {
  const std::uint8_t many = 60;
  for (std::uint8_t stream = 1; stream <= many; ++stream) {
    come_and_vanish(returning(stream, 1), 1, WirePolicy::block);
  }
  EXPECT_EQ(publish_.peers().size(), many + 1U);
  const auto begin = std::chrono::steady_clock::now();
  good_messages(300);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  EXPECT_EQ(good_.books().missed, 0U);
}

}  // namespace
}  // namespace netio::test

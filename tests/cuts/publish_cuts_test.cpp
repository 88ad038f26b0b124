// Connections between a publisher and its subscribers are cut anywhere, under load. Who asked for
// Policy::block loses nothing; who asked for another policy is given each message once, or is told
// that it is missing, in the right place. Each test prints what it cut.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cuts/cuts.hpp"

namespace netio::test {
namespace {

struct PublishCase {
  const char* name;
  Policy policy;  // of one subscriber; the other one blocks
  Mode mode = Mode::buffered;
  std::size_t bytes_min = 200;
  std::size_t bytes_max = 200;
  std::size_t behind_bytes_max = 100'000;
  bool dials = false;  // the publisher has connected
  const char* scheme = "tcp://";
};
void PrintTo(const PublishCase& one, std::ostream* out) { *out << one.name; }

constexpr std::size_t publish_large = 300'000;
constexpr std::size_t much = std::size_t{64} << 20U;
const PublishCase publish_cases[] = {
    {"publish_200B_with_block", Policy::block},
    {"publish_300kB_with_block", Policy::block, Mode::unbuffered, publish_large, publish_large,
     much},
    {"publish_of_all_sizes_with_block", Policy::block, Mode::unbuffered, 0, publish_large},
    {"publish_dialed_with_block", Policy::block, Mode::buffered, 0, publish_large, 100'000, true},
    {"publish_with_drop_new", Policy::drop_new, Mode::buffered, 0, publish_large},
    {"publish_with_drop_old", Policy::drop_old, Mode::unbuffered, 0, publish_large},
    {"publish_with_sample", Policy::sample, Mode::buffered, 0, 2000},
    {"publish_with_disconnect", Policy::disconnect, Mode::buffered, 0, 2000, much},
    {"publish_with_block_over_a_fabric", Policy::block, Mode::buffered, 0, 2000, 100'000, false,
     "ofi+tcp://"},
};

// Its messages are numbered by their tags, which are all different.
class Reader {
 public:
  Reader(Context& context, const PublishCase& what, Policy policy)
      : socket(context,
               {.policy = policy,
                .behind_bytes_max =
                    policy == Policy::block ? std::size_t{200'000} : what.behind_bytes_max},
               resuming(what.mode)) {
    socket.on_message([this](const MessageView& message) {
      const std::uint64_t number = message.tag();
      if (number < next || !is_payload(message.bytes(), number)) ++wrong;
      skipped += number - next;
      next = number + 1;
      ++received;
    });
    socket.on_gap([this](const PeerInfo&, const Gap& gap) { told_missing += gap.count; });
    socket.on_subscribed([this](const PeerInfo&, const Subscribed&) { subscribed = true; });
    socket.subscribe_all();
  }
  Subscribe socket;
  bool subscribed = false;
  std::uint64_t next = 0;
  std::uint64_t received = 0;
  std::uint64_t skipped = 0;
  std::uint64_t told_missing = 0;
  std::uint64_t wrong = 0;
};

class PublishCuts : public OverARelay<PublishCase> {
 protected:
  void connect() {
    const std::string any = what_.scheme + std::string("127.0.0.1:0");
    if (!what_.dials) {
      relays_.push_back(std::make_unique<Relay>(publish_.bind(any)));
      for (Reader* const reader : {&blocking_, &other_}) {
        reader->socket.connect(through(*relays_[0]));
      }
      return;
    }
    for (Reader* const reader : {&blocking_, &other_}) {
      relays_.push_back(std::make_unique<Relay>(reader->socket.bind(any)));
      publish_.connect(through(*relays_.back()));
    }
  }
  // Mostly small, where sizes differ.
  std::size_t next_size() {
    const bool small = what_.bytes_min != what_.bytes_max && random_.below(10) != 0;
    const std::size_t most = small ? std::min<std::size_t>(what_.bytes_max, 3000) : what_.bytes_max;
    return what_.bytes_min + random_.below(most - what_.bytes_min + 1);
  }
  void send_some(int most) {
    for (; most != 0; --most) {
      if (!message_) message_ = payload(sent_, next_size());
      if (publish_.send(*message_, sent_) != Status::ok) return;
      ++sent_;
      message_.reset();
    }
  }
  [[nodiscard]] std::uint64_t cuts_inside_a_page() const {
    std::uint64_t count = 0;
    for (const auto& relay : relays_) count += relay->cuts_inside_a_page();
    return count;
  }

  Context here_{context_options()};
  Context there_{context_options()};
  Pump pump_{&here_, &there_};
  // A busy machine may hold it up for long.
  Publish publish_{here_, {.block_for_max = 0ns, .behind_bytes_max = much}, resuming(what_.mode)};
  Reader blocking_{there_, what_, Policy::block};
  Reader other_{there_, what_, what_.policy};
  std::vector<std::unique_ptr<Relay>> relays_;
  Random random_{seed()};
  std::optional<std::vector<std::byte>> message_;
  std::uint64_t sent_ = 0;
};

TEST_P(PublishCuts, lose_nothing_untold) {
  const std::uint64_t wanted = cuts_wanted();
  std::uint64_t broken = 0;
  std::uint64_t with_unacknowledged = 0;
  bool too_slow = false;
  publish_.on_down([&](const PeerInfo& peer, const Down& down) {
    if (!peer.was_up) return;
    too_slow = too_slow || down.reason == DownReason::too_slow;
    ++broken;
    // A cut breaks both connections.
    if (publish_.books().unsettled() != 0) ++with_unacknowledged;
  });
  connect();
  ASSERT_SOON(pump_, blocking_.subscribed && other_.subscribed);
  const std::size_t within =
      what_.dials ? std::max<std::size_t>(400'000, 3 * what_.bytes_max) : 400;
  const auto begin = std::chrono::steady_clock::now();
  auto last_at = begin;
  std::uint64_t last = 0;
  // So many cuts have to come inside a page. On a busy machine few of them do.
  const auto cut_pages = [&] { return fabric() || cuts_inside_a_page() >= wanted / 5; };
  while (broken < wanted || !cut_pages()) {
    ASSERT_LT(broken, 5 * wanted) << cuts_inside_a_page() << " cuts came inside a page";
    // Mostly while both are sent to.
    const bool now = publish_.peers_connected() == 2 || random_.below(20) == 0;
    for (const auto& relay : relays_) {
      if (relay->fault_pending() || !now) continue;
      relay->cut_after(random_.below(within),
                       random_.below(2) == 0 ? Relay::End::reset : Relay::End::fin);
    }
    send_some(100);
    pump_.turn();
    expect_bounded(publish_, std::size_t{4} << 20U, 2 * what_.bytes_max + 128 * 1024);
    if (broken != last) last_at = std::chrono::steady_clock::now();
    last = broken;
    ASSERT_LT(std::chrono::steady_clock::now() - last_at, 30s) << "it stands still";
  }
  for (const auto& relay : relays_) relay->cut_no_more();
  ASSERT_SOON(pump_, publish_.peers_connected() == 2 && publish_.books().unsettled() == 0);
  // One message more, which is before no gap.
  ASSERT_SOON(pump_, publish_.send(payload(sent_, 10), sent_) == Status::ok);
  ++sent_;
  ASSERT_SOON(pump_, blocking_.next == sent_ && other_.next == sent_);
  ASSERT_SOON(pump_, publish_.books().unsettled() == 0);

  EXPECT_EQ(blocking_.received, sent_);
  EXPECT_EQ(blocking_.told_missing, 0U);
  // Who was disconnected had no subscription for a while.
  const std::uint64_t unwanted = too_slow ? other_.skipped - other_.told_missing : 0;
  EXPECT_EQ(other_.received + other_.told_missing, sent_ - unwanted);
  if (what_.policy == Policy::block) {
    EXPECT_EQ(other_.told_missing, 0U);
    EXPECT_EQ(publish_.counters().resume_given_up, 0U);
  }
  EXPECT_EQ(other_.skipped, other_.told_missing + unwanted);
  EXPECT_EQ(blocking_.wrong + other_.wrong, 0U);
  const Books books = publish_.books();
  EXPECT_EQ(books.sent, 2 * sent_ - unwanted);
  EXPECT_EQ(books.acknowledged, blocking_.received + other_.received);
  EXPECT_EQ(books.dropped(), other_.told_missing);
  EXPECT_EQ(other_.socket.books().missed, other_.told_missing);

  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("cuts: %s: %llu connections broken in %.1f s, %.0f %% with data unacknowledged",
              what_.name, static_cast<unsigned long long>(broken), seconds,
              percent(with_unacknowledged, broken));
  EXPECT_GE(percent(with_unacknowledged, broken), 90.0);
  if (!fabric()) {
    std::printf(", %llu cuts inside a page", static_cast<unsigned long long>(cuts_inside_a_page()));
  }
  std::printf("; %llu messages, %llu sent again, %llu dropped and told (seed %llu)\n",
              static_cast<unsigned long long>(sent_),
              static_cast<unsigned long long>(publish_.counters().resent),
              static_cast<unsigned long long>(other_.told_missing),
              static_cast<unsigned long long>(seed()));
}

INSTANTIATE_TEST_SUITE_P(of, PublishCuts, testing::ValuesIn(publish_cases),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace netio::test

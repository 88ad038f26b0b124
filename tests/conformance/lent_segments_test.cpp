// Messages of segments whose last one lies where the wire sends it from: lent, or a message. It is
// not copied where the wire can read it, arrives behind its head, and comes back once.
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// What each message has in front of its body.
std::string head_of(std::uint64_t number) { return "head " + std::to_string(number); }

class LentSegments : public Conformance {
 protected:
  void expect_all(Receiving& socket) {
    socket.on_message([this](const MessageView& message) {
      const Segments segments = message.segments();
      const bool right = segments.size() == 3 && segments[1].empty() &&
                         text_of(segments[0]) == head_of(received_) &&
                         is_payload(segments[2], received_) && message.tag() == received_;
      if (!right) ++wrong_;
      ++received_;
    });
  }
  template <typename Socket>
  void count_releases(Socket& socket) {
    socket.on_released([this](std::uint64_t token) { ++released_[token]; });
  }
  // Lends the body of message `number`, which lives as long as the test.
  template <typename Socket>
  Status lend(Socket& socket, std::uint64_t number, std::size_t bytes) {
    if (bodies_.size() <= number) bodies_.push_back(payload(number, bytes));
    const std::string head = head_of(number);
    const std::string_view text = head;
    return socket.lend_segments({text, std::string_view(), bodies_[number]}, number, number);
  }
  template <typename Socket>
  void lend_all(Socket& socket, std::span<const std::size_t> sizes) {
    for (const std::size_t bytes : sizes) {
      const std::uint64_t number = bodies_.size();
      Status status = Status::again;
      ASSERT_SOON(pump_, (status = lend(socket, number, bytes)) != Status::again &&
                             status != Status::not_connected);
      ASSERT_EQ(status, Status::ok);
    }
  }
  void expect_each_released_once() {
    EXPECT_SOON(pump_, released_.size() == bodies_.size());
    for (const auto& [token, times] : released_) EXPECT_EQ(times, 1) << token;
  }
  // Bodies up to a quarter of a page are gathered; the peer reads no lent memory of shm, and verbs
  // reads what is no page only where that is registered.
  [[nodiscard]] std::uint64_t copied_of(std::size_t bytes) const {
    const std::string scheme = GetParam().address.substr(0, GetParam().address.find(':'));
    const bool in_place = scheme == "tcp" || scheme == "ofi+tcp";
    const bool page = scheme == "verbs" && bytes > GetParam().page_bytes;
    return (in_place || page) && bytes > GetParam().page_bytes / 4 ? 0 : bytes;
  }

  std::deque<std::vector<std::byte>> bodies_;
  std::map<std::uint64_t, int> released_;
  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
};

TEST_P(LentSegments, arrive_behind_their_head_and_come_back_once) {
  Pull pull(there_, options());
  Push push(here_, options());
  expect_all(pull);
  count_releases(push);
  join(pull, push);
  std::vector<std::size_t> sizes = {0,      1,       900,       2000,      3000,   3900,
                                    4000,   15'000,  17'000,    60'000,    65'000, 65'536,
                                    70'000, 300'001, 4U << 20U, 16'000'003};
  lend_all(push, sizes);
  ASSERT_SOON(pump_, received_ == sizes.size());
  expect_each_released_once();
  EXPECT_EQ(wrong_, 0U);
  settle(push);
}

TEST_P(LentSegments, are_copied_only_where_the_wire_cannot_read_them) {
  Pull pull(there_, options());
  Push push(here_, options());
  expect_all(pull);
  count_releases(push);
  join(pull, push);
  const std::size_t page = GetParam().page_bytes;
  for (const std::size_t bytes : {page / 8, page / 2, 3 * page, std::size_t{64} << 20U}) {
    const std::uint64_t before = push.counters().bytes_copied;
    const std::uint64_t number = bodies_.size();
    lend_all(push, std::span(&bytes, 1));
    ASSERT_SOON(pump_, received_ == number + 1);
    EXPECT_EQ(push.counters().bytes_copied - before, copied_of(bytes)) << bytes << " bytes";
  }
  EXPECT_EQ(wrong_, 0U);
  expect_each_released_once();
}

// With messages as the last segment: allocated without room for a head, and in memory of their own.
TEST_P(LentSegments, may_be_messages_of_any_memory) {
  Pull pull(there_, options());
  Push push(here_, options());
  expect_all(pull);
  join(pull, push);
  const std::size_t sizes[] = {1000, 40'000, 300'000};
  std::uint64_t number = 0;
  for (const std::size_t bytes : sizes) {
    for (const bool allocated : {false, true}) {
      const std::vector<std::byte> body = payload(number, bytes);
      const std::string head = head_of(number);
      Message message = Message::copy_of(body);
      Status status = Status::again;
      if (allocated) {
        ASSERT_SOON(pump_, (message = push.allocate(bytes, status)) || status != Status::again);
        ASSERT_EQ(status, Status::ok);
        std::memcpy(message.writable_bytes().data(), body.data(), bytes);
      }
      ASSERT_SOON(pump_, (status = push.send_segments(
                              {std::string_view(head), std::string_view(), std::move(message)},
                              number)) != Status::again);
      ASSERT_EQ(status, Status::ok);
      EXPECT_FALSE(message);  // NOLINT(bugprone-use-after-move)
      ++number;
      ASSERT_SOON(pump_, received_ == number);
    }
  }
  EXPECT_EQ(wrong_, 0U);
}

TEST_P(LentSegments, that_are_refused_stay_with_their_user) {
  Pull pull(there_, options());
  Push push(here_, options());
  count_releases(push);
  const std::vector<std::byte> body = payload(0, 100'000);
  const std::string_view head = "head";
  EXPECT_EQ(push.lend_segments({head, body}, 1), Status::not_connected);
  join(pull, push);
  EXPECT_EQ(push.lend_segments(std::span<const Segment>(), 2), Status::invalid);
  EXPECT_EQ(push.lend_segments({head, Message::copy_of(body)}, 3), Status::invalid);
  EXPECT_EQ(push.lend_segments(std::vector<Segment>(65, Segment(head)), 4), Status::invalid);
  // Nobody reads: what is not taken is not lent.
  pull.pause();
  Message kept = Message::copy_of(body);
  std::uint64_t taken = 0;
  Status status = Status::ok;
  while (status == Status::ok && taken < 10'000) {
    status = push.lend_segments({head, body}, 5);
    if (status == Status::ok) ++taken;
    pump_.run_for(1ms);
  }
  ASSERT_EQ(status, Status::again);
  EXPECT_EQ(push.send_segments({head, std::move(kept)}), Status::again);
  EXPECT_EQ(kept.size(), body.size());  // NOLINT(bugprone-use-after-move): it was refused
  Inbox inbox(pull);
  pull.resume();
  ASSERT_SOON(pump_, inbox.size() == taken);
  EXPECT_SOON(pump_, released_[5] == static_cast<int>(taken));
  EXPECT_EQ(released_.size(), 1U);
}

// Each of them holds a part of a page, and not a page, so that others can send.
TEST_P(LentSegments, of_many_slow_peers_leave_pages_to_others) {
  const std::size_t bytes = GetParam().page_bytes / 4 + 600;
  const std::vector<std::byte> body = payload(0, bytes);
  const std::string_view head = "head";
  std::vector<std::unique_ptr<Pull>> slow;
  std::vector<std::unique_ptr<Push>> pushes;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(std::make_unique<Pull>(there_, options()));
    slow.back()->on_message([](const MessageView&) {});
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pushes.back()->connect(bind(*slow.back()));
    ASSERT_SOON(pump_, pushes.back()->peers_connected() == 1);
    slow.back()->pause();
  }
  for (auto& push : pushes) {
    for (int i = 0; i < 2000 && push->lend_segments({head, body}, 0) == Status::ok; ++i) {
      if (i % 16 == 15) pump_.turns(1);
    }
  }
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  push.connect(bind(pull));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  for (int i = 0; i < 5; ++i) {
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = push.send("to one that reads")) != Status::again);
    ASSERT_EQ(status, Status::ok);
  }
  ASSERT_SOON(pump_, inbox.size() == 5);
  for (auto& each : pushes) each->close(0s);
}

TEST_P(LentSegments, are_published) {
  Publish publish(here_, {}, options());
  Subscribe subscribe(there_, {.policy = Policy::block}, options());
  count_releases(publish);
  expect_all(subscribe);
  std::size_t subscribed = 0;
  subscribe.on_subscribed([&](const PeerInfo&, const Subscribed&) { ++subscribed; });
  subscribe.subscribe(TagRange{0, 99});
  subscribe.connect(bind(publish));
  ASSERT_SOON(pump_, subscribed == 1);
  const std::size_t sizes[] = {0, 2000, 70'000, 600'000};
  const std::uint64_t copied = publish.counters().bytes_copied;
  lend_all(publish, sizes);
  ASSERT_SOON(pump_, received_ == std::size(sizes));
  EXPECT_GE(publish.counters().bytes_copied, copied + 672'000);
  expect_each_released_once();
  EXPECT_EQ(wrong_, 0U);
}

// Without another connection: what is lent comes back, and the books say what became of it.
TEST_P(LentSegments, come_back_when_their_peer_is_gone) {
  auto pull = std::make_unique<Pull>(there_, options());
  Push push(here_, options());
  count_releases(push);
  join(*pull, push);
  pull->pause();
  for (Status status = Status::ok; status == Status::ok; pump_.run_for(1ms)) {
    status = lend(push, bodies_.size(), 100'000);
    if (status != Status::ok) bodies_.pop_back();
  }
  pull.reset();
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  push.close(0s);
  expect_each_released_once();
  EXPECT_TRUE(add_up(push.books()));
}

ON_EVERY_TRANSPORT_AND_MODE(LentSegments);

class LentSegmentsOverCuts : public LentSegments {};

TEST_P(LentSegmentsOverCuts, are_sent_again_whole) {
  Pull pull(there_, keeping());
  Push push(here_, keeping());
  expect_all(pull);
  count_releases(push);
  Relay relay(bind(pull));
  push.connect(relay.address());
  pump_.after_each_turn(BooksCheck(push));
  Random random(21);
  while (relay.cuts() < 20) {
    // Anywhere: in a head, between it and its body, in a body.
    if (!relay.fault_pending()) relay.cut_after(random.below(200'000));
    const std::size_t sizes[] = {random.below(3000), random.below(80'000), random.below(300'000)};
    lend_all(push, sizes);
    ASSERT_LT(bodies_.size(), 10'000U);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, received_ == bodies_.size());
  settle(push);
  EXPECT_EQ(wrong_, 0U);
  EXPECT_GT(push.counters().resent, 0U);
  EXPECT_EQ(push.books().acknowledged, bodies_.size());
  expect_each_released_once();
  pump_.forget_checks();
}

ON_TCP_IN_EVERY_MODE(LentSegmentsOverCuts);

}  // namespace
}  // namespace netio::test

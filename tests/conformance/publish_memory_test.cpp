// Large messages that wait for subscribers which may lose them: they never take the memory that
// the publisher needs for the next one.
#include <deque>
#include <optional>
#include <vector>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

class PublishMemory : public Publishing {
 protected:
  // Memory for few large messages.
  PublishMemory() {
    ContextOptions scarce = small_context(GetParam());
    scarce.large_bytes_max = large_bytes;
    scarce.large_kept_bytes_max = large_bytes;
    publishing_.emplace(scarce);
    pump_.add(*publishing_);
  }
  ~PublishMemory() override { pump_.remove(*publishing_); }

  static constexpr std::size_t message_bytes = 900'000;
  static constexpr std::size_t large_bytes = std::size_t{16} << 20U;
  std::optional<Context> publishing_;
};

struct Dropping {
  const char* name;
  Policy policy;
};

TEST_P(PublishMemory, is_left_for_who_reads_by_who_may_lose_messages) {
  for (const Dropping& one :
       {Dropping{"drop_new", Policy::drop_new}, Dropping{"drop_old", Policy::drop_old},
        Dropping{"sample", Policy::sample}}) {
    SCOPED_TRACE(one.name);
    Publish publish(*publishing_, {}, options());
    const std::string address = bind(publish);
    // Each would wait for far more than there is.
    std::deque<Reader> slow;
    for (int i = 0; i < 3; ++i) {
      slow.emplace_back(*this, address,
                        SubscribeOptions{.policy = one.policy, .behind_bytes_max = 64U << 20U});
      slow.back().socket.subscribe_all();
    }
    Reader whole(*this, address);
    whole.socket.subscribe_all();
    ASSERT_SOON(pump_, slow[0].told() && slow[1].told() && slow[2].told() && whole.told());
    for (Reader& reader : slow) reader.socket.pause();
    const std::vector<std::byte> message = payload(7, message_bytes);
    for (std::uint64_t number = 0; number < 60; ++number) {
      ASSERT_EQ(send_bytes(publish, message, number), Status::ok) << number;
      ASSERT_SOON(pump_, whole.inbox.size() == number + 1) << number;
    }
    EXPECT_GT(publish.books().dropped(), 0U);
    // They get what waited, and know of all else.
    for (Reader& reader : slow) {
      reader.socket.resume();
      ASSERT_SOON(pump_, [&] {
        const Books books = reader.socket.books();
        return books.delivered + books.missed == 60;
      }());
      EXPECT_GT(reader.inbox.size(), 0U);
    }
    settle(publish);
    EXPECT_TRUE(add_up(publish.books()));
  }
}

// Who drops old ones drops them for what comes, not for what cannot be kept all the same.
TEST_P(PublishMemory, that_small_ones_do_not_give_back_is_no_reason_to_drop_them) {
  Publish publish(*publishing_, {}, options());
  const std::string address = bind(publish);
  Reader large(*this, address, {.policy = Policy::drop_new, .behind_bytes_max = 64U << 20U});
  large.socket.subscribe(1);
  ASSERT_SOON(pump_, large.told());
  Reader mixed(*this, address, {.policy = Policy::drop_old, .behind_bytes_max = 64U << 20U});
  mixed.socket.subscribe(2);
  mixed.socket.subscribe(3);
  ASSERT_SOON(pump_, mixed.told());
  large.socket.pause();
  mixed.socket.pause();
  const auto of_mixed = [&] { return publish.peers().at(1); };
  const std::vector<std::byte> small = payload(1, 1000);
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 16; ++i) EXPECT_EQ(send_bytes(publish, small, 2), Status::ok);
    return of_mixed().behind && of_mixed().waiting_messages > 50;
  }());
  const std::vector<std::byte> message = payload(7, message_bytes);
  ASSERT_SOON(pump_, [&] {
    EXPECT_EQ(send_bytes(publish, message, 1), Status::ok);
    return publish.books().dropped() != 0;
  }());
  const std::uint64_t waiting = of_mixed().waiting_messages;
  EXPECT_EQ(of_mixed().books.dropped(), 0U);
  ASSERT_EQ(send_bytes(publish, message, 3), Status::ok);
  publish.flush();
  EXPECT_EQ(of_mixed().books.dropped(), 1U);
  EXPECT_EQ(of_mixed().waiting_messages, waiting);
  large.socket.resume();
  mixed.socket.resume();
  settle(publish);
  EXPECT_TRUE(add_up(publish.books()));
}

// A sample gives back what it took, and not what takes its place.
TEST_P(PublishMemory, is_left_by_who_samples_though_the_samples_grow) {
  Publish publish(*publishing_, {}, options());
  const std::string address = bind(publish);
  Reader slow(*this, address, {.policy = Policy::sample, .behind_bytes_max = 64U << 20U});
  Reader whole(*this, address);
  slow.socket.subscribe_all();
  whole.socket.subscribe_all();
  ASSERT_SOON(pump_, slow.told() && whole.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  for (const std::size_t bytes : {std::size_t{200'000}, message_bytes}) {
    const std::vector<std::byte> message = payload(7, bytes);
    for (std::uint64_t tag = 0; tag < 60; ++tag) {
      ASSERT_EQ(send_bytes(publish, message, tag), Status::ok) << bytes << " " << tag;
      ASSERT_SOON(pump_, whole.inbox.size() == number + 1) << bytes << " " << tag;
      ++number;
    }
  }
  slow.socket.resume();
  ASSERT_SOON(pump_, slow.socket.books().delivered + slow.socket.books().missed == number);
  settle(publish);
  EXPECT_TRUE(add_up(publish.books()));
}

// That is what its policy says, if the publisher may be held up for ever.
TEST_P(PublishMemory, that_who_blocks_holds_does_not_end_its_connection) {
  SocketOptions impatient = options();
  impatient.stall_after = 40ms;
  Publish publish(*publishing_, {.block_for_max = 0ns}, impatient);
  Seen at_publish(publish);
  Reader paused(*this, bind(publish), {.policy = Policy::block, .behind_bytes_max = 64U << 20U});
  paused.socket.subscribe_all();
  ASSERT_SOON(pump_, paused.told());
  paused.socket.pause();
  const std::vector<std::byte> message = payload(7, message_bytes);
  std::uint64_t sent = 0;
  const auto send_on = [&] {
    while (at_publish.downs.empty() && publish.send(message, sent) == Status::ok) ++sent;
  };
  const auto begin = publishing_->loop().now();
  ASSERT_SOON(pump_, (send_on(), publishing_->loop().now() - begin > 10 * impatient.stall_after));
  EXPECT_GT(publish.counters().agains, 0U);
  EXPECT_TRUE(at_publish.downs.empty()) << at_publish.why();
  paused.socket.resume();
  ASSERT_SOON(pump_, paused.inbox.size() == sent);
}

// Nobody's link tells: there is none.
TEST_P(PublishMemory, that_comes_home_is_told_to_who_waits_for_it) {
  Publish publish(*publishing_, {}, options());
  int told = 0;
  publish.on_writable([&] { ++told; });
  std::vector<Message> held;
  Status status = Status::ok;
  while (status == Status::ok) {
    Message message = publish.allocate(message_bytes, status, 1);
    if (message) held.push_back(std::move(message));
  }
  ASSERT_EQ(status, Status::again);
  pump_.turns(10);
  EXPECT_EQ(told, 0);
  held.clear();
  ASSERT_SOON(pump_, told == 1);
  EXPECT_TRUE(publish.allocate(message_bytes, status, 1));
}

ON_EVERY_TRANSPORT_AND_MODE(PublishMemory);

}  // namespace
}  // namespace netio::test

// Small messages that are kept: packed into receive memory, and bounded by it.
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/allocation_counter.hpp"

namespace netio::test {
namespace {

constexpr std::size_t message_bytes = 64;

class KeepSmall : public Conformance {
 protected:
  // Room for all that can come, so that only keep() could take memory.
  static constexpr std::size_t kept_most = 1'000'000;

  // Keeps everything, without memory from the heap.
  void hoard(Receiving& pull) {
    kept_.reserve(kept_most);
    pull.on_message([this](const MessageView& message) {
      taken_from_heap_ += allocations_during([&] { kept_.push_back(message.keep()); });
    });
  }
  // Releases all of it on another thread. What is wrong is counted.
  void release() {
    std::thread([this] {
      for (const Message& message : kept_) {
        const auto at = reinterpret_cast<std::uintptr_t>(message.data());
        if (!is_payload(message.bytes(), released_++) || at % 8 != 0) ++wrong_;
      }
      kept_.clear();
    }).join();
  }

  std::vector<Message> kept_;
  std::uint64_t taken_from_heap_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t wrong_ = 0;
};

TEST_P(KeepSmall, who_keeps_everything_is_held_at_receive_bytes_max_and_goes_on_after_release) {
  SocketOptions limited = options();
  limited.receive_bytes_max = 2 * mebi;
  Pull hoarder(there_, limited);
  Push to_hoarder(here_, options());
  Pull other(there_, options());
  Push to_other(here_, options());
  hoard(hoarder);
  std::uint64_t other_count = 0;
  other.on_message([&](const MessageView&) { ++other_count; });
  join(hoarder, to_hoarder);
  join(other, to_other);
  EXPECT_EQ(hoarder.kept_bytes(), 0U);
  EXPECT_DOUBLE_EQ(hoarder.fill(), 0.0);

  const std::uint64_t taken = send_until_again(to_hoarder, message_bytes);
  EXPECT_LT(kept_.size(), taken) << "the sender is held back";
  EXPECT_GT(kept_.size() * message_bytes, mebi);
  EXPECT_LE(kept_.size() * message_bytes, 2 * mebi);
  EXPECT_DOUBLE_EQ(hoarder.fill(), 1.0);
  EXPECT_GE(hoarder.kept_bytes(), kept_.size() * message_bytes);
  EXPECT_LE(hoarder.kept_bytes(), 2 * mebi);
  EXPECT_GT(hoarder.counters().starved, 0U);
  EXPECT_EQ(taken_from_heap_, 0U);

  // Another socket of the same context does not notice.
  send_numbered(to_other, 0, 5000, [](std::uint64_t) { return message_bytes; });
  ASSERT_SOON(pump_, other_count == 5000);
  EXPECT_EQ(other.counters().starved, 0U);

  // Once it is released, all of it comes. The sender was held, and not cut.
  ASSERT_SOON(pump_, (release(), released_ == taken));
  EXPECT_EQ(wrong_, 0U);
  settle(to_hoarder);
  EXPECT_EQ(to_hoarder.books().acknowledged, taken);
  EXPECT_EQ(to_hoarder.counters().disconnects, 0U);
  EXPECT_EQ(taken_from_heap_, 0U);
  EXPECT_SOON(pump_, hoarder.kept_bytes() == 0);
  EXPECT_DOUBLE_EQ(hoarder.fill(), 0.0);
}

TEST_P(KeepSmall, what_is_kept_at_the_bound_outlives_its_socket_and_its_context) {
  {
    Context there(small_context(GetParam()));
    pump_.add(there);
    {
      SocketOptions limited = options();
      limited.receive_bytes_max = mebi;
      Pull pull(there, limited);
      Push push(here_, options());
      hoard(pull);
      join(pull, push);
      (void)send_until_again(push, message_bytes);
      EXPECT_DOUBLE_EQ(pull.fill(), 1.0);
    }
    pump_.turns(5);
    pump_.remove(there);
  }
  EXPECT_GT(kept_.size(), 0U);
  release();
  EXPECT_EQ(wrong_, 0U);
}

// Both ends turn their loops in one thread, and the displaced messages are released in another.
TEST_P(KeepSmall, the_latest_are_kept_for_as_long_as_messages_come) {
  SocketOptions limited = options();
  limited.receive_bytes_max = 2 * mebi;
  Pull pull(there_, limited);
  Push push(here_, options());
  std::vector<Message> ring(2000);
  std::vector<Message> displaced;
  displaced.reserve(ring.size());
  std::uint64_t count = 0;
  std::size_t most = 0;
  pull.on_message([&](const MessageView& message) {
    displaced.push_back(std::exchange(ring[count++ % ring.size()], message.keep()));
    most = std::max<std::size_t>(most, pull.kept_bytes());
    if (displaced.size() < ring.size()) return;
    std::thread([&] { displaced.clear(); }).join();
  });
  join(pull, push);
  constexpr std::uint64_t all = 60'000;
  send_numbered(push, 0, all, [](std::uint64_t) { return message_bytes; });
  ASSERT_SOON(pump_, count == all);
  for (std::uint64_t number = all - ring.size(); number < all; ++number) {
    ASSERT_TRUE(is_payload(ring[number % ring.size()].bytes(), number)) << number;
  }
  // Twice as many as the ring has lie behind each other, and begin and end in the middle of a
  // block.
  const std::size_t block = 4 * GetParam().page_bytes;
  EXPECT_LE(most, 2 * ring.size() * message_bytes + 3 * block);
}

ON_EVERY_TRANSPORT_AND_MODE(KeepSmall);

// Several receivers of one context whose receive pool is as small as it may be: four blocks.
class KeepInFourBlocks : public testing::Test {
 protected:
  static ContextOptions four_blocks() {
    ContextOptions options = small_context();
    options.receive_pool_bytes = 16 * options.page_bytes;
    return options;
  }
  static SocketOptions all_blocks() {
    SocketOptions options;
    options.receive_bytes_max = four_blocks().receive_pool_bytes;
    return options;
  }
  struct Pipe {
    Pipe(KeepInFourBlocks& test) : pull(test.there_, all_blocks()), push(test.here_) {
      pull.on_message([this](const MessageView& message) {
        kept = message.keep();
        ++count;
      });
      push.connect(pull.bind("tcp://127.0.0.1:0"));
    }
    Pull pull;
    Push push;
    Message kept;
    std::uint64_t count = 0;
  };
  Pipe& pipe() {
    pipes_.push_back(std::make_unique<Pipe>(*this));
    EXPECT_SOON(pump_, pipes_.back()->push.peers_connected() == 1);
    return *pipes_.back();
  }
  void send(Pipe& pipe) {
    ASSERT_EQ(pipe.push.send(payload(pipe.count, message_bytes)), Status::ok);
    pipe.push.flush();
  }

  Context here_{small_context()};
  Context there_{four_blocks()};
  Pump pump_{&here_, &there_};
  std::vector<std::unique_ptr<Pipe>> pipes_;
};

TEST_F(KeepInFourBlocks, receivers_that_keep_nothing_any_more_leave_the_memory_to_others) {
  for (int i = 0; i < 12; ++i) {
    Pipe& one = pipe();
    for (int message = 0; message < 2; ++message) {
      const std::uint64_t before = one.count;
      send(one);
      ASSERT_SOON(pump_, one.count == before + 1) << i;
      one.kept = Message();
    }
  }
}

TEST_F(KeepInFourBlocks, who_lacks_memory_gets_it_when_the_last_message_in_an_open_block_goes) {
  Pipe& starved = pipe();  // connecting takes a block, too
  std::vector<Pipe*> holders;
  for (int i = 0; i < 4; ++i) holders.push_back(&pipe());
  for (Pipe* const holder : holders) {
    send(*holder);
    ASSERT_SOON(pump_, holder->count == 1);
  }
  send(starved);
  ASSERT_SOON(pump_, starved.pull.counters().starved != 0);
  EXPECT_EQ(starved.count, 0U);
  // Not that of the last one, which shares the block it was read into.
  std::thread([&] {
    for (std::size_t i = 0; i < 3; ++i) holders[i]->kept = Message();
  }).join();
  EXPECT_SOON(pump_, starved.count == 1);
  EXPECT_TRUE(is_payload(starved.kept.bytes(), 0));
}

}  // namespace
}  // namespace netio::test

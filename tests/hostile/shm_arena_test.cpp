// Peers in shared memory with arenas of which nothing is used: they do not take the address space
// that this process needs for others, nor the memory of which the system makes the arenas when it
// looks at them.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <vector>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "support/sanitized.hpp"
#include "transport/shm/address_space.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::PeerAddressSpace;
using detail::WirePattern;

class GreedyShmPeers : public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

 private:
};

TEST_F(GreedyShmPeers, leave_address_space_for_others) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs address space of its own";
  constexpr std::size_t arena_bytes = detail::shm_memory_bytes_max;
  constexpr std::size_t fit = PeerAddressSpace::bytes_max / arena_bytes;
  const detail::FileDescriptor arena = memory_of(arena_bytes, sound_seals, false);
  std::vector<std::unique_ptr<RawShm>> greedy;
  while (greedy.size() <= fit && at_pull_.downs.empty()) {
    greedy.push_back(std::make_unique<RawShm>(address()));
    RawShm& raw = *greedy.back();
    std::array<int, 3> passed = raw.descriptors();
    passed[1] = arena.get();
    const Bytes hello =
        hello_of(sound_hello(WirePattern::push, static_cast<std::uint8_t>(greedy.size())));
    ASSERT_TRUE(raw.send(hello, passed));
    ASSERT_SOON(pump_, raw.answered() || raw.ended());
    (void)raw.send(hello);
    if (raw.answered()) raw.confirm();
    pump_.run_for(1ms);
  }
  ASSERT_EQ(at_pull_.downs.size(), 1U) << greedy.size() << " arenas were mapped";
  EXPECT_GT(greedy.size(), fit / 4);
  EXPECT_EQ(at_pull_.downs[0].down.reason, DownReason::resources) << at_pull_.why();
  EXPECT_NE(at_pull_.downs[0].down.detail.find("large_bytes_max"), std::string::npos)
      << at_pull_.why();
  // Somebody of ordinary size still comes, and those before are served.
  Push late(there_, wary_options());
  late.connect(address());
  ASSERT_SOON(pump_, late.peers_connected() == 1);
  good_messages(300);
  late.close(0s);
  // What the greedy ones had is there again.
  greedy.clear();
  ASSERT_SOON(pump_, [] {
    try {
      (void)PeerAddressSpace::take(PeerAddressSpace::bytes_max / 17);
      return true;
    } catch (const Error&) {
      return false;
    }
  }());
}

// Messages of 1 MiB of which only the first page was ever written to.
class EmptyArena {
 public:
  static constexpr std::size_t message_bytes = std::size_t{1} << 20U;

  explicit EmptyArena(std::size_t messages, std::size_t written_bytes)
      : memory_(memory_of(messages * message_bytes, 0, false)) {
    const std::size_t bytes = messages * message_bytes;
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
    EXPECT_NE(at, MAP_FAILED);
    for (std::size_t i = 0; i < messages; ++i) {
      auto* const message = static_cast<std::byte*>(at) + i * message_bytes;
      std::fill_n(message, written_bytes, std::byte{});
      detail::store_u64(message, detail::frame_word(payload_bytes, 0));
    }
    ::munmap(at, bytes);
    EXPECT_EQ(::fcntl(memory_.get(), F_ADD_SEALS,
                      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL),
              0);
  }
  // A sender that passes it, and is let in.
  std::unique_ptr<RawShm> sender(Pump& pump, const std::string& address, std::uint8_t session) {
    auto raw = std::make_unique<RawShm>(address);
    std::array<int, 3> passed = raw->descriptors();
    passed[1] = memory_.get();
    const Bytes hello = hello_of(sound_hello(WirePattern::push, session));
    EXPECT_TRUE(raw->send(hello, passed));
    EXPECT_SOON(pump, raw->answered());
    EXPECT_TRUE(raw->send(hello));
    raw->confirm();
    return raw;
  }
  static void post(RawShm& raw, std::uint64_t message) {
    detail::PageHeader header;
    header.bytes = message_bytes;
    header.messages = 1;
    header.sequence = message;
    raw.post_at(page_of(header, {}), message * message_bytes, message % detail::shm_pages);
  }
  [[nodiscard]] std::size_t bytes_taken() const {
    struct stat status {};
    EXPECT_EQ(::fstat(memory_.get(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
  // The system lets nobody make what was looked at empty again.
  void expect_that_it_stays() const {
    EXPECT_NE(::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    EXPECT_EQ(errno, EPERM);
  }

 private:
  static constexpr std::size_t payload_bytes = message_bytes - sizeof(std::uint64_t);
  detail::FileDescriptor memory_;
};

class EmptyShmArenas : public GreedyShmPeers {
 protected:
  static constexpr std::size_t messages = 100;
  void SetUp() override {
    GreedyShmPeers::SetUp();
    ASSERT_GT(messages * EmptyArena::message_bytes, wary_context().large_bytes_max);
  }
  // Sends all there are, until it is ended.
  void send_all(EmptyArena& arena, std::uint8_t session) {
    const std::size_t downs = at_pull_.downs.size();
    const auto raw = arena.sender(pump_, address(), session);
    for (std::uint64_t i = 0; i < messages && at_pull_.downs.size() == downs; ++i) {
      const std::size_t received = evil_received_.size();
      EmptyArena::post(*raw, i);
      ASSERT_SOON(pump_, evil_received_.size() > received || at_pull_.downs.size() > downs);
      if (evil_received_.size() > received) evil_received_.back() = Bytes();
    }
  }
};

TEST_F(EmptyShmArenas, take_no_more_memory_than_large_messages_may) {
  EmptyArena arena(messages, 4096);
  const std::size_t before = arena.bytes_taken();
  arena.expect_that_it_stays();
  send_all(arena, 70);
  ASSERT_EQ(at_pull_.downs.size(), 1U) << at_pull_.why();
  EXPECT_EQ(at_pull_.downs[0].down.reason, DownReason::protocol_error) << at_pull_.why();
  EXPECT_NE(at_pull_.downs[0].down.detail.find("large_bytes_max"), std::string::npos)
      << at_pull_.why();
  EXPECT_LE(arena.bytes_taken() - before, wary_context().large_bytes_max / 2);
  EXPECT_GT(arena.bytes_taken() - before, wary_context().large_bytes_max / 4);
  // What it had does not count for the next.
  EmptyArena other(messages / 4, 4096);
  const auto raw = other.sender(pump_, address(), 71);
  for (std::uint64_t i = 0; i < messages / 4; ++i) {
    const std::size_t received = evil_received_.size();
    EmptyArena::post(*raw, i);
    ASSERT_SOON(pump_, evil_received_.size() > received);
  }
  EXPECT_EQ(at_pull_.downs.size(), 1U) << at_pull_.why();
}

// Not even to look whether they are empty.
TEST_F(EmptyShmArenas, are_not_looked_at_for_pages_that_are_larger_than_a_message) {
  EmptyArena arena(messages, 4096);
  const auto raw = arena.sender(pump_, address(), 70);
  detail::PageHeader header;
  header.bytes = messages * EmptyArena::message_bytes;
  header.messages = 1;
  raw->post_at(page_of(header, {}), 0, 0);
  ASSERT_SOON(pump_, at_pull_.downs.size() == 1);
  EXPECT_EQ(at_pull_.downs[0].down.reason, DownReason::message_too_big) << at_pull_.why();
}

TEST_F(EmptyShmArenas, are_not_those_that_were_written_to) {
  EmptyArena arena(messages, EmptyArena::message_bytes);
  send_all(arena, 70);
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
}

}  // namespace
}  // namespace netio::test

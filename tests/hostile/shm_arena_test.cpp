// Peers in shared memory with arenas of 1 TiB of which nothing is used: they do not take the
// address space that this process needs for others.
#include <memory>
#include <vector>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "support/sanitized.hpp"
#include "support/watchdog.hpp"
#include "transport/shm/address_space.hpp"

namespace netio::test {
namespace {

using detail::PeerAddressSpace;
using detail::WirePattern;

class GreedyShmPeers : public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

 private:
  Watchdog watchdog_{100};
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
        hello_of(sound_shm_hello(WirePattern::push, static_cast<std::uint8_t>(greedy.size())));
    ASSERT_TRUE(raw.send(hello, passed));
    ASSERT_SOON(pump_, raw.answered() || raw.ended());
    (void)raw.send(hello);
    pump_.run_for(1ms);
  }
  ASSERT_EQ(at_pull_.downs.size(), 1U) << greedy.size() << " arenas were mapped";
  EXPECT_GT(greedy.size(), fit / 2);
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
      (void)PeerAddressSpace::take(PeerAddressSpace::bytes_max / 10);
      return true;
    } catch (const Error&) {
      return false;
    }
  }());
}

}  // namespace
}  // namespace netio::test

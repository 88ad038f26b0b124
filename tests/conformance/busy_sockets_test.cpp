// Many sockets in one context: each gets its share of the loop, however many others there are.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/time_limit.hpp"

namespace netio::test {
namespace {

class BusySockets : public Conformance {};

// Whoever has more to read all the time gives a block back, too, where others wait for one.
TEST_P(BusySockets, get_equal_shares_of_few_blocks) {
  ContextOptions tight = small_context(GetParam().page_bytes);
  const std::size_t pages = std::max<std::size_t>(16, 9 * GetParam().pages_per_connection);
  tight.receive_pool_bytes = pages * tight.page_bytes;  // four blocks, or little more than needed
  SocketOptions greedy = options();
  greedy.receive_bytes_max = tight.receive_pool_bytes;
  Context there(tight);
  Pump pump{&here_, &there};
  Pull pull(there, greedy);
  std::map<std::uint64_t, std::uint64_t> received;
  pull.on_message([&](const MessageView&) { ++received[pull.sender_id()]; });
  const std::string address = bind(pull);
  std::vector<std::unique_ptr<Push>> pushes;
  const std::vector<std::byte> message = payload(0, 1000);
  for (int i = 0; i < 8; ++i) {
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pushes.back()->on_writable([&message, &push = *pushes.back()] {
      while (push.send(message) == Status::ok) {
      }
    });
    EXPECT_EQ(pushes.back()->send(message), Status::not_connected);
    pushes.back()->connect(address);
  }
  // The senders are ahead all the time.
  const auto send_ahead = [&] {
    for (int i = 0; i < 20; ++i) here_.loop().run_once(0ns);
  };
  // Some are connected later than others.
  ASSERT_SOON(pump, (send_ahead(), received.size() == 8));
  received.clear();
  ASSERT_SOON(pump, [&] {
    send_ahead();
    return received.size() == 8 && std::all_of(received.begin(), received.end(),
                                               [](const auto& one) { return one.second > 5000; });
  }());
  for (const auto& [id, count] : received) EXPECT_LT(count, 20000U) << id;
}

TEST_P(BusySockets, get_equal_shares_beside_closed_and_idle_ones) {
  constexpr std::size_t dozens = 36;
#ifdef NDEBUG
  constexpr std::uint64_t wanted = 10'000;
#else
  constexpr std::uint64_t wanted = 2000;
#endif
  std::vector<std::unique_ptr<Pull>> others;
  for (std::size_t i = 0; i < dozens; ++i) {
    others.push_back(std::make_unique<Pull>(there_, options()));
    (void)bind(*others.back());
    if (i % 2 == 0) others.back()->close();
  }
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Push>> pushes;
  std::vector<std::uint64_t> received(dozens, 0);
  for (std::size_t i = 0; i < dozens; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pulls.back()->on_message([&received, i](const MessageView&) { ++received[i]; });
    join(*pulls.back(), *pushes.back());
  }
  // All are flooded, so that each has more to read than a turn allows.
  const std::vector<std::byte> message = payload(0, 1000);
  for (const auto& push : pushes) {
    const auto flood = [&message, &push = *push] {
      while (push.send(message) == Status::ok) {
      }
    };
    push->on_writable(flood);
    flood();
  }
  // From when each has got some, the kernel's buffers being full.
  std::vector<std::uint64_t> before;
  std::vector<std::uint64_t> share(dozens, 0);
  const auto least = [&] { return *std::min_element(share.begin(), share.end()); };
  const auto most = [&] { return *std::max_element(share.begin(), share.end()); };
  // However slow the machine: who is starved is behind the others, and ends this as well.
  constexpr std::chrono::minutes patience{2};
  extend_time_limit(4);
  ASSERT_TRUE(pump_.until(
      [&] {
        if (before.empty() && *std::min_element(received.begin(), received.end()) < 1000) {
          return false;
        }
        if (before.empty()) before = received;
        for (std::size_t i = 0; i < dozens; ++i) share[i] = received[i] - before[i];
        return least() >= wanted || most() >= 3 * wanted;
      },
      "any has its share", patience))
      << testing::PrintToString(received);
  EXPECT_GE(least(), wanted) << testing::PrintToString(share);
  EXPECT_LT(most(), 3 * wanted) << testing::PrintToString(share);
}

ON_EVERY_TRANSPORT_AND_MODE(BusySockets);

}  // namespace
}  // namespace netio::test

// Many sockets in one context: each gets its share of the loop, however many others there are.
#include <algorithm>
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class BusySockets : public Conformance {};

TEST_P(BusySockets, get_equal_shares_beside_closed_and_idle_ones) {
  constexpr std::size_t dozens = 36;
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
  ASSERT_SOON(pump_, [&] {
    if (before.empty() && *std::min_element(received.begin(), received.end()) < 1000) return false;
    if (before.empty()) before = received;
    for (std::size_t i = 0; i < dozens; ++i) share[i] = received[i] - before[i];
    return *std::min_element(share.begin(), share.end()) >= 3000;
  }());
  EXPECT_LT(*std::max_element(share.begin(), share.end()), 3 * 3000)
      << testing::PrintToString(share);
}

ON_EVERY_TRANSPORT_AND_MODE(BusySockets);

}  // namespace
}  // namespace netio::test

// Peers in shared memory that take pages, close their connection and go on holding what they were
// passed: what they hold in this way is bounded, and those who are served are served on.
#include <memory>
#include <vector>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "support/watchdog.hpp"

namespace netio::test {
namespace {

using detail::WirePattern;

class ShmGraves : public EvilReceiver {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

  // Connects, is sent messages of that size until nobody takes more, and goes. False if it was not
  // let in.
  bool take_and_go(std::size_t size) {
    RawShm& raw = *holders_.emplace_back(std::make_unique<RawShm>(address()));
    const std::size_t downs = at_push_.downs.size();
    const std::size_t connected = push_.peers_connected();
    (void)raw.greet(hello_of(
        sound_shm_hello(WirePattern::pull, static_cast<std::uint8_t>(holders_.size() % 200 + 1))));
    EXPECT_SOON(pump_, raw.answered() || raw.ended());
    EXPECT_SOON(pump_, push_.peers_connected() > connected || at_push_.downs.size() > downs);
    if (!raw.answered()) return false;
    for (int i = 0; i < 400 && raw.waiting() < 300; ++i) {
      while (push_.send(payload(sent_, size), good_tag) == Status::ok) ++sent_;
      pump_.turns(1);
    }
    raw.close();
    EXPECT_SOON(pump_, at_push_.downs.size() > downs);
    return true;
  }
  // As many as are let in, and then some.
  std::size_t take_and_go_all(std::size_t size, std::size_t most) {
    std::size_t let_in = 0;
    for (std::size_t i = 0; i < most; ++i) let_in += take_and_go(size) ? 1U : 0U;
    return let_in;
  }
  void expect_an_end(std::size_t let_in, std::size_t most) {
    EXPECT_GE(let_in, 1U);
    EXPECT_LT(let_in, most);
    ASSERT_FALSE(at_push_.downs.empty());
    const Down& refused = at_push_.downs.back().down;
    EXPECT_EQ(refused.reason, DownReason::resources) << refused.detail;
    EXPECT_NE(refused.detail.find("that have gone hold"), std::string::npos) << refused.detail;
    good_messages(300);
    // Who comes is let in once they have let go.
    Pull late(there_, wary_options());
    std::uint64_t at_late = 0;
    late.on_message([&](const MessageView&) { ++at_late; });
    late.connect(address());
    pump_.run_for(100ms);
    EXPECT_EQ(late.peers_connected(), 0U);
    holders_.clear();
    ASSERT_SOON(pump_, late.peers_connected() == 1);
    ASSERT_SOON(pump_, [&] {
      if (push_.send(payload(sent_, 3000), good_tag) == Status::ok) ++sent_;
      return at_late > 10;
    }());
    late.close(1s);
    ASSERT_SOON(pump_, push_.peers_connected() == 1);
  }

 private:
  std::vector<std::unique_ptr<RawShm>> holders_;
  Watchdog watchdog_{100};
};

TEST_F(ShmGraves, take_no_more_than_half_of_the_pages) {
  constexpr std::size_t most = 40;
  expect_an_end(take_and_go_all(10'000, most), most);
}

TEST_F(ShmGraves, are_not_without_number) {
  constexpr std::size_t most = 400;
  expect_an_end(take_and_go_all(100, most), most);
}

}  // namespace
}  // namespace netio::test

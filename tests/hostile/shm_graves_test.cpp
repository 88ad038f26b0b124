// Peers in shared memory that hold what they were passed, while they are connected and after they
// have closed their connection: what they hold is bounded, and those who are served are served on.
#include <memory>
#include <set>
#include <vector>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::WirePattern;

class ShmGraves : public EvilReceiver {
 protected:
  using EvilReceiver::EvilReceiver;
  [[nodiscard]] std::string place() const override { return "shm://*"; }

  // Connects, is sent messages of that size until nobody takes more, and goes. False if it was not
  // let in.
  bool take_and_go(std::size_t size) {
    RawShm& raw = *holders_.emplace_back(std::make_unique<RawShm>(address()));
    const std::size_t downs = at_push_.downs.size();
    const std::size_t connected = push_.peers_connected();
    (void)raw.greet(hello_of(
        sound_hello(WirePattern::pull, static_cast<std::uint8_t>(holders_.size() % 200 + 1))));
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
};

TEST_F(ShmGraves, take_no_more_than_half_of_the_pages) {
  constexpr std::size_t most = 40;
  expect_an_end(take_and_go_all(10'000, most), most);
}

TEST_F(ShmGraves, are_not_without_number) {
  constexpr std::size_t most = 400;
  expect_an_end(take_and_go_all(100, most), most);
}

// A receiver that reads all, and keeps the first page in each block of the sender's arena. All
// other pages it gives back.
class Hoarder {
 public:
  Hoarder(const std::string& address, std::uint8_t session, std::size_t block_bytes)
      : raw_(address), block_bytes_(block_bytes) {
    EXPECT_TRUE(raw_.greet(hello_of(sound_hello(WirePattern::pull, session))));
  }
  [[nodiscard]] RawShm& raw() { return raw_; }
  [[nodiscard]] std::size_t blocks_held() const { return held_.size(); }
  // False if nothing had come.
  bool read() {
    const std::uint64_t waiting = raw_.waiting();
    for (std::uint64_t i = 0; i < waiting; ++i, ++read_) {
      const detail::ShmSlot& slot = raw_.theirs().slots[read_ % detail::shm_slots];
      if (slot.place == detail::ShmSlot::inline_body) continue;
      if (held_.insert(slot.place / block_bytes_).second) continue;
      raw_.ours().returns[returned_ % detail::shm_pages].store(
          static_cast<std::uint32_t>(detail::load_u64(slot.body.data())));
      raw_.ours().returned.store(++returned_);
    }
    raw_.ours().consumed.store(read_);
    if (waiting != 0) raw_.ring();
    return waiting != 0;
  }

 private:
  RawShm raw_;
  std::size_t block_bytes_;
  std::set<std::size_t> held_;
  std::uint64_t read_ = 0;
  std::uint64_t returned_ = 0;
};

class ShmHoarders : public ShmGraves {
 protected:
  ShmHoarders() : ShmGraves(Mode::unbuffered) {}
  // As the arena has them with wary_context().
  static constexpr std::size_t block_bytes = (64U << 10U) + 4096;
  static constexpr std::size_t blocks = 64;

  // Is sent short messages for as long as any come. Null if it was not let in.
  std::unique_ptr<Hoarder> hoard(std::uint8_t session) {
    const std::size_t downs = at_push_.downs.size();
    const std::size_t connected = push_.peers_connected();
    auto hoarder = std::make_unique<Hoarder>(address(), session, block_bytes);
    EXPECT_SOON(pump_, hoarder->raw().answered() || hoarder->raw().ended());
    EXPECT_SOON(pump_, push_.peers_connected() > connected || at_push_.downs.size() > downs);
    if (!hoarder->raw().answered()) return nullptr;
    for (int idle = 0; idle < 500 && hoarder->blocks_held() < blocks; ++idle) {
      for (int i = 0; i < 64 && push_.send(payload(sent_, 200), good_tag) == Status::ok; ++i) {
        ++sent_;
      }
      pump_.turns(1);
      if (hoarder->read()) idle = 0;
    }
    return hoarder;
  }
};

TEST_F(ShmHoarders, hold_no_more_than_their_share_of_the_blocks) {
  const std::unique_ptr<Hoarder> hoarder = hoard(50);
  ASSERT_TRUE(hoarder);
  EXPECT_GT(hoarder->blocks_held(), 2U);
  EXPECT_LE(hoarder->blocks_held(), blocks / 2);
  good_messages(300);
}

TEST_F(ShmHoarders, that_go_count_the_blocks_that_they_hold) {
  std::vector<std::unique_ptr<Hoarder>> gone;
  for (std::uint8_t session = 50; session < 60; ++session) {
    auto hoarder = hoard(session);
    if (!hoarder) break;
    const std::size_t downs = at_push_.downs.size();
    hoarder->raw().close();
    ASSERT_SOON(pump_, at_push_.downs.size() > downs);
    gone.push_back(std::move(hoarder));
  }
  EXPECT_GE(gone.size(), 2U);
  EXPECT_LT(gone.size(), 10U);
  EXPECT_NE(at_push_.downs.back().down.detail.find("that have gone hold"), std::string::npos)
      << at_push_.why();
  good_messages(300);
}

}  // namespace
}  // namespace netio::test

// Memory for a message that a peer on a fabric has lent and does not serve: it is not held for
// longer than stall_after, whatever else the peer sends.
#ifdef NETIO_WITH_FABRIC

#include "conformance/evil.hpp"
#include "support/raw_fabric.hpp"

namespace netio::test {
namespace {

// A peer that makes no progress: the raw side serves only when it is looked at. It lends its
// messages to a pull.
class UnservedLend : public EvilSender {
 protected:
  // Fewer buffers than messages that may be read at a time.
  UnservedLend() : EvilSender(little_large_memory()) {}
  static ContextOptions little_large_memory() {
    ContextOptions options = wary_context();
    options.large_bytes_max = 16U << 20U;
    return options;
  }
  [[nodiscard]] std::string place() const override { return "ofi+tcp://127.0.0.1:0"; }

  void meet() {
    raw_ = std::make_unique<RawFabric>(address());
    ASSERT_SOON(pump_, raw_->connected());
    detail::Hello hello = sound_hello(detail::WirePattern::push, 66);
    hello.receives = 64;
    hello.receive_bytes = hello.page_bytes_max;
    raw_->send(hello_of(hello));
    ASSERT_SOON(pump_, raw_->received().size() == 1);
    raw_->send(confirm_page(hello_in(raw_->received().front()).nonce));
    ASSERT_SOON(pump_, (raw_->turn(), pull_.peers_connected() == 2));
    place_ = raw_->lend(memory_);
  }
  // All of the memory, again and again.
  void lend() {
    raw_->send(page(all({frame_word(static_cast<std::uint32_t>(memory_.size())),
                         word(place_.address), word(place_.key)}),
                    1, sequence_++, detail::page_flag::lent));
  }
  // Pages without messages, in one message of the fabric. The first tells of one more receive.
  void grant() {
    detail::PageHeader header;
    header.credits = 1;
    Bytes pages = page_of(header, {});
    while (pages.size() < 64'000) append(pages, page_of(detail::PageHeader(), {}));
    raw_->send(pages);
  }
  void expect_stalled() {
    ASSERT_FALSE(at_pull_.downs.empty());
    EXPECT_EQ(next_down().down.reason, DownReason::stalled) << at_pull_.why();
  }

  const Bytes memory_ = Bytes(wary_message_bytes_max, std::byte{1});
  std::unique_ptr<RawFabric> raw_;
  RawFabric::Place place_;
  std::uint64_t sequence_ = 0;
};

TEST_F(UnservedLend, ends_though_other_pages_come) {
  meet();
  lend();
  auto next = there_.loop().now();
  ASSERT_SOON(pump_, [&] {
    if (there_.loop().now() >= next) {
      grant();
      next = there_.loop().now() + 20ms;
    }
    return !at_pull_.downs.empty();
  }());
  expect_stalled();
}

// The next message that is lent finds no memory. That is no reason to wait for the first.
TEST_F(UnservedLend, ends_though_this_side_waits_for_memory) {
  meet();
  const std::uint64_t starved = pull_.counters().starved;
  ASSERT_SOON(pump_, [&] {
    if (sequence_ < 64) lend();
    return pull_.counters().starved != starved || !at_pull_.downs.empty();
  }());
  ASSERT_SOON(pump_, !at_pull_.downs.empty());
  EXPECT_GT(pull_.counters().starved, starved);
  expect_stalled();
}

}  // namespace
}  // namespace netio::test

#endif

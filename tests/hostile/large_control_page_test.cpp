// Pages above page_bytes_max that hold more than one message: they are refused before anything in
// them is looked at.
#include <memory>
#include <string>

#include "conformance/evil_subscriber.hpp"
#include "support/raw_shm.hpp"

namespace netio::test {
namespace {

using detail::PageHeader;
namespace page_flag = detail::page_flag;

class LargeControlPage : public EvilSubscriber {};

TEST_F(LargeControlPage, over_tcp_ends_its_connection) {
  RawTcp raw = greeted();
  PageHeader header;
  header.bytes = 65536;
  header.flags = page_flag::control;
  // The body need not even come.
  raw.send(page_of(header, {}));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
  EXPECT_NE(gone.down.detail.find("control page above page_bytes_max"), std::string::npos)
      << gone.down.detail;
  ASSERT_SOON(pump_, raw.ended());
}

TEST_F(LargeControlPage, over_tcp_of_the_largest_size_that_is_allowed_is_taken) {
  RawTcp raw = greeted();
  std::vector<TagRange> tags;
  for (std::uint64_t tag = 0; detail::subscribe_bytes(tags.size() + 1) + 8 + 32 <= 65536; ++tag) {
    tags.push_back({3 * tag, 3 * tag});
  }
  raw.send(page_of(Change{.ranges = tags}));
  EXPECT_EQ(answered(raw).answers.size(), 1U);
}

TEST_F(LargeControlPage, in_shared_memory_ends_its_connection) {
  const std::string address = publish_.bind("shm://*");
  RawShm raw(address);
  const std::size_t ups = at_publish_.ups.size();
  ASSERT_TRUE(raw.greet(hello_of(sound_hello(detail::WirePattern::subscribe, 67))));
  ASSERT_SOON(pump_, raw.answered() && at_publish_.ups.size() == ups + 1);
  std::vector<TagRange> tags;
  for (std::uint64_t tag = 0; tag < 5000; ++tag) tags.push_back({3 * tag, 3 * tag});
  raw.post(page_of(Change{.ranges = tags}));
  raw.ring();
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
  EXPECT_NE(gone.down.detail.find("control page above page_bytes_max"), std::string::npos)
      << gone.down.detail;
}

class LargePageOfMany : public EvilSender {};

TEST_F(LargePageOfMany, messages_ends_its_connection) {
  RawTcp raw = greeted();
  PageHeader header;
  header.bytes = 65536;
  header.messages = 2;
  raw.send(page_of(header, {}));
  const Down& down = next_down().down;
  EXPECT_EQ(down.reason, DownReason::protocol_error);
  EXPECT_NE(down.detail.find("several messages"), std::string::npos) << down.detail;
}

}  // namespace
}  // namespace netio::test

// A peer on shm that changes a message of segments after it was checked: who sends it on does not
// send a lie.
#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

namespace frame_flag = detail::frame_flag;

TEST(BadShmSegments, that_change_later_cut_nobody_else) {
  SentOn way;
  way.last.on_message([&](const MessageView& message) {
    way.last_bytes = message.size();
    EXPECT_EQ(message.segments().size(), 1U);
  });
  Message kept;
  way.pull.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.segments().size(), 2U);
    kept = message.keep();
  });
  RawShm raw(way.pull.bind("shm://*"));
  ASSERT_TRUE(raw.greet(hello_of(sound_hello(detail::WirePattern::push, 66))));
  ASSERT_SOON(way.pump, raw.answered() && way.at_pull.ups.size() == 1);
  // Large enough to be kept where it lies.
  constexpr std::size_t payload = 20'000;
  constexpr std::size_t table = 24;
  Bytes body(8 + payload);
  detail::store_u64(
      body.data(),
      detail::frame_word(payload, frame_flag::segmented | (2U << frame_flag::segments_shift)));
  detail::store_u64(body.data() + 8, 8);
  detail::store_u64(body.data() + 16, payload - table - 8);
  detail::store_u64(body.data() + 24, 2);
  detail::PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  header.messages = 1;
  raw.post(page_of(header, body));
  raw.ring();
  ASSERT_SOON(way.pump, kept);
  detail::store_u64(raw.memory().data() + 16, 1'000'000);
  EXPECT_LE(kept.segments().size(), 2U);
  EXPECT_EQ(way.onwards.send(std::move(kept)), Status::ok);
  way.expect_taken();
  EXPECT_EQ(way.last_bytes, payload - table);
}

}  // namespace
}  // namespace netio::test

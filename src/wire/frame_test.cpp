// FrameWalker at the edges of its body. What frames look like is tested by the vectors.
#include "wire/frame.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

// Exactly as long as what it holds, so that the address sanitizer sees a step beyond.
class Body {
 public:
  explicit Body(std::vector<std::uint64_t> words)
      : words_(words.size() == 0 ? nullptr : std::make_unique<std::uint64_t[]>(words.size())),
        bytes_(words.size() * 8) {
    std::copy(words.begin(), words.end(), words_.get());
  }
  [[nodiscard]] FrameWalker walker() const {
    return FrameWalker(reinterpret_cast<const std::byte*>(words_.get()), bytes_);
  }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  std::size_t bytes_;
};

TEST(FrameWalker, a_walker_of_nothing_is_at_its_end) {
  FrameWalker walker;
  Frame frame;
  EXPECT_FALSE(walker.next(frame));
  EXPECT_EQ(walker.defect(), nullptr);
  EXPECT_TRUE(walker.at_end());
}

TEST(FrameWalker, payloads_lie_in_the_body_at_multiples_of_8) {
  const Body body({frame_word(3, 0), 0x636261, frame_word(8, frame_flag::tagged), 77, 5});
  FrameWalker walker = body.walker();
  Frame frame;
  ASSERT_TRUE(walker.next(frame));
  EXPECT_EQ(frame.size, 3U);
  EXPECT_EQ(frame.payload[2], std::byte{'c'});
  ASSERT_TRUE(walker.next(frame));
  EXPECT_EQ(frame.tag, 77U);
  EXPECT_EQ(load_u64(frame.payload), 5U);
  EXPECT_TRUE(walker.at_end());
}

TEST(FrameWalker, a_tag_does_not_stay_for_the_next_frame) {
  const Body body({frame_word(0, frame_flag::tagged), 77, frame_word(0, 0)});
  FrameWalker walker = body.walker();
  Frame frame;
  ASSERT_TRUE(walker.next(frame));
  ASSERT_TRUE(walker.next(frame));
  EXPECT_EQ(frame.tag, 0U);
}

TEST(FrameWalker, a_payload_may_end_where_the_body_ends_and_no_byte_later) {
  Frame frame;
  const Body fits({frame_word(16, 0), 1, 2});
  EXPECT_TRUE(fits.walker().next(frame));
  const Body longer({frame_word(17, 0), 1, 2});
  FrameWalker walker = longer.walker();
  EXPECT_FALSE(walker.next(frame));
  EXPECT_STREQ(walker.defect(), "frame longer than its page");
}

TEST(FrameWalker, sizes_near_the_top_do_not_wrap_when_padded) {
  for (std::uint32_t size = 0xfffffff0; size != 0; ++size) {
    const Body body({frame_word(size, 0), 0});
    FrameWalker walker = body.walker();
    Frame frame;
    EXPECT_FALSE(walker.next(frame)) << size;
    EXPECT_NE(walker.defect(), nullptr) << size;
  }
}

TEST(FrameWalker, a_defect_stays) {
  const Body body({frame_word(9, 0)});
  FrameWalker walker = body.walker();
  Frame frame;
  EXPECT_FALSE(walker.next(frame));
  EXPECT_FALSE(walker.next(frame));
  EXPECT_NE(walker.defect(), nullptr);
  EXPECT_FALSE(walker.at_end());
}

TEST(FrameWalker, flags_are_accepted_where_they_make_sense_together) {
  std::vector<std::uint32_t> accepted;
  for (std::uint32_t flags = 0; flags < 64; ++flags) {
    const Body body({frame_word(8, flags), 1, 2, 3});
    FrameWalker walker = body.walker();
    Frame frame;
    if (walker.next(frame)) accepted.push_back(flags);
  }
  using namespace frame_flag;
  EXPECT_EQ(accepted, (std::vector<std::uint32_t>{0, tagged, more, tagged | more, continued,
                                                  more | continued, control}));
}

}  // namespace
}  // namespace netio::detail

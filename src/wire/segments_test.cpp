// Tables of segments: what is written is read again, and whatever else is there stays within the
// memory.
#include "wire/segments.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using Texts = std::vector<std::string>;

// Exactly as long as what it holds, so that the address sanitizer sees a step beyond.
class Exactly {
 public:
  explicit Exactly(std::size_t bytes)
      : memory_(std::make_unique<std::byte[]>(bytes)), bytes_(bytes) {}
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_;
};

std::vector<Segment> pieces_of(const Texts& texts) {
  std::vector<Segment> segments;
  for (const std::string& text : texts) segments.emplace_back(std::string_view(text));
  return segments;
}
Texts texts_of(const Segments& segments) {
  Texts texts;
  for (const std::span<const std::byte> segment : segments) {
    texts.emplace_back(reinterpret_cast<const char*>(segment.data()), segment.size());
  }
  return texts;
}
Exactly written(const Texts& texts) {
  const std::vector<Segment> segments = pieces_of(texts);
  const SegmentList list(segments);
  Exactly payload(list.bytes());
  list.write(payload.data());
  return payload;
}

std::vector<Texts> many_kinds() {
  return {{},
          {""},
          {"1"},
          {"12345678"},
          {"", ""},
          {"1", ""},
          {"", "1"},
          {"12345678", "123456789"},
          {"1", "22", "", "4444"},
          Texts(64),
          Texts(64, "x"),
          Texts(64, "123456789")};
}

TEST(SegmentTable, is_read_as_it_was_written) {
  for (const Texts& texts : many_kinds()) {
    const Exactly payload = written(texts);
    const std::size_t table = segment_table_bytes(texts.size());
    ASSERT_TRUE(has_segments(payload.data(), payload.size(), texts.size()));
    const Segments segments({payload.data() + table, payload.size() - table}, texts.size());
    EXPECT_EQ(texts_of(segments), texts);
    EXPECT_EQ(segments.size(), texts.size());
    EXPECT_EQ(segments.empty(), texts.empty());
  }
}

// docs/wire.md, "Messages of several segments".
TEST(SegmentTable, stands_in_front_with_zeros_between_segments) {
  const Exactly payload = written({"head", "body!"});
  ASSERT_EQ(payload.size(), 24U + 8U + 5U);
  EXPECT_EQ(load_u64(payload.data()), 4U);
  EXPECT_EQ(load_u64(payload.data() + 8), 5U);
  EXPECT_EQ(load_u64(payload.data() + 16), 2U);
  EXPECT_EQ(std::memcmp(payload.data() + 24, "head\0\0\0\0body!", 13), 0);
  EXPECT_EQ(segment_flags(2), 0x220U);
  EXPECT_EQ(segments_of(std::uint32_t{0x220}), 2U);
}

TEST(SegmentTable, of_a_payload_that_is_cut_short_or_longer_is_refused) {
  for (const Texts& texts : many_kinds()) {
    const Exactly payload = written(texts);
    for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
      const Exactly cut(bytes);
      if (bytes != 0) std::memcpy(cut.data(), payload.data(), bytes);
      EXPECT_FALSE(has_segments(cut.data(), cut.size(), texts.size()));
    }
    const Exactly longer(payload.size() + 1);
    std::memcpy(longer.data(), payload.data(), payload.size());
    EXPECT_FALSE(has_segments(longer.data(), longer.size(), texts.size()));
  }
}

TEST(SegmentTable, of_another_number_is_refused) {
  for (const Texts& texts : many_kinds()) {
    const Exactly payload = written(texts);
    for (std::size_t count = 0; count < 256; ++count) {
      EXPECT_EQ(has_segments(payload.data(), payload.size(), count), count == texts.size());
    }
  }
  // More than there may be, though the payload has them.
  const Exactly payload = written(Texts(65));
  EXPECT_FALSE(has_segments(payload.data(), payload.size(), 65));
}

TEST(SegmentTable, with_sizes_that_wrap_is_refused) {
  for (const std::uint64_t size :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 6, ~std::uint64_t{0} - 7, std::uint64_t{1} << 63U,
        std::uint64_t{1} << 32U, std::uint64_t{17}}) {
    const Exactly payload = written({"12345678", "12345678"});
    for (const std::size_t at : {0U, 8U}) {
      store_u64(payload.data() + at, size);
      EXPECT_FALSE(has_segments(payload.data(), payload.size(), 2));
      store_u64(payload.data() + at, 8);
    }
    EXPECT_TRUE(has_segments(payload.data(), payload.size(), 2));
  }
}

TEST(SegmentList, knows_its_sizes) {
  const Texts texts{"1", "12345678", "123"};
  const std::vector<Segment> segments = pieces_of(texts);
  const SegmentList list(segments);
  EXPECT_EQ(list.count(), 3U);
  EXPECT_EQ(list.head_bytes(), 32U + 16U);
  EXPECT_EQ(list.bytes(), 32U + 16U + 3U);
  EXPECT_EQ(list.flags(), segment_flags(3));
  EXPECT_EQ(list.roomy(), nullptr);
  const SegmentList none({});
  EXPECT_EQ(none.bytes(), 8U);
  EXPECT_EQ(none.head_bytes(), 8U);
  EXPECT_EQ(none.roomy(), nullptr);
}

TEST(SegmentHead, that_is_larger_than_any_message_has_no_room) {
  EXPECT_EQ(head_room(0), 0U);
  EXPECT_EQ(head_room(1), 65U * 8U + 8U);
  for (const std::size_t bytes : {std::size_t{UINT32_MAX}, SIZE_MAX - 7, SIZE_MAX - 1, SIZE_MAX}) {
    EXPECT_GT(head_room(bytes), std::size_t{UINT32_MAX});
  }
}

TEST(SegmentList, becomes_one_message) {
  for (const Texts& texts : many_kinds()) {
    const std::vector<Segment> segments = pieces_of(texts);
    const Message whole = SegmentList(segments).joined(9);
    EXPECT_EQ(whole.tag(), 9U);
    EXPECT_EQ(texts_of(whole.segments()), texts);
    EXPECT_EQ(label_of(whole).flags, segment_flags(texts.size()) | frame_flag::tagged);
    const std::span<const std::byte> payload = payload_of(whole);
    EXPECT_TRUE(has_segments(payload.data(), payload.size(), texts.size()));
  }
}

}  // namespace
}  // namespace netio::detail

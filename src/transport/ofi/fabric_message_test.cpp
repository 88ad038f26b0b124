// What one message of a fabric may hold. How a link answers what it may not hold is shown by
// tests/conformance/bad_fabric_test.cpp.
#include "transport/ofi/fabric_message.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using Bytes = std::vector<std::byte>;

// A page with a body of so many bytes, all 0.
Bytes page_of(std::uint32_t bytes, std::uint16_t flags = 0, std::uint16_t credits = 0) {
  PageHeader header;
  header.bytes = bytes;
  header.flags = flags;
  header.credits = credits;
  header.messages = (flags & page_flag::lent) != 0 ? 1 : 0;
  Bytes page(page_header_bytes + bytes);
  store(page.data(), header);
  return page;
}

Bytes joined(std::initializer_list<Bytes> pages) {
  Bytes all;
  for (const Bytes& page : pages) all.insert(all.end(), page.begin(), page.end());
  return all;
}

const char* defect_of(const Bytes& bytes) {
  FabricMessage message(bytes);
  PageHeader header;
  while (message.next(header)) {
  }
  return message.defect();
}

TEST(FabricMessage, holds_pages_back_to_back) {
  const Bytes bytes = joined({page_of(16), page_of(0, 0, 3), page_of(8)});
  FabricMessage message(bytes);
  PageHeader header;
  std::vector<std::uint32_t> sizes;
  std::uint32_t credits = 0;
  while (message.next(header)) {
    sizes.push_back(header.bytes);
    credits += header.credits;
  }
  EXPECT_EQ(message.defect(), nullptr);
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{16, 0, 8}));
  EXPECT_EQ(header.bytes, 8U) << "that of the last page stays";
  EXPECT_EQ(credits, 3U);
  EXPECT_FALSE(message.empty());
}

TEST(FabricMessage, is_empty_while_no_page_has_a_body) {
  const Bytes bytes = joined({page_of(0), page_of(0)});
  FabricMessage message(bytes);
  PageHeader header;
  while (message.next(header)) {
  }
  EXPECT_EQ(message.defect(), nullptr);
  EXPECT_TRUE(message.empty());
}

TEST(FabricMessage, ends_with_its_last_page) {
  const Bytes whole = joined({page_of(16), page_of(8)});
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
    const bool between = cut == page_header_bytes + 16;
    EXPECT_EQ(defect_of(bytes) == nullptr, between) << cut;
  }
  EXPECT_NE(defect_of(joined({whole, Bytes(8)})), nullptr);
}

TEST(FabricMessage, with_a_lent_page_holds_no_other) {
  const Bytes lent = page_of(24, page_flag::lent);
  EXPECT_EQ(defect_of(lent), nullptr);
  EXPECT_STREQ(defect_of(joined({lent, page_of(0)})), "lent a message in company");
  EXPECT_STREQ(defect_of(joined({page_of(0), lent})), "lent a message in company");
}

TEST(FabricMessage, has_headers_without_a_defect) {
  EXPECT_EQ(defect_of(page_of(8, page_flag::control)), nullptr);
  EXPECT_NE(defect_of(page_of(8, 4)), nullptr);
  EXPECT_NE(defect_of(page_of(12)), nullptr);
}

class LentPage : public testing::Test {
 protected:
  static constexpr std::uint64_t address = 0x1000;
  static constexpr std::uint64_t key = 77;

  // The words of the body, one after the other.
  const char* parse_words(std::initializer_list<std::uint64_t> words, std::uint32_t messages = 1) {
    body_.resize(words.size() * sizeof(std::uint64_t));
    std::byte* to = body_.data();
    for (const std::uint64_t word : words) {
      store_u64(to, word);
      to += sizeof word;
    }
    PageHeader header;
    header.messages = messages;
    return parse(header, body_, lent_);
  }

  Bytes body_;
  LentMessage lent_;
};

TEST_F(LentPage, says_where_the_message_lies) {
  EXPECT_EQ(parse_words({frame_word(5000, 0), address, key}), nullptr);
  EXPECT_EQ(lent_.size, 5000U);
  EXPECT_EQ(lent_.prefix_bytes, 8U);
  EXPECT_EQ(lent_.address, address);
  EXPECT_EQ(lent_.key, key);
}

TEST_F(LentPage, may_say_a_tag) {
  constexpr std::uint64_t tag = 9;
  EXPECT_EQ(parse_words({frame_word(1, frame_flag::tagged), tag, address, key}), nullptr);
  EXPECT_EQ(lent_.prefix_bytes, 16U);
  EXPECT_EQ(load_u64(lent_.prefix.data()), frame_word(1, frame_flag::tagged));
  EXPECT_EQ(load_u64(lent_.prefix.data() + 8), tag);
  EXPECT_EQ(lent_.address, address);
  EXPECT_EQ(lent_.key, key);
}

// A table of two segments, the first of 8 bytes, and that segment.
TEST_F(LentPage, may_have_the_beginning_of_a_message_of_segments) {
  constexpr std::uint32_t flags = frame_flag::segmented | 2U << frame_flag::segments_shift;
  constexpr std::uint64_t head = 0x1122334455667788;
  EXPECT_EQ(parse_words({frame_word(5032, flags), 8, 5000, 2, head, address, key}), nullptr);
  EXPECT_EQ(lent_.size, 5032U);
  ASSERT_EQ(lent_.front.size(), 32U);
  EXPECT_EQ(load_u64(lent_.front.data()), 8U);
  EXPECT_EQ(load_u64(lent_.front.data() + 24), head);
  EXPECT_EQ(lent_.address, address);
  EXPECT_EQ(lent_.key, key);
  // Something of it is lent, and only of a message of segments.
  EXPECT_EQ(parse_words({frame_word(33, flags), 8, 1, 2, head, address, key}), nullptr);
  EXPECT_NE(parse_words({frame_word(32, flags), 8, 0, 2, head, address, key}), nullptr);
  EXPECT_NE(parse_words({frame_word(5032, 0), 8, 5000, 2, head, address, key}), nullptr);
}

TEST_F(LentPage, lends_one_whole_message_and_not_an_empty_one) {
  EXPECT_NE(parse_words({frame_word(8, 0), address, key}, 0), nullptr);
  EXPECT_NE(parse_words({frame_word(8, 0), address, key}, 2), nullptr);
  EXPECT_NE(parse_words({frame_word(0, 0), address, key}), nullptr);
  EXPECT_NE(parse_words({frame_word(8, 0), address}), nullptr);
  EXPECT_NE(parse_words({frame_word(8, 0), address, key, 0}), nullptr);
  EXPECT_NE(parse_words({frame_word(8, frame_flag::tagged), address, key}), nullptr);
  EXPECT_NE(parse_words({frame_word(8, frame_flag::more), address, key}), nullptr);
  EXPECT_NE(parse_words({frame_word(8, frame_flag::control), address, key}), nullptr);
}

}  // namespace
}  // namespace netio::detail

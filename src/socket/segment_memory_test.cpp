// Messages of segments in counted memory: their tables are read within it, whatever a peer that
// owns it does, and written in front of a body.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "memory/block.hpp"
#include "wire/segments.hpp"

namespace netio::detail {
namespace {

using Texts = std::vector<std::string>;

// Memory that is never given back.
class NobodyOwns final : public BlockOwner {
  void give_back(Block&) noexcept override {}
};

// Exactly as long as what it holds, so that the address sanitizer sees a step beyond.
struct ExactMemory {
  explicit ExactMemory(std::size_t its_bytes)
      : memory(std::make_unique<std::byte[]>(its_bytes)), bytes(its_bytes) {}
  [[nodiscard]] std::byte* data() const { return memory.get(); }
  [[nodiscard]] std::size_t size() const { return bytes; }

  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes;
};

Texts texts_in(const Segments& segments) {
  Texts texts;
  for (const std::span<const std::byte> segment : segments) {
    texts.emplace_back(reinterpret_cast<const char*>(segment.data()), segment.size());
  }
  return texts;
}

// A peer owns the memory, and changes the table after it was checked: every word of it becomes
// every number that could matter. What is read lies in the memory all the same.
TEST(SegmentMemory, that_changes_later_leads_nowhere_else) {
  NobodyOwns owner;
  const Texts texts{"head", "between", "body"};
  const std::size_t table = segment_table_bytes(texts.size());
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{4}, std::uint64_t{7},
        std::uint64_t{9}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{65},
        std::uint64_t{1} << 32U, std::uint64_t{1} << 61U, std::uint64_t{1} << 63U,
        ~std::uint64_t{0} - 7, ~std::uint64_t{0}}) {
    for (std::size_t at = 0; at < table; at += segment_word) {
      const std::vector<Segment> segments{std::string_view(texts[0]), std::string_view(texts[1]),
                                          std::string_view(texts[2])};
      const SegmentList list(segments);
      const ExactMemory payload(list.bytes());
      list.write(payload.data());
      Block block(owner, payload.data(), payload.size());
      block.reset_count();
      const MessageView view =
          MessageView::of_kept(&block, {payload.data(), payload.size()}, 0).behind_table(3);
      ASSERT_EQ(texts_in(view.segments()), texts);
      store_u64(payload.data() + at, number);
      const auto look_at = [&](const Segments& now) {
        EXPECT_LE(now.size(), segments_max);
        for (const std::span<const std::byte> segment : now) {
          EXPECT_GE(segment.data(), payload.data());
          EXPECT_LE(segment.data() + segment.size(), payload.data() + payload.size());
        }
        // Every byte is read.
        for (const std::string& text : texts_in(now)) EXPECT_LE(text.size(), payload.size());
      };
      look_at(view.segments());
      const Message kept = view.keep();
      look_at(kept.segments());
      const std::span<const std::byte> sent = payload_of(kept);
      EXPECT_GE(sent.data(), payload.data());
      EXPECT_LE(sent.data() + sent.size(), payload.data() + payload.size());
    }
  }
}

// The others are written in front of the last one, which stays where it is.
TEST(SegmentMemory, takes_a_head_in_front_of_a_body_with_room) {
  NobodyOwns owner;
  const std::size_t room = head_room(5);
  const ExactMemory memory(room + 4);
  Block block(owner, memory.data(), memory.size());
  block.reset_count();
  Message body = Message::writable(&block, {memory.data() + room, 4}, 0);
  body.set_head_room(room);
  std::memcpy(body.writable_bytes().data(), "body", 4);
  // As many segments as there may be.
  for (const std::size_t heads : {1U, 2U, 63U}) {
    std::vector<Segment> segments(heads - 1, std::string_view());
    segments.emplace_back(std::string_view("head!"));
    segments.emplace_back(std::move(body));
    const SegmentList list(segments);
    ASSERT_EQ(list.roomy(), &body);
    Message whole = list.joined(0);
    EXPECT_EQ(whole.data() + whole.size(), memory.data() + memory.size());
    EXPECT_EQ(texts_in(whole.segments()).back(), "body");
    EXPECT_EQ(texts_in(whole.segments())[heads - 1], "head!");
    EXPECT_EQ(whole.segments().size(), heads + 1);
    list.part(whole);
    EXPECT_EQ(body.text(), "body");  // NOLINT(bugprone-use-after-move): it was not sent
  }
  // One byte too many: a copy.
  std::vector<Segment> segments(62, std::string_view());
  segments.emplace_back(std::string_view("longer head"));
  segments.emplace_back(std::move(body));
  EXPECT_EQ(SegmentList(segments).roomy(), nullptr);
  EXPECT_EQ(texts_in(SegmentList(segments).joined(0).segments()).back(), "body");
}

}  // namespace
}  // namespace netio::detail

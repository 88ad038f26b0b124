// Control frames of publish/subscribe: round trips, every size, every bit. What they look like is
// tested by the vectors.
#include "wire/control.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "wire/frame.hpp"
#include "wire/hello.hpp"

namespace netio::detail {
namespace {

// Exactly as long as what it holds, so that the address sanitizer sees a step beyond.
class Payload {
 public:
  explicit Payload(std::size_t bytes)
      : words_(std::make_unique<std::uint64_t[]>(bytes / 8)), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {reinterpret_cast<std::byte*>(words_.get()), bytes_};
  }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  std::size_t bytes_;
};

constexpr SubscribeFrame some_change{.revision = 7,
                                     .flags = subscribe_flag::whole | subscribe_flag::last,
                                     .policy = WirePolicy::disconnect,
                                     .behind_for_ms = 0xfedcba98,
                                     .behind_bytes_max = ~std::uint64_t{0},
                                     .ranges = {}};
const std::vector<TagRange> some_ranges{{5, 5}, every_tag, {1U << 20U, ~std::uint64_t{0}}};
const std::vector<TagRange> no_ranges;

Payload encoded(const SubscribeFrame& frame, const std::vector<TagRange>& ranges) {
  Payload payload(subscribe_bytes(ranges.size()));
  EXPECT_EQ(encode(frame, payload.bytes()), subscribe_head_bytes);
  store_ranges(ranges, payload.bytes().data() + subscribe_head_bytes);
  return payload;
}

template <typename AnyFrame>
Payload encoded(const AnyFrame& frame, std::size_t bytes) {
  Payload payload(bytes);
  EXPECT_EQ(encode(frame, payload.bytes()), bytes);
  return payload;
}

constexpr SubscribedFrame some_answer{.revision = 3,
                                      .from = 2 * sequence_end - 1,
                                      .refusal = SetRefusal::too_many_ranges,
                                      .policy = WirePolicy::sample,
                                      .behind_for_ms = 250,
                                      .behind_bytes_max = 1U << 22U,
                                      .ranges_max = 1U << 20U};
constexpr GapFrame some_gap{.dropped = sequence_end - 1, .reason = GapReason::superseded};

TEST(SubscribeFrame, comes_back_with_its_ranges) {
  const Payload payload = encoded(some_change, some_ranges);
  SubscribeFrame back;
  ASSERT_EQ(parse(payload.bytes(), back), nullptr);
  EXPECT_EQ(back.revision, some_change.revision);
  EXPECT_EQ(back.flags, some_change.flags);
  EXPECT_EQ(back.policy, some_change.policy);
  EXPECT_EQ(back.behind_for_ms, some_change.behind_for_ms);
  EXPECT_EQ(back.behind_bytes_max, some_change.behind_bytes_max);
  ASSERT_EQ(back.ranges.count(), some_ranges.size());
  EXPECT_EQ(back.ranges.range(2), some_ranges[2]);
  std::vector<TagRange> ranges(some_ranges.size());
  EXPECT_EQ(back.ranges.copy(ranges), nullptr);
  EXPECT_EQ(ranges, some_ranges);
}

TEST(SubscribeFrame, may_be_without_ranges) {
  const Payload payload = encoded(some_change, no_ranges);
  SubscribeFrame back;
  ASSERT_EQ(parse(payload.bytes(), back), nullptr);
  EXPECT_EQ(back.ranges.count(), 0U);
  EXPECT_EQ(back.ranges.copy({}), nullptr);
}

TEST(SubscribeFrame, a_range_that_ends_before_it_begins_is_found_as_it_is_read) {
  for (std::size_t bad = 0; bad < some_ranges.size(); ++bad) {
    std::vector<TagRange> ranges = some_ranges;
    ranges[bad] = {6, 5};
    const Payload payload = encoded(some_change, ranges);
    SubscribeFrame back;
    ASSERT_EQ(parse(payload.bytes(), back), nullptr);
    EXPECT_STREQ(back.ranges.copy(ranges), "range of tags that ends before it begins");
  }
}

TEST(SubscribeFrame, flags_are_accepted_where_they_make_sense_together) {
  using namespace subscribe_flag;
  std::vector<std::uint32_t> accepted;
  for (std::uint32_t flags = 0; flags <= 0xffff; ++flags) {
    SubscribeFrame frame = some_change;
    frame.flags = static_cast<std::uint16_t>(flags);
    const Payload payload = encoded(frame, no_ranges);
    if (parse(payload.bytes(), frame) == nullptr) accepted.push_back(flags);
  }
  EXPECT_EQ(accepted,
            (std::vector<std::uint32_t>{0, whole, remove, last, last | whole, last | remove}));
}

TEST(SubscribedFrame, comes_back_as_it_was) {
  SubscribedFrame back;
  ASSERT_EQ(parse(encoded(some_answer, subscribed_bytes).bytes(), back), nullptr);
  EXPECT_EQ(back, some_answer);
}

TEST(SubscribedFrame, a_number_beyond_all_sequences_and_drops_is_impossible) {
  SubscribedFrame frame = some_answer;
  ++frame.from;
  EXPECT_NE(parse(encoded(frame, subscribed_bytes).bytes(), frame), nullptr);
}

TEST(GapFrame, comes_back_as_it_was) {
  GapFrame back;
  ASSERT_EQ(parse(encoded(some_gap, gap_bytes).bytes(), back), nullptr);
  EXPECT_EQ(back, some_gap);
}

TEST(GapFrame, more_messages_than_there_are_sequences_are_impossible) {
  GapFrame frame = some_gap;
  ++frame.dropped;
  EXPECT_NE(parse(encoded(frame, gap_bytes).bytes(), frame), nullptr);
}

// What one byte of a sound payload may be.
template <typename AnyFrame>
std::vector<int> accepted(const Payload& payload, std::size_t at) {
  std::vector<int> values;
  const std::byte before = payload.bytes()[at];
  for (int value = 0; value < 256; ++value) {
    payload.bytes()[at] = static_cast<std::byte>(value);
    AnyFrame frame;
    if (parse(payload.bytes(), frame) == nullptr) values.push_back(value);
  }
  payload.bytes()[at] = before;
  return values;
}

TEST(ControlFrames, take_known_policies_reasons_and_refusals_and_zeros_where_reserved) {
  using Values = std::vector<int>;
  const Values policies{0, 1, 2, 3, 4};
  const Values zero{0};
  const Payload change = encoded(some_change, some_ranges);
  EXPECT_EQ(accepted<SubscribeFrame>(change, 10), policies);
  EXPECT_EQ(accepted<SubscribeFrame>(change, 11), zero);
  const Payload answer = encoded(some_answer, subscribed_bytes);
  EXPECT_EQ(accepted<SubscribedFrame>(answer, 16), (Values{0, 1}));
  EXPECT_EQ(accepted<SubscribedFrame>(answer, 17), zero);
  EXPECT_EQ(accepted<SubscribedFrame>(answer, 18), policies);
  EXPECT_EQ(accepted<SubscribedFrame>(answer, 19), zero);
  const Payload gap = encoded(some_gap, gap_bytes);
  EXPECT_EQ(accepted<GapFrame>(gap, 8), (Values{1, 2, 3, 4}));
  for (std::size_t at = 9; at < gap_bytes; ++at) EXPECT_EQ(accepted<GapFrame>(gap, at), zero);
  const Payload ending = encoded(EndingFrame(), ending_bytes);
  EXPECT_EQ(accepted<EndingFrame>(ending, 0), (Values{1}));
  for (std::size_t at = 1; at < ending_bytes; ++at) {
    EXPECT_EQ(accepted<EndingFrame>(ending, at), zero);
  }
}

TEST(ControlFrames, count_revisions_from_1) {
  SubscribeFrame change = some_change;
  change.revision = 0;
  EXPECT_NE(parse(encoded(change, some_ranges).bytes(), change), nullptr);
  SubscribedFrame answer = some_answer;
  answer.revision = 0;
  EXPECT_NE(parse(encoded(answer, subscribed_bytes).bytes(), answer), nullptr);
}

TEST(ControlFrames, of_other_sizes_are_not_read) {
  std::vector<std::size_t> changes;
  std::vector<std::size_t> answers;
  std::vector<std::size_t> gaps;
  std::vector<std::size_t> endings;
  for (std::size_t size = 0; size <= 80; ++size) {
    const std::unique_ptr<std::byte[]> memory(new std::byte[size]());
    // Sound, wherever it is long enough.
    if (size >= 16) memory[8] = std::byte{1};
    if (size != 0) memory[0] = std::byte{1};
    const std::span<const std::byte> payload(memory.get(), size);
    SubscribeFrame change;
    SubscribedFrame answer;
    GapFrame gap;
    if (parse(payload, change) == nullptr) changes.push_back(size);
    if (parse(payload, answer) == nullptr) answers.push_back(size);
    if (parse(payload, gap) == nullptr) gaps.push_back(size);
    EndingFrame ending;
    if (parse(payload, ending) == nullptr) endings.push_back(size);
  }
  EXPECT_EQ(changes, (std::vector<std::size_t>{24, 40, 56, 72}));
  EXPECT_EQ(answers, (std::vector<std::size_t>{40}));
  EXPECT_EQ(gaps, (std::vector<std::size_t>{16}));
  EXPECT_EQ(endings, (std::vector<std::size_t>{8}));
}

TEST(ControlFrames, are_not_written_where_they_do_not_fit) {
  std::array<std::byte, subscribed_bytes> room{};
  room.fill(std::byte{0x77});
  const auto before = room;
  EXPECT_EQ(encode(some_change, std::span(room).first(subscribe_head_bytes - 1)), 0U);
  EXPECT_EQ(encode(some_answer, std::span(room).first(subscribed_bytes - 1)), 0U);
  EXPECT_EQ(encode(some_gap, std::span(room).first(gap_bytes - 1)), 0U);
  EXPECT_EQ(room, before);
}

}  // namespace
}  // namespace netio::detail

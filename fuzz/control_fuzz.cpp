// A body of control frames: what their parsers accept keeps the limits that docs/wire.md gives it,
// and is written again as it was. Subscriptions in it drive a set of tags.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/tag_set.hpp"
#include "require.hpp"
#include "wire/control.hpp"
#include "wire/frame.hpp"

using namespace netio::detail;
using netio::TagRange;

namespace {

constexpr std::uint64_t number_end = std::uint64_t{1} << 57U;

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

void check_parse(std::span<const std::byte> payload, SubscribedFrame frame) {
  if (parse(payload, frame) != nullptr) return;
  require(frame.revision != 0 && frame.from < number_end);
  require(frame.refusal <= SetRefusal::too_many_ranges && frame.policy <= WirePolicy::disconnect);
  std::array<std::byte, subscribed_bytes> again{};
  require(encode(frame, again) == subscribed_bytes && same(again, payload));
}

void check_parse(std::span<const std::byte> payload, GapFrame frame) {
  if (parse(payload, frame) != nullptr) return;
  require(frame.dropped < number_end / 2);
  require(frame.reason >= GapReason::dropped_new && frame.reason <= GapReason::not_sent);
  std::array<std::byte, gap_bytes> again{};
  require(encode(frame, again) == gap_bytes && same(again, payload));
}

void check_parse(std::span<const std::byte> payload, EndingFrame frame) {
  if (parse(payload, frame) != nullptr) return;
  require(frame.reason == EndingReason::too_slow);
  std::array<std::byte, ending_bytes> again{};
  require(encode(frame, again) == ending_bytes && same(again, payload));
}

void check_sound(const TagSet& set) {
  std::uint64_t sum = 0;
  for (std::size_t index = 0; index < set.size(); ++index) {
    const TagRange range = set.ranges()[index];
    require(range.first <= range.last && set.contains(range.first) && set.contains(range.last));
    require(range.first == 0 || !set.contains(range.first - 1));
    require(range.last == netio::every_tag.last || !set.contains(range.last + 1));
    require(index == 0 || set.ranges()[index - 1].last < range.first);
    sum += range.last - range.first + 1;  // 0 for every tag
  }
  require(set.tags_up_to(sum) == sum);
  const bool all = sum == 0 && !set.empty();
  require(set.tags_up_to(~std::uint64_t{0}) == (all ? ~std::uint64_t{0} : sum));
}

// The set as the publisher has it, changed all at once and one by one.
void change(TagSet& set, const SubscribeFrame& frame, const std::vector<TagRange>& ranges) {
  if ((frame.flags & subscribe_flag::whole) != 0) set.clear();
  const bool remove = (frame.flags & subscribe_flag::remove) != 0;
  const TagSet before = set;
  TagSet one_by_one = set;
  for (const TagRange& range : ranges) {
    const std::span one(&range, 1);
    remove ? one_by_one.remove(one) : one_by_one.add(one);
  }
  remove ? set.remove(ranges) : set.add(ranges);
  check_sound(set);
  require(set == one_by_one);

  const TagSet changed(ranges);
  require(difference(remove ? set : changed, remove ? changed : set) == (remove ? set : TagSet()));
  const TagSet came = difference(set, before);
  const TagSet went = difference(before, set);
  check_sound(came);
  check_sound(went);
  require((remove ? came : went).empty());
  TagSet back = set;
  back.remove(came.ranges());
  back.add(went.ranges());
  require(back == before);
}

void check_subscribe(std::span<const std::byte> payload, TagSet& set) {
  SubscribeFrame frame;
  if (parse(payload, frame) != nullptr) return;
  require(frame.revision != 0 && (frame.flags & ~subscribe_flag::known) == 0);
  require((frame.flags & 3U) != 3U && frame.policy <= WirePolicy::disconnect);
  require(subscribe_bytes(frame.ranges.count()) == payload.size());
  std::vector<TagRange> ranges(frame.ranges.count());
  const bool sound = frame.ranges.copy(ranges) == nullptr;
  for (std::size_t index = 0; sound && index < ranges.size(); ++index) {
    require(ranges[index].first <= ranges[index].last);
    require(ranges[index] == frame.ranges.range(index));
  }
  if (!sound) return;
  std::vector<std::byte> again(payload.size());
  require(encode(frame, again) == subscribe_head_bytes);
  store_ranges(ranges, again.data() + subscribe_head_bytes);
  require(same(again, payload));
  change(set, frame, ranges);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ExactCopy input(data, size);
  FrameWalker walker(input.bytes().data(), input.bytes().size());
  TagSet set;
  for (Frame frame; walker.next(frame);) {
    // In memory of its own: what is behind it here is the next frame.
    const ExactCopy payload(reinterpret_cast<const std::uint8_t*>(frame.payload), frame.size);
    if (frame.control() == ControlKind::subscribe) check_subscribe(payload.bytes(), set);
    if (frame.control() == ControlKind::subscribed) check_parse(payload.bytes(), SubscribedFrame());
    if (frame.control() == ControlKind::gap) check_parse(payload.bytes(), GapFrame());
    if (frame.control() == ControlKind::ending) check_parse(payload.bytes(), EndingFrame());
  }
  return 0;
}

// Messages of segments whose table is wrong, sent by a peer whose hello was sound; and peers that
// do not take segments.
#include <algorithm>
#include <string_view>

#include "conformance/evil_subscriber.hpp"
#include "wire/frame.hpp"
#include "wire/segments.hpp"

namespace netio::test {
namespace {

namespace frame_flag = detail::frame_flag;
namespace page_flag = detail::page_flag;
using Sizes = std::vector<std::uint64_t>;

// A table, and so many bytes behind it.
Bytes table(const Sizes& sizes, std::uint64_t number, std::size_t behind) {
  Bytes bytes;
  for (const std::uint64_t size : sizes) append(bytes, word(size));
  append(bytes, word(number));
  bytes.resize(bytes.size() + behind, std::byte{7});
  return bytes;
}
Bytes table(const Sizes& sizes, std::size_t behind) { return table(sizes, sizes.size(), behind); }

std::uint32_t flags_of(std::uint32_t segments) { return detail::segment_flags(segments); }
Bytes frame(const Bytes& payload, std::uint32_t flags, std::size_t tag = 0) {
  if (tag != 0) flags |= frame_flag::tagged;
  Bytes bytes = frame_word(static_cast<std::uint32_t>(payload.size()), flags);
  if (tag != 0) append(bytes, word(tag));
  append(bytes, payload);
  bytes.resize(detail::wire_padded(bytes.size()));
  return bytes;
}
// The same in two parts.
Bytes in_parts(const Bytes& payload, std::uint32_t flags, std::size_t first) {
  const auto size = static_cast<std::uint32_t>(first);
  const Bytes begin(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(first));
  const Bytes end(payload.begin() + static_cast<std::ptrdiff_t>(first), payload.end());
  Bytes head = all({frame_word(size, flags | frame_flag::more), word(payload.size()), begin});
  head.resize(detail::wire_padded(head.size()));
  return all({page(head, 0), page(frame(end, frame_flag::continued), 1)});
}

struct WrongTable {
  const char* name;
  std::uint32_t segments;  // as the flags say
  Bytes payload;
};

std::vector<WrongTable> lies() {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  constexpr std::uint64_t half = std::uint64_t{1} << 63U;
  std::vector<WrongTable> lies{
      {"two in the flags, one in the table", 2, table({8}, 8)},
      {"one in the flags, two in the table", 1, table({8, 8}, 16)},
      {"none in the flags, one in the table", 0, table({8}, 8)},
      {"one in the flags, none in the table", 1, table({8}, 0, 8)},
      {"2^32 more in the table", 1, table({8}, (std::uint64_t{1} << 32U) + 1, 8)},
      {"2^64-1 in the table", 1, table({8}, most, 8)},
      {"65", 65, table(Sizes(65, 0), 0)},
      {"255", 255, table(Sizes(255, 0), 0)},
      {"a table longer than the payload", 64, table({8}, 64, 0)},
      {"a table that ends behind the payload", 2, word(2)},
      {"a size of 2^64-1", 1, table({most}, 8)},
      {"a size of 2^64-8", 1, table({most - 7}, 8)},
      {"sizes that are padded to 2^64", 2, table({most - 6, 8}, 8)},
      {"sizes of 2^63", 2, table({half, half}, 8)},
      {"sizes whose sum is 8", 3, table({half, half, 8}, 8)},
      {"a size of 2^64-8 behind one of 16", 2, table({16, most - 7}, 8)},
      {"a size larger than what is left", 1, table({9}, 8)},
      {"a second one larger than what is left", 2, table({8, 9}, 16)},
      {"all of them as large as all", 3, table({24, 24, 24}, 24)},
      {"a rest", 1, table({8}, 16)},
      {"a rest of one byte", 1, table({8}, 9)},
      {"padding behind the last one", 1, table({1}, 8)},
      {"a rest behind none", 0, table({}, 8)},
      {"a rest behind empty ones", 2, table({0, 0}, 8)},
      {"padding that passes the end", 2, table({1, 0}, 1)},
      {"padding that ends one byte behind the end", 2, table({1, 0}, 7)},
      {"padding less than there is", 2, table({1, 1}, 10)},
  };
  for (std::size_t bytes = 0; bytes < 8; ++bytes) {
    lies.push_back({"no table", 0, Bytes(bytes)});
    lies.push_back({"no table, of one", 1, Bytes(bytes)});
  }
  return lies;
}

class BadSegments : public EvilSender {
 protected:
  void expect_refused(const char* name, const Bytes& bytes,
                      DownReason reason = DownReason::protocol_error) {
    SCOPED_TRACE(name);
    RawTcp raw = greeted();
    raw.send(bytes);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, reason) << gone.down.detail;
    EXPECT_TRUE(is_readable(gone.down));
    ASSERT_SOON(pump_, raw.ended());
    good_messages(3);
  }
  void expect_lies_refused() {
    for (const WrongTable& lie : lies()) {
      const std::uint32_t flags = flags_of(lie.segments);
      expect_refused(lie.name, page(frame(lie.payload, flags), 1));
      expect_refused(lie.name, page(frame(lie.payload, flags, 5), 1));
      if (lie.payload.empty()) continue;
      SCOPED_TRACE("in parts");
      expect_refused(lie.name, in_parts(lie.payload, flags, 0));
      expect_refused(lie.name, in_parts(lie.payload, flags, lie.payload.size() / 2));
    }
    EXPECT_TRUE(evil_received_.empty());
  }
};

TEST_F(BadSegments, of_a_table_that_lies_are_refused) { expect_lies_refused(); }

TEST_F(BadSegments, of_impossible_flags_are_refused) {
  const Bytes good = table({8, 8}, 16);
  expect_refused("a number without the flag",
                 page(frame(good, 2U << frame_flag::segments_shift), 1));
  expect_refused("the same with a tag", page(frame(good, 2U << frame_flag::segments_shift, 5), 1));
  expect_refused("a number without the flag in a first part",
                 in_parts(good, 2U << frame_flag::segments_shift, 8));
  const Bytes begin = page(all({frame_word(8, frame_flag::more), word(good.size()), word(8)}), 0);
  const Bytes end(good.begin() + 8, good.end());
  for (const std::uint32_t more : {0U, frame_flag::more}) {
    const std::uint32_t later = frame_flag::continued | more;
    const std::uint32_t messages = more == 0 ? 1 : 0;
    expect_refused("segments in a later part",
                   all({begin, page(frame(end, later | flags_of(2)), messages)}));
    expect_refused("segments of none in a later part",
                   all({begin, page(frame(end, later | flags_of(0)), messages)}));
    expect_refused(
        "a number in a later part",
        all({begin, page(frame(end, later | 2U << frame_flag::segments_shift), messages)}));
  }
  const std::uint32_t bye = static_cast<std::uint32_t>(detail::ControlKind::bye)
                            << frame_flag::control_shift;
  expect_refused(
      "a control frame of segments",
      page(frame({}, frame_flag::control | frame_flag::segmented | bye), 0, 0, page_flag::control));
  expect_refused("a message of segments in a control page",
                 page(frame(good, flags_of(2)), 0, 0, page_flag::control));
  expect_refused("a request of segments", page(frame(good, flags_of(2) | frame_flag::request), 1));
  expect_refused("a time", page(frame(good, flags_of(2) | 1U << frame_flag::request_shift), 1));
  EXPECT_TRUE(evil_received_.empty());
}

// The table counts.
TEST_F(BadSegments, of_more_than_is_allowed_are_refused) {
  const auto size = static_cast<std::uint32_t>(wary_message_bytes_max - 8);
  expect_refused("with its table above the limit", page(frame(table({size}, size), flags_of(1)), 1),
                 DownReason::message_too_big);
  EXPECT_TRUE(evil_received_.empty());
}

// Whatever netio itself would not send so.
TEST_F(BadSegments, are_no_segments_at_the_very_limits) {
  std::vector<std::size_t> counts;
  pull_.on_message([&](const MessageView& message) {
    if (message.tag() != good_tag) counts.push_back(message.segments().size());
    take(message);
  });
  RawTcp raw = greeted();
  raw.send(page(frame(table({}, 0), flags_of(0)), 1, 0));
  raw.send(page(frame(table(Sizes(64, 0), 0), flags_of(64)), 1, 1));
  raw.send(page(frame(table({1, 1}, 9), flags_of(2)), 1, 2));  // padding of sevens
  const auto size = static_cast<std::uint32_t>(wary_message_bytes_max - 16);
  const Bytes largest = page(frame(table({size}, size), flags_of(1)), 1, 3);
  std::size_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    sent += raw.send(std::span(largest).subspan(sent));
    return evil_received_.size() == 4;
  }());
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 64, 2, 1}));
  EXPECT_EQ(evil_received_[0].size(), 0U);
  EXPECT_EQ(evil_received_[2].size(), 9U);
  EXPECT_EQ(evil_received_[3].size(), size);
}

// A message of segments behind a good one: the page as a whole is refused.
class BadSegmentsOfABatch : public BadSegments {
 protected:
  BadSegmentsOfABatch() {
    pull_.on_batch([this](const Batch& batch) {
      for (const MessageView& message : batch) take(message);
    });
  }
};

TEST_F(BadSegmentsOfABatch, of_a_table_that_lies_are_refused) { expect_lies_refused(); }

TEST_F(BadSegmentsOfABatch, are_refused_before_anything_of_it_is_seen) {
  const Bytes good = frame(table({8}, 8), flags_of(1));
  for (const WrongTable& lie : lies()) {
    expect_refused(lie.name, page(all({good, frame(lie.payload, flags_of(lie.segments))}), 2));
  }
  expect_refused("a number without the flag",
                 page(all({good, frame(word(1), 1U << frame_flag::segments_shift)}), 2));
  EXPECT_TRUE(evil_received_.empty());
}

// --- Receivers that do not offer to take segments.

bool holds_segments(std::span<const std::byte> received) {
  const std::string_view text(reinterpret_cast<const char*>(received.data()), received.size());
  return text.find("segment of") != std::string_view::npos;
}

// Two receivers: the good one, and a raw one that offers nothing.
class SegmentsToOthers : public EvilReceiver {
 protected:
  SegmentsToOthers() {
    pull_.on_message([this](const MessageView& message) {
      if (message.segments().size() == 2) ++segments_received_;
      ++good_received_;
    });
  }
  Status send() {
    const Status status =
        push_.send_segments({std::string_view("segment of"), std::string_view("two")});
    if (status == Status::ok) ++sent_;
    return status;
  }
  std::size_t segments_received_ = 0;
};

TEST_F(SegmentsToOthers, go_to_the_peer_that_takes_them) {
  RawTcp raw = greeted();
  constexpr std::size_t count = 50;
  std::size_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    while (sent < count && send() == Status::ok) ++sent;
    return segments_received_ == count;
  }());
  EXPECT_FALSE(holds_segments(raw.received()));
  // What is asked of this peer alone is refused, and so is a message that was kept.
  const std::uint64_t peer = at_push_.ups.back().id;
  const Segment one(std::string_view("segment of"));
  EXPECT_EQ(push_.send_segments_to(peer, {&one, 1}), Status::too_big);
  EXPECT_EQ(at_push_.downs.size(), 0U);
}

TEST_F(SegmentsToOthers, are_too_big_where_nobody_takes_them) {
  Push alone(here_, wary_options());
  Seen at_alone(alone);
  RawTcp raw = RawTcp::connect(alone.bind(place()));
  raw.send(hello_of(sound_hello(detail::WirePattern::pull, 90)));
  ASSERT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  raw.confirm();
  ASSERT_SOON(pump_, at_alone.ups.size() == 1);
  EXPECT_EQ(alone.send_segments({std::string_view("segment of")}), Status::too_big);
  Message kept = Message::copy_of(std::as_bytes(std::span(std::string_view("whole"))));
  EXPECT_EQ(alone.send_segments({std::move(kept)}), Status::too_big);
  EXPECT_EQ(kept.text(), "whole");  // NOLINT(bugprone-use-after-move): untouched
  EXPECT_EQ(alone.send(std::move(kept)), Status::ok);
  pump_.turns(10);
  EXPECT_FALSE(holds_segments(raw.received()));
  EXPECT_EQ(alone.books().sent, 1U);
  raw.close();
  ASSERT_SOON(pump_, alone.peers_connected() == 0);
}

using SegmentsToSubscribers = EvilSubscriber;

// It is told of a gap in place of each, and gets all others.
TEST_F(SegmentsToSubscribers, are_dropped_for_one_that_does_not_take_them) {
  constexpr std::uint64_t tag = 4;
  Subscribe takes(there_, {.policy = Policy::block}, wary_options());
  std::size_t received = 0;
  bool subscribed = false;
  takes.on_message([&](const MessageView& message) {
    if (message.segments().size() == 2) ++received;
  });
  takes.on_subscribed([&](const PeerInfo&, const Subscribed&) { subscribed = true; });
  takes.subscribe(tag);
  takes.connect(address());
  ASSERT_SOON(pump_, subscribed);
  RawTcp raw = greeted();
  raw.send(page_of(Change{.ranges = {{tag, tag}}}));
  ASSERT_EQ(answered(raw).answers.size(), 1U);
  const Segment two[] = {std::string_view("segment of"), std::string_view("two")};
  for (int i = 0; i < 3; ++i) ASSERT_EQ(publish_.send_segments(two, tag), Status::ok);
  ASSERT_EQ(publish_.send(payload(0, 100), tag), Status::ok);
  ASSERT_SOON(pump_, received == 3 && heard(raw.received()).messages == 1);
  const Heard all = heard(raw.received());
  ASSERT_FALSE(all.gaps.empty());
  EXPECT_EQ(all.gaps.back().dropped, 3U);
  EXPECT_FALSE(holds_segments(raw.received()));
  EXPECT_TRUE(at_publish_.downs.empty()) << at_publish_.why();
  takes.close();
  ASSERT_SOON(pump_, takes.closed());
}

}  // namespace
}  // namespace netio::test

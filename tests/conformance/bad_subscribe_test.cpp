// Subscriptions that the wire format does not allow, sent to a publisher by a peer whose hello was
// sound; and sockets that do not pair.
#include <functional>
#include <vector>

#include "conformance/evil_subscriber.hpp"

namespace netio::test {
namespace {

using detail::ControlKind;
using detail::WirePolicy;
namespace flag = detail::subscribe_flag;

constexpr TagRange evil_tags{100, 200};

// With some bytes of its payload changed.
Bytes changed(const Change& change, const std::function<void(Bytes&)>& edit) {
  Bytes payload = payload_of(change);
  edit(payload);
  return control_page(control_frame(ControlKind::subscribe, payload));
}
Bytes resized(std::size_t bytes) {
  return changed({.ranges = {evil_tags}}, [bytes](Bytes& payload) { payload.resize(bytes); });
}

class BadSubscribe : public EvilSubscriber {
 protected:
  using EvilSubscriber::EvilSubscriber;
  struct Case {
    const char* name;
    Bytes bytes;
  };
  // Each on a connection of its own, with the good subscriber served in between.
  void expect_refused(const std::vector<Case>& cases) {
    std::uint8_t session = 100;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.name);
      RawTcp raw = greeted(++session);
      raw.send(one.bytes);
      const Seen::Gone& gone = next_down();
      EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
      EXPECT_TRUE(is_readable(gone.down));
      ASSERT_SOON(pump_, raw.ended());
      EXPECT_SOON(pump_, publish_.peers_connected() == 1);
      good_messages(3);
    }
    EXPECT_EQ(publish_.counters().rejected, 0U);
  }
};

TEST_F(BadSubscribe, of_an_impossible_size_is_refused) {
  expect_refused({
      {"empty", resized(0)},
      {"a revision alone", resized(8)},
      {"a head cut short", resized(16)},
      {"half a range", resized(32)},
      {"a range and a half", resized(48)},
      {"no multiple of 8", resized(39)},
      {"longer than its page",
       control_page(all({frame_word(1000, detail::frame_flag::control | 0x0200U), Bytes(24)}))},
      {"a page cut in its frame word", control_page(Bytes(4))},
  });
}

TEST_F(BadSubscribe, with_impossible_fields_is_refused) {
  const Change sound{.ranges = {evil_tags}};
  const auto with = [&](std::size_t at, int value) {
    return changed(sound, [=](Bytes& payload) { payload[at] = static_cast<std::byte>(value); });
  };
  expect_refused({
      {"revision 0", page_of(Change{.revision = 0, .ranges = {evil_tags}})},
      {"an unknown flag", with(8, whole_and_last | 8)},
      {"the highest flag", with(9, 0x80)},
      {"whole and remove", page_of(Change{.flags = flag::whole | flag::remove | flag::last})},
      {"an unknown policy", with(10, 5)},
      {"a policy of 255", with(10, 255)},
      {"a reserved field in use", with(11, 1)},
      {"a range that ends before it begins", page_of(Change{.ranges = {{200, 100}}})},
      {"the last of many ranges reversed", page_of(Change{.ranges = {{1, 2}, {4, 5}, {~0ULL, 0}}})},
  });
}

TEST_F(BadSubscribe, out_of_order_is_refused) {
  const auto change = [](std::uint64_t revision, std::uint16_t flags) {
    return page_of(Change{.revision = revision, .flags = flags, .ranges = {evil_tags}});
  };
  expect_refused({
      {"the first without the whole set", change(1, flag::last)},
      {"the first removes", change(1, flag::remove | flag::last)},
      {"the same twice", all({change(3, whole_and_last), change(3, whole_and_last)})},
      {"going back", all({change(3, whole_and_last), change(2, flag::last)})},
      {"going back to the first", all({change(9, whole_and_last), change(1, whole_and_last)})},
      {"another before the last is complete", all({change(1, flag::whole), change(2, flag::last)})},
      {"a part of one that is complete", all({change(1, whole_and_last), change(1, 0)})},
      {"behind the highest",
       all({change(~std::uint64_t{0}, whole_and_last), change(1, whole_and_last)})},
  });
}

TEST_F(BadSubscribe, among_other_frames_is_refused) {
  const Bytes sound = frame_of(Change{.ranges = {evil_tags}});
  const Bytes good_bye = control_frame(ControlKind::bye, {});
  const Bytes message = all({frame_word(8), word(1)});
  Bytes answer(detail::subscribed_bytes);
  encode(detail::SubscribedFrame{.revision = 1}, answer);
  Bytes gap(detail::gap_bytes);
  encode(detail::GapFrame{1, detail::GapReason::dropped_new}, gap);
  expect_refused({
      {"in a page of messages", page(all({message, sound}), 1)},
      {"in front of a message", page(all({sound, message}), 1)},
      {"in a page that is not control", page(sound, 0)},
      {"in front of a message in a control page", control_page(all({sound, message}))},
      {"behind a good-bye", control_page(all({good_bye, sound}))},
      {"with flags of a message",
       control_page(
           all({frame_word(24, detail::frame_flag::control | detail::frame_flag::tagged | 0x0200U),
                word(1), Bytes(24)}))},
      {"an answer of its own", control_page(control_frame(ControlKind::subscribed, answer))},
      {"a gap of its own", control_page(control_frame(ControlKind::gap, gap))},
      {"kind 0", control_page(control_frame(ControlKind{0}, {}))},
      {"kind 5", control_page(control_frame(ControlKind{5}, {}))},
      {"kind 255", control_page(control_frame(ControlKind{255}, Bytes(40)))},
      {"a good-bye with a payload", control_page(control_frame(ControlKind::bye, word(0)))},
      {"an empty control page", control_page({})},
      {"a message", message_page(0, word(1))},
      {"an empty message", message_page(0, {})},
      {"half a message",
       page(all({frame_word(8, detail::frame_flag::more), word(100), word(0)}), 0)},
  });
}

TEST_F(BadSubscribe, who_acknowledges_more_than_was_sent_is_refused) {
  expect_refused({
      {"before it subscribed", control_page(frame_of(Change{}), 0, 1)},
      {"one too many", all({page_of(Change{.ranges = {evil_tags}}), control_page({}, 0, 1)})},
      {"as many as can be said",
       all({page_of(Change{.ranges = {evil_tags}}), page({}, 0), control_page({}, 0, ~0ULL)})},
  });
  RawTcp raw = greeted(200);
  raw.send(page_of(Change{.ranges = {evil_tags}}));
  answered(raw);
  ASSERT_EQ(publish_.send("one", 150), Status::ok);
  ASSERT_SOON(pump_, heard(raw.received()).messages == 1);
  raw.send(page_of(detail::PageHeader{.acknowledged = 1}, {}));
  EXPECT_SOON(pump_, publish_.books().acknowledged == good_sent_ + 1);
  raw.send(page_of(detail::PageHeader{.acknowledged = 0}, {}));
  EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << "what was said is taken back";
}

TEST_F(BadSubscribe, cut_anywhere_and_never_finished_is_ended_by_time) {
  const Bytes sound = page_of(Change{.ranges = {evil_tags, {500, 600}}});
  std::vector<RawTcp> cut;
  for (std::size_t bytes = 8; bytes < sound.size(); bytes += 16) {
    cut.push_back(greeted(static_cast<std::uint8_t>(100 + bytes)));
    cut.back().send(std::span(sound).first(bytes));
  }
  for (RawTcp& raw : cut) {
    EXPECT_EQ(next_down().down.reason, DownReason::stalled) << at_publish_.why();
    ASSERT_SOON(pump_, raw.ended());
  }
}

TEST_F(BadSubscribe, cut_anywhere_by_a_lost_connection_is_a_loss) {
  const Bytes sound = page_of(Change{.ranges = {evil_tags, {500, 600}}});
  for (std::size_t bytes = 1; bytes < sound.size(); bytes += 9) {
    RawTcp raw = greeted(static_cast<std::uint8_t>(bytes));
    raw.send(std::span(sound).first(bytes));
    pump_.turns(2);
    raw.reset();
    EXPECT_EQ(next_down().down.reason, DownReason::lost) << at_publish_.why();
  }
  std::uint64_t unwanted = publish_.counters().unwanted;
  ASSERT_EQ(publish_.send("nobody", 150), Status::ok);
  EXPECT_EQ(publish_.counters().unwanted, unwanted + 1) << "nothing of it took effect";
}

TEST_F(BadSubscribe, in_pieces_is_as_good_as_whole) {
  RawTcp raw = greeted();
  for (const std::byte byte : page_of(Change{.ranges = {evil_tags}})) {
    raw.send(std::span(&byte, 1));
    pump_.turns(1);
  }
  const Heard now = answered(raw);
  EXPECT_EQ(now.answers[0].revision, 1U);
  EXPECT_EQ(now.answers[0].from, 0U);
}

// Allowed, if odd.
TEST_F(BadSubscribe, what_is_odd_and_allowed_is_answered) {
  RawTcp raw = greeted();
  const std::uint64_t most = ~std::uint64_t{0};
  raw.send(all({
      page_of(Change{.revision = 7}),                                              // nothing
      page_of(Change{.revision = 8, .flags = flag::last, .ranges = {{0, most}}}),  // everything
      page_of(Change{.revision = 9,
                     .flags = flag::remove | flag::last,
                     .ranges = {{0, 149}, {100, 120}, {100, 120}}}),
      page_of(Change{.revision = 10,
                     .flags = flag::last,
                     .policy = WirePolicy::disconnect,
                     .behind_bytes_max = most,
                     .behind_for_ms = ~0U}),
      // Given up for the next.
      page_of(Change{.revision = 11, .flags = flag::whole, .ranges = {{0, most}}}),
      // Parts of one, in one page.
      control_page(all({frame_of(Change{.revision = most, .flags = flag::whole}),
                        frame_of(Change{.revision = most, .flags = 0, .ranges = {{150, 150}}}),
                        frame_of(Change{.revision = most, .flags = flag::last})})),
  }));
  const Heard now = answered(raw, 5);
  EXPECT_EQ(now.answers[0].revision, 7U);
  EXPECT_EQ(now.answers[3].behind_bytes_max, PublishOptions{}.behind_bytes_max) << "granted";
  EXPECT_EQ(now.answers[4].revision, most);
  for (const std::uint64_t tag : {0U, 149U, 150U, 151U}) {
    ASSERT_EQ(publish_.send("x", tag), Status::ok);
  }
  ASSERT_SOON(pump_, heard(raw.received()).messages == 1);
}

// --- More ranges than are taken.

class FewRanges : public BadSubscribe {
 protected:
  static constexpr std::size_t most = 100;
  FewRanges() : BadSubscribe(PublishOptions{.ranges_max = most}) {}
  // That many tags apart, from `first` on.
  static std::vector<TagRange> apart(std::size_t count, std::uint64_t first = 1'000'000) {
    std::vector<TagRange> ranges;
    for (std::size_t i = 0; i < count; ++i) ranges.push_back({first + 2 * i, first + 2 * i});
    return ranges;
  }
};

TEST_F(FewRanges, a_set_that_is_too_large_is_refused_and_the_one_before_stays) {
  RawTcp raw = greeted();
  raw.send(page_of(Change{.ranges = apart(most)}));
  EXPECT_EQ(answered(raw).answers[0].refusal, detail::SetRefusal::none);
  raw.send(page_of(Change{.revision = 2, .flags = flag::last, .ranges = {{5, 5}}}));
  const Heard now = answered(raw, 2);
  EXPECT_EQ(now.answers[1].refusal, detail::SetRefusal::too_many_ranges);
  EXPECT_EQ(now.answers[1].ranges_max, most);
  // What builds on it is refused as well; what does not is taken.
  raw.send(page_of(Change{.revision = 3, .flags = flag::remove | flag::last, .ranges = {{5, 5}}}));
  EXPECT_EQ(answered(raw, 3).answers[2].refusal, detail::SetRefusal::too_many_ranges);
  ASSERT_EQ(publish_.send("unwanted", 5), Status::ok);
  ASSERT_EQ(publish_.send("old", 1'000'000), Status::ok);
  ASSERT_SOON(pump_, heard(raw.received()).messages == 1);
  raw.send(page_of(Change{.revision = 4, .ranges = {{5, 5}}}));
  EXPECT_EQ(answered(raw, 4).answers[3].refusal, detail::SetRefusal::none);
  EXPECT_EQ(heard(raw.received()).answers[3].from, 1U);
}

TEST_F(FewRanges, the_rest_of_a_refused_change_is_still_checked) {
  expect_refused({
      {"a reversed range", all({page_of(Change{.flags = flag::whole, .ranges = apart(most + 1)}),
                                page_of(Change{.flags = flag::last, .ranges = {{9, 1}}})})},
      {"in a frame that has too many itself", page_of(Change{.ranges =
                                                                 [] {
                                                                   std::vector<TagRange> ranges =
                                                                       apart(most + 1);
                                                                   ranges.push_back({9, 1});
                                                                   return ranges;
                                                                 }()})},
  });
}

// --- Sockets that do not pair.

TEST_F(BadSubscribe, at_a_socket_that_is_no_publisher_is_refused_by_name) {
  Push push(here_, wary_options());
  Pull pull(here_, wary_options());
  Subscribe other(here_, {}, wary_options());
  Subscribe subscribe(there_, {}, wary_options());
  Seen at_subscribe(subscribe);
  subscribe.subscribe_all();
  const std::pair<Socket*, const char*> ends[] = {
      {&push, "push"}, {&pull, "pull"}, {&other, "subscribe"}};
  for (const auto& [end, name] : ends) {
    SCOPED_TRACE(name);
    Seen at_end(*end);
    const std::size_t downs = at_subscribe.downs.size();
    subscribe.connect(end->bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, at_subscribe.downs.size() == downs + 1 && at_end.downs.size() == 1);
    for (const Seen::Gone& gone : {at_subscribe.downs.back(), at_end.downs.back()}) {
      EXPECT_EQ(gone.down.reason, DownReason::pattern_mismatch) << gone.down.detail;
      EXPECT_NE(gone.down.detail.find("subscribe"), std::string::npos) << gone.down.detail;
      EXPECT_NE(gone.down.detail.find(name), std::string::npos) << gone.down.detail;
      EXPECT_FALSE(gone.peer.retrying);
    }
    end->on_up(nullptr);
    end->on_down(nullptr);
    end->on_closed(nullptr);
  }
}

TEST_F(BadSubscribe, a_socket_that_is_no_subscriber_is_refused_by_name) {
  Push push(there_, wary_options());
  Pull pull(there_, wary_options());
  Pair pair(there_, wary_options());
  Publish publish(there_, {}, wary_options());
  const std::pair<Socket*, const char*> ends[] = {
      {&push, "push"}, {&pull, "pull"}, {&pair, "pair"}, {&publish, "publish"}};
  for (const auto& [end, name] : ends) {
    SCOPED_TRACE(name);
    end->connect(address());
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::pattern_mismatch) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("publish"), std::string::npos) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find(name), std::string::npos) << gone.down.detail;
  }
}

}  // namespace
}  // namespace netio::test

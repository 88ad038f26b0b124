// What a publisher may not say, said to a subscriber by a peer whose hello was sound.
#include <optional>
#include <utility>
#include <vector>

#include "conformance/evil.hpp"
#include "conformance/raw_control.hpp"

namespace netio::test {
namespace {

using detail::ControlKind;
using detail::GapFrame;
using detail::GapReason;
using detail::SetRefusal;
using detail::SubscribedFrame;
using detail::WirePolicy;

// A Subscribe that is connected to a good publisher, and to a raw one that lies.
class BadPublisher : public testing::Test {
 protected:
  struct Case {
    const char* name;
    Bytes bytes;
    DownReason reason = DownReason::protocol_error;
  };

  BadPublisher() {
    subscribe_.on_message([this](const MessageView& message) {
      if (message.tag() != good_tag) {
        ++evil_received_;
      } else {
        EXPECT_TRUE(is_payload(message.bytes(), good_received_));
        ++good_received_;
      }
    });
    subscribe_.on_subscribed([this](const PeerInfo& peer, const Subscribed& answer) {
      (peer.id == good_id_ ? good_answers_ : evil_answers_).push_back(answer);
    });
    subscribe_.on_gap([this](const PeerInfo& peer, const Gap& gap) {
      EXPECT_NE(peer.id, good_id_);
      gaps_.push_back(gap);
    });
  }
  ~BadPublisher() override { pump_.forget_checks(); }

  void SetUp() override {
    subscribe_.subscribe_all();
    subscribe_.connect(publish_.bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, good_answers_.size() == 1 && publish_.peers_connected() == 1);
    pump_.after_each_turn(BooksCheck(subscribe_));
    pump_.after_each_turn(BooksCheck(publish_));
    subscribe_.connect(server_.address());
    good_messages();
  }
  void TearDown() override {
    good_messages();
    EXPECT_EQ(at_publish_.downs.size(), 0U) << at_publish_.why();
    EXPECT_EQ(good_answers_.size(), 1U);
    EXPECT_EQ(publish_.books().acknowledged, good_sent_);
    EXPECT_EQ(subscribe_.books().delivered, good_sent_ + evil_received_);
    for (const Seen::Gone& gone : at_subscribe_.downs) EXPECT_TRUE(is_readable(gone.down));
  }

  void good_messages(std::uint64_t count = 20) {
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_SOON(pump_,
                  publish_.send(payload(good_sent_, 8 + good_sent_ % 500), good_tag) == Status::ok);
      ++good_sent_;
    }
    ASSERT_SOON(pump_, good_received_ == good_sent_ && publish_.books().unsettled() == 0);
  }
  // The subscriber comes (back) and is greeted by this run, which says that it will send `next`. A
  // stream that is another run's, or that is `forgotten`, it refuses.
  RawTcp met(std::uint8_t run, std::uint64_t next = 0, bool forgotten = false) {
    for (;;) {
      std::optional<RawTcp> raw;
      EXPECT_SOON(pump_, [&] {
        if (!raw) raw = server_.accept();
        return raw && hello_in(raw->received()).epoch != 0;
      }());
      if (!raw) return RawTcp(-1);
      const detail::Hello theirs = hello_in(raw->received());
      detail::Hello hello = answer_to(theirs, detail::WirePattern::publish, run);
      hello.page_bytes_max = page_bytes_max_;
      hello.peer_run = theirs.peer_run == detail::RunId{} ? detail::RunId{} : theirs.run;
      const bool is_new = theirs.peer_run == detail::RunId{};
      if (!is_new && (theirs.peer_run != hello.run || forgotten)) {
        hello.refusal = detail::Refusal::expired;
      }
      raw->send(hello_of(hello));
      if (hello.refusal == detail::Refusal::none) {
        EXPECT_SOON(pump_, heard(raw->received()).confirm);
        raw->send(confirm_page({.nonce = hello.nonce, .next = next, .oldest_kept = next}));
        return std::move(*raw);
      }
      EXPECT_SOON(pump_, raw->ended());
    }
  }
  // It has told its set.
  RawTcp greeted(std::uint8_t run, bool forgotten = false) {
    RawTcp raw = met(run, 0, forgotten);
    EXPECT_SOON(pump_, !heard(raw.received()).changes.empty());
    return raw;
  }
  const Seen::Gone& next_down() {
    EXPECT_SOON(pump_, at_subscribe_.downs.size() > downs_seen_);
    static const Seen::Gone none{};
    return at_subscribe_.downs.size() > downs_seen_ ? at_subscribe_.downs[downs_seen_++] : none;
  }
  // Each on a connection of its own, by a publisher of its own.
  void expect_refused(const std::vector<Case>& cases) {
    std::uint8_t session = 100;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.name);
      RawTcp raw = greeted(++session);
      raw.send(one.bytes);
      const Seen::Gone& gone = next_down();
      EXPECT_EQ(gone.down.reason, one.reason) << gone.down.detail;
      EXPECT_TRUE(gone.peer.was_up);
      ASSERT_SOON(pump_, raw.ended());
      good_messages(3);
    }
  }

  Context here_{wary_context()};
  Context there_{wary_context()};
  Pump pump_{&here_, &there_};
  Publish publish_{here_, {}, wary_options_without_haste()};
  Seen at_publish_{publish_};
  Subscribe subscribe_{there_, {.policy = Policy::block}, wary_options_without_haste()};
  Seen at_subscribe_{subscribe_};
  RawListener server_;
  std::vector<Subscribed> good_answers_;
  std::vector<Subscribed> evil_answers_;
  std::vector<Gap> gaps_;
  std::uint64_t good_received_ = 0;
  std::uint64_t evil_received_ = 0;
  std::uint32_t page_bytes_max_ = sound_hello(detail::WirePattern::publish).page_bytes_max;

 private:
  static constexpr std::uint64_t good_id_ = 1;
  std::uint64_t good_sent_ = 0;
  std::size_t downs_seen_ = 0;
};

// An answer to the first set.
SubscribedFrame sound_answer(std::uint64_t from = 0) {
  return {.revision = 1, .from = from, .policy = WirePolicy::block, .ranges_max = 1000};
}
Bytes answer() { return page_of(sound_answer()); }
// To the last change that the connection brought: on a stream that was met before, not the first.
Bytes answer_to_last(RawTcp& raw) {
  SubscribedFrame frame = sound_answer();
  frame.revision = heard(raw.received()).changes.back().revision;
  return page_of(frame);
}
Bytes gap(std::uint64_t dropped, GapReason reason = GapReason::dropped_new) {
  return page_of(GapFrame{dropped, reason});
}
// A control page of one frame whose payload is given.
Bytes control_page_of(int kind, const Bytes& payload) {
  return control_page(control_frame(static_cast<ControlKind>(kind), payload));
}
Bytes answer_with(std::size_t at, int value) {
  Bytes payload(detail::subscribed_bytes);
  encode(sound_answer(), payload);
  payload[at] = static_cast<std::byte>(value);
  return control_page_of(3, payload);
}

TEST_F(BadPublisher, that_answers_what_it_was_not_asked_is_refused) {
  const auto of_revision = [](std::uint64_t revision) {
    SubscribedFrame frame = sound_answer();
    frame.revision = revision;
    return page_of(frame);
  };
  expect_refused({
      {"a revision that was never sent", of_revision(2)},
      {"the highest revision", of_revision(~std::uint64_t{0})},
      {"revision 0", of_revision(0)},
      {"one that was never sent, behind one", all({answer(), of_revision(2)})},
  });
  EXPECT_EQ(evil_answers_.size(), 1U);
}

// Not bad at all: it has forgotten this subscriber, and counts from 0 what it drops for it.
TEST_F(BadPublisher, that_does_not_know_who_returns_counts_its_drops_anew) {
  for (const std::uint64_t dropped : {5U, 3U}) {
    RawTcp raw = greeted(50, true);
    raw.send(answer());
    raw.send(gap(dropped));
    ASSERT_SOON(pump_, !gaps_.empty());
    EXPECT_EQ(gaps_.back().first, 0U);
    EXPECT_EQ(gaps_.back().count, dropped);
    gaps_.clear();
    raw.close();
    EXPECT_EQ(next_down().down.reason, DownReason::lost);
  }
  EXPECT_EQ(subscribe_.books().missed, 8U);
}

TEST_F(BadPublisher, that_grants_something_else_later_is_heard_and_its_defects_are_refused) {
  SubscribedFrame less = sound_answer();
  less.policy = WirePolicy::drop_old;
  expect_refused({
      {"behind it, a revision that was never sent", all({answer(), page_of(less), page_of([&less] {
                                                           SubscribedFrame wrong = less;
                                                           wrong.revision = 2;
                                                           return wrong;
                                                         }())})},
  });
  ASSERT_EQ(evil_answers_.size(), 2U);
  EXPECT_EQ(evil_answers_[1].revision, evil_answers_[0].revision);
  EXPECT_EQ(evil_answers_[1].policy, Policy::drop_old);
}

TEST_F(BadPublisher, that_ends_for_no_known_reason_is_refused) {
  const auto ending = [](std::uint8_t reason, std::size_t bytes = detail::ending_bytes) {
    Bytes payload(bytes);
    if (bytes != 0) payload[0] = std::byte{reason};
    return control_page_of(5, payload);
  };
  Bytes reserved(detail::ending_bytes, std::byte{1});
  expect_refused({
      {"no reason", ending(0)},
      {"an unknown reason", ending(2)},
      {"a reserved field in use", control_page_of(5, reserved)},
      {"empty", ending(1, 0)},
      {"too long", ending(1, 16)},
  });
}

TEST_F(BadPublisher, whose_answer_makes_no_sense_is_refused) {
  expect_refused({
      {"a from ahead", page_of(sound_answer(1))},
      {"the highest from there may be", page_of(sound_answer((std::uint64_t{1} << 57U) - 1))},
      {"a from beyond that", page_of(sound_answer(std::uint64_t{1} << 57U))},
      {"a from of all ones", page_of(sound_answer(~std::uint64_t{0}))},
      {"an unknown refusal", answer_with(16, 2)},
      {"a refusal of 256", answer_with(17, 1)},
      {"an unknown policy", answer_with(18, 5)},
      {"a reserved field in use", answer_with(19, 1)},
      {"too short", control_page_of(3, Bytes(32))},
      {"too long", control_page_of(3, Bytes(48))},
      {"empty", control_page_of(3, {})},
      {"a from that leaves a gap out", all({gap(5), page_of(sound_answer(0))})},
      {"a from that counts a gap to come", all({page_of(sound_answer(5)), gap(5)})},
  });
  EXPECT_TRUE(evil_answers_.empty());
}

TEST_F(BadPublisher, whose_gaps_make_no_sense_is_refused) {
  Bytes reserved(detail::gap_bytes);
  encode(GapFrame{1, GapReason::dropped_new}, reserved);
  Bytes far = reserved;
  reserved[9] = std::byte{1};
  far[15] = std::byte{1};
  const std::uint64_t most = detail::sequence_end - 1;
  expect_refused({
      {"2^56", all({answer(), gap(most + 1)})},
      {"all ones", all({answer(), gap(~std::uint64_t{0})})},
      {"going back", all({answer(), gap(5), gap(4)})},
      {"going back to 0", all({answer(), gap(5), gap(0)})},
      {"more than can have been published by now", all({answer(), gap(most)})},
      {"no reason", all({answer(), gap(1, GapReason{0})})},
      {"an unknown reason", all({answer(), gap(1, GapReason{5})})},
      {"a reserved field in use", all({answer(), control_page_of(4, reserved)})},
      {"the last byte in use", all({answer(), control_page_of(4, far)})},
      {"too short", all({answer(), control_page_of(4, Bytes(8))})},
      {"too long", all({answer(), control_page_of(4, Bytes(24))})},
  });
  // What could be believed was.
  ASSERT_EQ(gaps_.size(), 2U);
  EXPECT_EQ(gaps_[0].count, 5U);
  EXPECT_EQ(subscribe_.books().missed, 5U + 5U);
}

TEST_F(BadPublisher, that_sends_what_is_not_its_to_send_is_refused) {
  Bytes change(detail::subscribe_head_bytes);
  encode(detail::SubscribeFrame{.revision = 1, .flags = detail::subscribe_flag::last, .ranges = {}},
         change);
  const Bytes frame = control_frame(ControlKind::gap, Bytes(detail::gap_bytes));
  expect_refused({
      {"a subscription of its own", all({answer(), control_page_of(2, change)})},
      {"kind 0", control_page_of(0, {})},
      {"kind 5", control_page_of(5, {})},
      {"kind 255", control_page_of(255, Bytes(40))},
      {"an answer among messages",
       all({answer(), page(all({frame_word(0), frame_of(Bytes(detail::subscribed_bytes),
                                                        detail::frame_flag::control | 0x0300U)}),
                           1)})},
      {"a message in a control page", all({answer(), control_page(all({frame_word(8), word(1)}))})},
      {"something behind its good-bye",
       control_page(all({control_frame(ControlKind::bye, {}), frame}))},
      {"an acknowledgement of what it was not sent", control_page(frame_word(0), 0, 1)},
      {"the same behind an answer",
       all({answer(), page_of(detail::PageHeader{.acknowledged = ~std::uint64_t{0}}, {})})},
      {"a message out of sequence",
       all({answer(), message_page(0, word(0)), page(frame_word(0), 1, 2)})},
      {"a gap that takes a sequence", all({answer(), gap(1), page(frame_word(0), 1, 1)})},
      {"a control frame inside a message",
       all({answer(), page(all({frame_word(8, detail::frame_flag::more), word(16), word(0)}), 0),
            gap(1)})},
  });
}

TEST_F(BadPublisher, that_sends_before_it_has_answered_is_refused) {
  expect_refused({
      {"a message", message_page(0, word(0))},
      {"a message behind a gap", all({gap(1), message_page(0, word(0))})},
      {"part of a message",
       page(all({frame_word(8, detail::frame_flag::more), word(16), word(0)}), 0)},
  });
  EXPECT_EQ(evil_received_, 0U);
}

// On a new stream and on one that was met: no position is taken that it cannot have reached.
TEST_F(BadPublisher, that_counts_from_the_highest_sequence_wraps_nothing) {
  const std::uint64_t most = detail::sequence_end - 1;
  for (const bool is_known : {false, true}) {
    for (const std::uint64_t next : {most, most + 1, ~std::uint64_t{0}}) {
      SCOPED_TRACE(next);
      RawTcp raw = met(100, next);
      const Seen::Gone& gone = next_down();
      EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
      EXPECT_FALSE(gone.peer.was_up);
      ASSERT_SOON(pump_, raw.ended());
    }
    if (is_known) break;
    RawTcp raw = greeted(100);
    raw.send(answer_to_last(raw));
    ASSERT_SOON(pump_, evil_answers_.size() == 1);
    raw.close();
    EXPECT_EQ(next_down().down.reason, DownReason::lost);
  }
  EXPECT_EQ(evil_received_, 0U);
  EXPECT_EQ(subscribe_.books().missed, 0U);
  EXPECT_TRUE(gaps_.empty());
  RawTcp next = greeted(101);
  next.send(answer_to_last(next));
  EXPECT_SOON(pump_, evil_answers_.size() == 2);
}

// What an earlier publisher at the address had said is not held against the next.
TEST_F(BadPublisher, that_was_restarted_counts_anew) {
  RawTcp raw = greeted(100);
  raw.send(all({answer(), message_page(0, word(0)), gap(1000), message_page(1, word(1))}));
  ASSERT_SOON(pump_, evil_received_ == 2 && gaps_.size() == 1);
  EXPECT_EQ(gaps_[0].first, 1U);
  raw.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  RawTcp again = greeted(101);
  again.send(all({answer(), gap(1), message_page(0, word(0))}));
  ASSERT_SOON(pump_, evil_received_ == 3 && gaps_.size() == 2);
  EXPECT_EQ(gaps_[1].first, 0U);
  EXPECT_EQ(gaps_[1].count, 1U);
  EXPECT_EQ(subscribe_.books().missed, 1001U);
}

// What was lost is told as soon as the publisher says where it stands: it never sends a page.
TEST_F(BadPublisher, that_is_replaced_before_its_first_page_does_not_hide_what_was_lost) {
  RawTcp raw = greeted(100);
  raw.send(answer_to_last(raw));
  ASSERT_SOON(pump_, evil_answers_.size() == 1);
  raw.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  met(100, 3).close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  ASSERT_EQ(gaps_.size(), 1U);
  EXPECT_EQ(gaps_[0].first, 0U);
  EXPECT_EQ(gaps_[0].count, 3U);
  EXPECT_EQ(gaps_[0].reason, DropReason::connection_lost);
  RawTcp other = greeted(101);
  other.send(answer_to_last(other));
  ASSERT_SOON(pump_, evil_answers_.size() == 2);
  EXPECT_EQ(gaps_.size(), 1U);
  EXPECT_EQ(subscribe_.books().missed, 3U);
}

// The least that docs/wire.md allows it.
TEST_F(BadPublisher, with_very_small_pages_is_told_the_set_all_the_same) {
  page_bytes_max_ = 80;
  RawTcp raw = greeted(100);
  ASSERT_FALSE(heard(raw.received()).changes.empty());
  EXPECT_EQ(heard(raw.received()).changes[0].flags, whole_and_last);
  raw.send(answer());
  ASSERT_SOON(pump_, evil_answers_.size() == 1);
}

// The same stream: what it said on one connection holds on the next.
TEST_F(BadPublisher, that_takes_a_gap_of_an_earlier_connection_back_is_refused) {
  RawTcp raw = greeted(100);
  raw.send(all({answer(), gap(10)}));
  ASSERT_SOON(pump_, gaps_.size() == 1);
  raw.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
  RawTcp again = greeted(100);
  again.send(gap(9));
  EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << at_subscribe_.why();
  EXPECT_EQ(subscribe_.books().missed, 10U);
}

TEST_F(BadPublisher, that_refuses_everything_is_asked_again_only_for_what_is_new) {
  RawTcp raw = greeted(100);
  SubscribedFrame refused = sound_answer();
  refused.refusal = SetRefusal::too_many_ranges;
  raw.send(page_of(refused));
  ASSERT_SOON(pump_, evil_answers_.size() == 1);
  EXPECT_TRUE(evil_answers_[0].refused);
  EXPECT_NE(evil_answers_[0].detail.find("1000"), std::string::npos) << evil_answers_[0].detail;
  pump_.run_for(20ms);
  EXPECT_EQ(heard(raw.received()).changes.size(), 1U);
}

// What a subscriber keeps of changes that nobody answers is bounded: it sums them up.
TEST_F(BadPublisher, that_never_answers_is_told_of_many_changes_at_once) {
  RawTcp raw = greeted(101);
  constexpr std::uint64_t changes = 1000;
  for (std::uint64_t i = 0; i < changes; ++i) {
    subscribe_.unsubscribe(2 * i);
    pump_.turn();
  }
  ASSERT_SOON(pump_, good_answers_.size() == changes + 1);
  const std::size_t told = heard(raw.received()).changes.size();
  EXPECT_GE(told, 200U);
  EXPECT_LE(told, 300U);
  EXPECT_TRUE(at_subscribe_.downs.empty()) << at_subscribe_.why();

  // Once it answers, it is told of the rest, as one set.
  for (const detail::SubscribeFrame& change : heard(raw.received()).changes) {
    SubscribedFrame frame = sound_answer();
    frame.revision = change.revision;
    if ((change.flags & detail::subscribe_flag::last) != 0) raw.send(page_of(frame));
  }
  const auto last = [&] { return heard(raw.received()).changes.back(); };
  ASSERT_SOON(pump_, last().revision == changes + 1);
  EXPECT_NE(last().flags & detail::subscribe_flag::whole, 0);
  good_answers_.resize(1);
}

}  // namespace
}  // namespace netio::test

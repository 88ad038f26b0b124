// Pages that the wire format does not allow, sent by a peer whose hello was sound.
#include <cstring>
#include <initializer_list>

#include "conformance/evil.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::PageHeader;
namespace frame_flag = detail::frame_flag;
namespace page_flag = detail::page_flag;

// The header of a page whose body never comes.
Bytes header_only(std::uint32_t bytes, std::uint32_t messages = 1) {
  PageHeader header;
  header.bytes = bytes;
  header.messages = messages;
  return page_of(header, {});
}
// One part of a message that is split; the first one names the total.
Bytes first_part(std::uint64_t total, std::size_t size) {
  return page(all({frame_word(static_cast<std::uint32_t>(size), frame_flag::more), word(total),
                   Bytes(detail::wire_padded(size))}),
              0);
}
Bytes later_part(std::size_t size, bool last) {
  const std::uint32_t flags = frame_flag::continued | (last ? 0U : frame_flag::more);
  return page(
      all({frame_word(static_cast<std::uint32_t>(size), flags), Bytes(detail::wire_padded(size))}),
      last ? 1 : 0);
}
Bytes control(std::uint32_t kind, std::uint32_t size = 0) {
  return all({frame_word(size, frame_flag::control | (kind << frame_flag::control_shift)),
              Bytes(detail::wire_padded(size))});
}
constexpr auto bye = static_cast<std::uint32_t>(detail::ControlKind::bye);

struct Case {
  const char* name;
  Bytes bytes;
  DownReason reason = DownReason::protocol_error;
};

class BadPage : public EvilSender {
 protected:
  // Each on a connection of its own, with the good sender served in between.
  void expect_refused(const std::vector<Case>& cases) {
    std::uint64_t disconnects = 0;
    std::uint8_t session = 100;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.name);
      RawTcp raw = greeted(++session);
      raw.send(one.bytes);
      const Seen::Gone& gone = next_down();
      EXPECT_EQ(gone.down.reason, one.reason) << gone.down.detail;
      EXPECT_TRUE(is_readable(gone.down));
      ASSERT_SOON(pump_, raw.ended());
      EXPECT_EQ(pull_.counters().disconnects, ++disconnects);
      good_messages(3);
    }
    EXPECT_EQ(pull_.counters().rejected, 0U);
  }
};

TEST_F(BadPage, with_an_impossible_header_is_refused) {
  PageHeader flags;
  flags.flags = 0x8000;
  PageHeader reserved;
  reserved.reserved = 1;
  expect_refused({
      {"size no multiple of 8", header_only(12)},
      {"size 7", header_only(7)},
      {"more messages than frames could be", header_only(16, 3)},
      {"four thousand million messages", header_only(64, ~0U)},
      {"unknown flags", page_of(flags, {})},
      {"reserved field in use", page_of(reserved, {})},
      {"as large as can be said", header_only(~7U), DownReason::message_too_big},
      {"larger than any message", header_only(wary_message_bytes_max + 64),
       DownReason::message_too_big},
  });
}

TEST_F(BadPage, with_impossible_frames_is_refused) {
  expect_refused({
      {"frame longer than its page", page(all({frame_word(1000), Bytes(8)}), 1)},
      {"frame of 4 GiB", page(all({frame_word(~0U), Bytes(8)}), 1)},
      {"frame whose padding does not fit", page(all({frame_word(9), Bytes(8)}), 1)},
      {"unknown frame flags", page(frame_word(0, 1U << 20U), 1)},
      {"a control kind without control", page(frame_word(0, 0x0100), 1)},
      {"cut short in its tag", page(frame_word(0, frame_flag::tagged), 1)},
      {"cut short in its total", page(frame_word(0, frame_flag::more), 0)},
      {"fewer messages than it says", page(all({frame_word(8), Bytes(8)}), 2)},
      {"more messages than it says", page(all({frame_word(0), frame_word(0)}), 1)},
      {"a message in a page of none", page(all({frame_word(0)}), 0)},
      {"a control frame among messages", page(control(bye), 1)},
      {"one message over the limit",
       page(all({frame_word(wary_message_bytes_max + 8), Bytes(wary_message_bytes_max + 8)}), 1),
       DownReason::message_too_big},
  });
  EXPECT_EQ(evil_received_.size(), 4U) << "whole messages before the defect was reached";
}

TEST_F(BadPage, out_of_sequence_is_refused) {
  const Bytes message = all({frame_word(8), Bytes(8)});
  expect_refused({
      {"begins at 5", page(message, 1, 5)},
      {"begins at the end", page(message, 1, ~std::uint64_t{0})},
      {"the same twice", all({page(message, 1, 0), page(message, 1, 0)})},
      {"skips one", all({page(message, 1, 0), page(message, 1, 2)})},
      {"goes back", all({page(all({message, message}), 2, 0), page(message, 1, 1)})},
  });
  EXPECT_EQ(evil_received_.size(), 4U) << "what came in sequence";
}

TEST_F(BadPage, with_parts_that_do_not_make_a_message_is_refused) {
  expect_refused({
      {"a total over the limit", first_part(wary_message_bytes_max + 1, 64),
       DownReason::message_too_big},
      {"a total of 2^64-1", first_part(~std::uint64_t{0}, 64), DownReason::message_too_big},
      {"a total of 2^63", first_part(std::uint64_t{1} << 63U, 64), DownReason::message_too_big},
      {"a total smaller than the part", first_part(8, 64)},
      {"a total of the part, and yet more", first_part(64, 64)},
      {"a total of nothing", first_part(0, 0)},
      {"a part without a beginning", later_part(64, true)},
      {"a middle without a beginning", later_part(64, false)},
      {"an end too early", all({first_part(1000, 64), later_part(64, true)})},
      {"an end too late", all({first_part(100, 64), later_part(64, true)})},
      {"more than the total", all({first_part(100, 64), later_part(64, false)})},
      {"a message inside another",
       all({first_part(1000, 64), page(all({frame_word(8), Bytes(8)}), 1)})},
      {"a beginning inside another", all({first_part(1000, 64), first_part(1000, 64)})},
      {"a part that shares its page",
       page(all({frame_word(8, frame_flag::more), word(100), Bytes(8), frame_word(0)}), 1)},
      {"a part that shares its page with what does not count",
       page(all({frame_word(8, frame_flag::more), word(100), Bytes(8), frame_word(0)}), 0)},
      {"a large page inside a message", all({first_part(1000, 64), header_only(200'000)})},
  });
  EXPECT_TRUE(evil_received_.empty());
}

// Not bad at all: the socket that closes gives the message in parts up, and its sender goes on.
TEST_F(BadPage, a_large_page_behind_parts_that_were_given_up_is_none) {
  Pull closing(there_, wary_options());
  Seen at_closing(closing);
  Inbox inbox(closing);
  RawTcp raw = RawTcp::connect(closing.bind(place()));
  raw.send(hello_of(sound_hello(detail::WirePattern::push, 7)));
  ASSERT_SOON(pump_, hello_in(raw.received()).nonce != 0);
  raw.confirm();
  ASSERT_SOON(pump_, at_closing.ups.size() == 1);
  raw.send(first_part(1000, 504));
  ASSERT_SOON(pump_, closing.counters().pages_received == 1);
  closing.close();
  raw.send(later_part(496, true));
  raw.send(page(all({frame_word(200'000), Bytes(200'000)}), 1, 1));
  raw.send(page(control(bye), 0, 2, page_flag::control));
  ASSERT_SOON(pump_, raw.ended());
  raw.close();
  ASSERT_SOON(pump_, closing.closed());
  EXPECT_TRUE(at_closing.was_down_for(DownReason::closed_here)) << at_closing.why();
  EXPECT_EQ(inbox.size(), 0U);
}

TEST_F(BadPage, with_wrong_control_is_refused) {
  expect_refused({
      {"of an unknown kind", page(control(99), 0, 0, page_flag::control)},
      {"of no kind", page(control(0), 0, 0, page_flag::control)},
      {"good-bye with a payload", page(control(bye, 8), 0, 0, page_flag::control)},
      {"good-bye twice", page(all({control(bye), control(bye)}), 0, 0, page_flag::control)},
      {"nothing in a control page", page({}, 0, 0, page_flag::control)},
      {"a message in a control page", page(frame_word(0), 0, 0, page_flag::control)},
      {"good-bye inside a message",
       all({first_part(1000, 64), page(control(bye), 0, 0, page_flag::control)})},
  });
  EXPECT_TRUE(evil_received_.empty());
}

TEST_F(BadPage, that_acknowledges_what_was_never_sent_is_refused) {
  PageHeader one;
  one.acknowledged = 1;
  PageHeader most;
  most.acknowledged = ~std::uint64_t{0};
  expect_refused({{"one message", page_of(one, {})}, {"all there could be", page_of(most, {})}});
}

TEST_F(BadPage, is_noticed_between_good_ones) {
  RawTcp raw = greeted();
  raw.send(message_page(0, payload(0, 100)));
  raw.send(message_page(1, payload(1, 100)));
  raw.send(header_only(12));
  raw.send(message_page(2, payload(2, 100)));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
  EXPECT_EQ(gone.peer.books.delivered, 2U);
  ASSERT_EQ(evil_received_.size(), 2U);
  EXPECT_TRUE(is_payload(evil_received_[1], 1));
}

// Pages, frames and headers may come in any pieces.
TEST_F(BadPage, is_no_page_in_single_bytes) {
  RawTcp raw = greeted();
  const Bytes tagged = all({frame_word(12, frame_flag::tagged), word(77), Bytes(16)});
  for (const Bytes& bytes : {message_page(0, payload(0, 60)), page(tagged, 1, 1)}) {
    for (const std::byte byte : bytes) {
      raw.send(std::span(&byte, 1));
      pump_.turns(1);
    }
  }
  ASSERT_SOON(pump_, evil_received_.size() == 2);
  EXPECT_TRUE(is_payload(evil_received_[0], 0));
  EXPECT_EQ(evil_received_[1].size(), 12U);
  EXPECT_EQ(pull_.counters().disconnects, 0U);
}

TEST_F(BadPage, at_the_very_limits_is_a_good_one) {
  RawTcp raw = greeted();
  const Bytes largest(wary_message_bytes_max, std::byte{5});
  const Bytes page_bytes = message_page(0, largest);
  std::size_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    sent += raw.send(std::span(page_bytes).subspan(sent));
    return evil_received_.size() == 1;
  }());
  EXPECT_EQ(evil_received_[0].size(), wary_message_bytes_max);
  raw.send(page({}, 0, 1));             // an acknowledgement of nothing
  raw.send(page(frame_word(0), 1, 1));  // a message of nothing
  ASSERT_SOON(pump_, evil_received_.size() == 2);
  EXPECT_TRUE(evil_received_[1].empty());
}

// Received as a whole, before anything of it is counted.
class BadBatch : public BadPage {
 protected:
  BadBatch() {
    pull_.on_batch([this](const Batch& batch) {
      for (const MessageView& message : batch) take(message);
    });
  }
};

TEST_F(BadBatch, is_refused_before_anything_of_it_is_seen) {
  const Bytes two = all({frame_word(8), word(1), frame_word(8), word(2)});
  expect_refused({
      {"fewer messages than it says", page(two, 3)},
      {"more messages than it says", page(two, 1)},
      {"a frame that is cut short", page(all({two, frame_word(64), word(3)}), 3)},
      {"a frame of the wrong kind", page(all({two, control(bye)}), 2)},
  });
  EXPECT_TRUE(evil_received_.empty());
}

// --- What a receiver can do to a sender.

using BadAcknowledgement = EvilReceiver;

Bytes acknowledgement(std::uint64_t count) {
  PageHeader header;
  header.acknowledged = count;
  return page_of(header, {});
}

TEST_F(BadAcknowledgement, of_more_than_was_sent_is_refused) {
  for (const std::uint64_t count :
       {std::uint64_t{1'000'000}, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    RawTcp raw = greeted();
    good_messages();
    const std::uint64_t acknowledged = push_.books().acknowledged;
    raw.send(acknowledgement(count));
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
    EXPECT_LE(push_.books().acknowledged, acknowledged + good_received_);
    EXPECT_LE(push_.books().acknowledged, push_.books().sent);
    ASSERT_SOON(pump_, raw.ended());
  }
}

TEST_F(BadAcknowledgement, that_goes_back_is_refused) {
  RawTcp raw = greeted();
  good_messages(20);
  raw.send(acknowledgement(5));
  raw.send(acknowledgement(3));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
  EXPECT_EQ(gone.peer.books.acknowledged, 5U);
}

TEST_F(BadAcknowledgement, messages_to_a_socket_that_takes_none_are_refused) {
  RawTcp raw = greeted();
  raw.send(message_page(0, payload(0, 100)));
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
}

// Who returns says what it got: a lie must not cook the books.
TEST_F(BadAcknowledgement, a_lie_of_who_returns_changes_no_books) {
  struct Lie {
    std::uint64_t next_expected;
    std::uint64_t missed;
  };
  std::uint8_t stream = 77;
  for (const Lie lie : {Lie{std::uint64_t{1} << 40U, 0}, Lie{~std::uint64_t{0}, 0},
                        Lie{std::uint64_t{1} << 40U, std::uint64_t{1} << 40U},
                        Lie{0, std::uint64_t{1} << 40U}, Lie{1, ~std::uint64_t{0}}}) {
    SCOPED_TRACE(lie.next_expected);
    detail::Hello hello = sound_hello(detail::WirePattern::pull, ++stream);
    {
      RawTcp raw = greeted(stream);
      hello.peer_run = hello_in(raw.received()).run;
      good_messages();
    }
    EXPECT_EQ(next_down().down.reason, DownReason::lost);
    // What the good receiver got may still be on its way back.
    ASSERT_SOON(pump_, push_.books().acknowledged == good_received_);
    const Books before = push_.books();
    hello.epoch = 2;
    RawTcp raw = RawTcp::connect(address());
    raw.send(hello_of(hello));
    ASSERT_SOON(pump_, hello_in(raw.received()).nonce != 0);
    raw.confirm(0, lie.next_expected, lie.missed);
    ASSERT_SOON(pump_, raw.ended());
    EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << at_push_.why();
    EXPECT_TRUE(add_up(push_.books()));
    EXPECT_EQ(push_.books().sent, before.sent);
    EXPECT_EQ(push_.books().acknowledged, before.acknowledged);
    raw.close();
    ASSERT_SOON(pump_, push_.peers_connected() == 1);
  }
}

}  // namespace
}  // namespace netio::test

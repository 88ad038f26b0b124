// Messages of several segments: whole, in order, as they were sent, through every pattern.
#include <cstring>
#include <map>
#include <optional>

#include <netio/blocking/queued.hpp>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

using Texts = std::vector<std::string>;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename Any>
Texts texts_of(const Any& message) {
  Texts texts;
  for (const std::span<const std::byte> segment : message.segments()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 8, 0U);
    texts.push_back(text_of(segment));
  }
  return texts;
}

std::vector<Segment> segments_of(const Texts& texts) {
  std::vector<Segment> segments;
  for (const std::string& text : texts) segments.emplace_back(std::string_view(text));
  return segments;
}

// Of sizes around a word, a page, and more.
std::vector<Texts> many_kinds() {
  const auto filled = [](std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 26);
    return text;
  };
  std::vector<Texts> kinds{{},
                           {""},
                           {"", ""},
                           {"one"},
                           {"head", "body"},
                           {"12345678", "1"},
                           {"1", "", "22", "", "333"},
                           {filled(64), filled(4000)},
                           {filled(64), filled(70'000)},
                           {filled(70'000), filled(64)},
                           {filled(300'000), filled(300'000), "end"},
                           {filled(64), filled(3'000'000)}};
  kinds.emplace_back(64, "x");
  kinds.emplace_back(64, filled(2000));
  return kinds;
}

// Two texts in braces are no text.
template <typename Socket, typename... Rest>
constexpr bool takes_two_texts = requires(Socket& socket, Rest... rest) {
  socket.send({"one", "two"}, rest...);
};
static_assert(!takes_two_texts<Push> && !takes_two_texts<Pair> && !takes_two_texts<ReplyTo>);
static_assert(!takes_two_texts<Publish, std::uint64_t> && !takes_two_texts<PublishTag>);
static_assert(!takes_two_texts<blocking::QueuedPush, std::chrono::nanoseconds>);

class SegmentsOf : public Conformance {
 protected:
  template <typename Socket, typename... Tag>
  void send_all(Socket& socket, const std::vector<Texts>& kinds, Tag... tag) {
    for (const Texts& texts : kinds) {
      Status status = Status::again;
      ASSERT_SOON(pump_,
                  (status = socket.send_segments(segments_of(texts), tag...)) != Status::again &&
                      status != Status::not_connected);
      ASSERT_EQ(status, Status::ok);
    }
  }
};

TEST_P(SegmentsOf, a_message_arrive_as_they_were_sent) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Texts> received;
  pull.on_message([&](const MessageView& message) {
    received.push_back(texts_of(message));
    EXPECT_EQ(message.tag(), 7U);
  });
  join(pull, push);
  const std::vector<Texts> kinds = many_kinds();
  send_all(push, kinds, std::uint64_t{7});
  ASSERT_SOON(pump_, received.size() == kinds.size());
  EXPECT_TRUE(received == kinds);
  settle(push);
  EXPECT_EQ(push.counters().bytes_sent, pull.counters().bytes_received);
}

TEST_P(SegmentsOf, a_message_are_one_if_it_was_sent_whole) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Texts> received;
  pull.on_message([&](const MessageView& message) { received.push_back(texts_of(message)); });
  join(pull, push);
  ASSERT_EQ(send(push, std::as_bytes(std::span(std::string_view("whole")))), Status::ok);
  const std::string_view one = "one";
  ASSERT_EQ(push.send_segments({one}), Status::ok);
  ASSERT_EQ(push.send_segments({}), Status::ok);
  ASSERT_SOON(pump_, received.size() == 3);
  EXPECT_EQ(received[0], Texts{"whole"});
  EXPECT_EQ(received[1], Texts{"one"});
  EXPECT_EQ(received[2], Texts{});
}

// The memory between them is part of the message.
TEST_P(SegmentsOf, a_message_lie_behind_each_other) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::optional<Message> kept;
  pull.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.size(), 8U + 3U);
    EXPECT_EQ(message.text().substr(0, 2), "ab");
    EXPECT_EQ(message.text().substr(8), "xyz");
    kept = message.keep();
  });
  join(pull, push);
  ASSERT_EQ(push.send_segments({std::string_view("ab"), std::string_view("xyz")}), Status::ok);
  ASSERT_SOON(pump_, kept);
  EXPECT_EQ(texts_of(*kept), (Texts{"ab", "xyz"}));
}

TEST_P(SegmentsOf, a_message_are_refused_in_words_where_they_are_too_many_or_too_large) {
  SocketOptions small = options();
  small.message_bytes_max = 10'000;
  Pull pull(there_, options());
  Push push(here_, small);
  Inbox inbox(pull);
  join(pull, push);
  Texts texts(65, "x");
  EXPECT_EQ(push.send_segments(segments_of(texts)), Status::invalid);
  // The table counts.
  const std::string half(4992, 'x');
  EXPECT_EQ(push.send_segments({std::string_view(half), std::string_view(half)}), Status::too_big);
  EXPECT_EQ(push.send_segments({std::string_view(half)}), Status::ok);
  settle(push);
}

// Through batches, kept batches, and kept messages of any size.
TEST_P(SegmentsOf, a_message_are_kept_with_it) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Texts> in_batches;
  std::vector<KeptBatch> batches;
  std::vector<Message> messages;
  pull.on_batch([&](const Batch& batch) {
    for (const MessageView& message : batch) {
      in_batches.push_back(texts_of(message));
      messages.push_back(message.keep());
    }
    batches.push_back(batch.keep());
  });
  join(pull, push);
  const std::vector<Texts> kinds = many_kinds();
  send_all(push, kinds);
  ASSERT_SOON(pump_, in_batches.size() == kinds.size());
  EXPECT_TRUE(in_batches == kinds);
  std::vector<Texts> in_kept_batches;
  for (const KeptBatch& batch : batches) {
    for (const MessageView& message : batch) {
      in_kept_batches.push_back(texts_of(message));
      EXPECT_EQ(texts_of(message.keep()), in_kept_batches.back());
    }
  }
  EXPECT_TRUE(in_kept_batches == kinds);
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(texts_of(messages[i]), kinds[i]);
}

TEST_P(SegmentsOf, a_message_go_on_through_a_relay) {
  Pull last(there_, options());
  Push second(here_, options());
  Pull first(here_, options());
  Push push(there_, options());
  std::vector<Texts> received;
  last.on_message([&](const MessageView& message) { received.push_back(texts_of(message)); });
  std::vector<Message> waiting;
  first.on_message([&](const MessageView& message) { waiting.push_back(message.keep()); });
  join(last, second);
  join(first, push);
  const std::vector<Texts> kinds = many_kinds();
  send_all(push, kinds);
  std::size_t passed = 0;
  ASSERT_SOON(pump_, [&] {
    while (passed < waiting.size() && second.send(std::move(waiting[passed])) == Status::ok) {
      ++passed;
    }
    return received.size() == kinds.size();
  }());
  EXPECT_TRUE(received == kinds);
}

TEST_P(SegmentsOf, a_message_may_be_messages) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Texts> received;
  pull.on_message([&](const MessageView& message) { received.push_back(texts_of(message)); });
  join(pull, push);
  const auto copy_of = [](std::string_view text) {
    return Message::copy_of(std::as_bytes(std::span(text)));
  };
  Message head = copy_of("head");
  Message body = copy_of(std::string(100'000, 'b'));
  ASSERT_EQ(push.send_segments({std::move(head), std::string_view("between"), std::move(body)}),
            Status::ok);
  EXPECT_FALSE(head);  // NOLINT(bugprone-use-after-move): empty once it was sent
  EXPECT_FALSE(body);  // NOLINT(bugprone-use-after-move)
  ASSERT_SOON(pump_, received.size() == 1);
  EXPECT_EQ(received[0], (Texts{"head", "between", std::string(100'000, 'b')}));
  // One that is empty is a mistake of the caller's, and no empty segment.
  EXPECT_EQ(push.send_segments({std::string_view("head"), Message()}), Status::invalid);
  // Untouched if they are refused.
  Message kept = copy_of("kept");
  Texts many(64, "x");
  std::vector<Segment> segments = segments_of(many);
  segments.emplace_back(std::move(kept));
  EXPECT_EQ(push.send_segments(segments), Status::invalid);
  EXPECT_EQ(kept.text(), "kept");  // NOLINT(bugprone-use-after-move)
}

// The body is written where the wire sends it from, and nothing but the head is copied.
TEST_P(SegmentsOf, a_message_with_room_for_its_head_are_not_copied) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::size_t received = 0;
  pull.on_message([&](const MessageView& message) {
    const Segments segments = message.segments();
    ASSERT_EQ(segments.size(), 3U);
    EXPECT_EQ(text_of(segments[0]), "the head");
    EXPECT_EQ(text_of(segments[1]), "more");
    EXPECT_TRUE(is_payload(segments[2], received));
    ++received;
  });
  join(pull, push);
  for (const std::size_t size : {std::size_t{40'000}, std::size_t{600'000}}) {
    const std::uint64_t copied_before = push.counters().bytes_copied;
    Message body;
    Status status = Status::again;
    ASSERT_SOON(pump_, (body = push.allocate(size, status, 0, 16)) || status != Status::again);
    ASSERT_EQ(status, Status::ok);
    const std::vector<std::byte> bytes = payload(received, size);
    std::memcpy(body.writable_bytes().data(), bytes.data(), size);
    const std::size_t before = received;
    ASSERT_SOON(
        pump_, (status = push.send_segments({std::string_view("the head"), std::string_view("more"),
                                             std::move(body)})) != Status::again);
    ASSERT_EQ(status, Status::ok);
    EXPECT_FALSE(body);  // NOLINT(bugprone-use-after-move)
    ASSERT_SOON(pump_, received == before + 1);
    EXPECT_EQ(push.counters().bytes_copied, copied_before);
  }
}

TEST_P(SegmentsOf, a_published_message_reach_all_subscribers) {
  Publish publish(here_, {}, options());
  Subscribe one(there_, {.policy = Policy::block}, options());
  Subscribe other(there_, {.policy = Policy::block}, options());
  std::vector<Texts> at_one;
  std::vector<Texts> at_other;
  std::size_t subscribed = 0;
  for (auto [socket, texts] : {std::pair{&one, &at_one}, std::pair{&other, &at_other}}) {
    socket->on_message(
        [texts = texts](const MessageView& message) { texts->push_back(texts_of(message)); });
    socket->on_subscribed([&](const PeerInfo&, const Subscribed&) { ++subscribed; });
    socket->subscribe(5);
  }
  const std::string address = bind(publish);
  one.connect(address);
  other.connect(address);
  ASSERT_SOON(pump_, subscribed == 2);
  const std::vector<Texts> kinds = many_kinds();
  send_all(publish, kinds, std::uint64_t{5});
  ASSERT_SOON(pump_, at_one.size() == kinds.size() && at_other.size() == kinds.size());
  EXPECT_TRUE(at_one == kinds);
  EXPECT_TRUE(at_other == kinds);
}

TEST_P(SegmentsOf, requests_and_answers_come_as_they_were_sent) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, options());
  reply.on_request([](const MessageView& message, ReplyTo to) {
    const Texts texts = texts_of(message);
    EXPECT_EQ(to.send_segments(segments_of(texts)), Status::ok);
  });
  std::map<std::uint64_t, Texts> expected;
  std::size_t answered = 0;
  request.on_reply([&](std::uint64_t id, const MessageView& answer) {
    EXPECT_TRUE(texts_of(answer) == expected.at(id));
    ++answered;
  });
  join(reply, request);
  const std::vector<Texts> kinds = many_kinds();
  for (const Texts& texts : kinds) {
    std::uint64_t id = 0;
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = request.send_segments(segments_of(texts), id)) == Status::ok);
    expected[id] = texts;
  }
  ASSERT_SOON(pump_, answered == kinds.size());
}

ON_EVERY_TRANSPORT_AND_MODE(SegmentsOf);

}  // namespace
}  // namespace netio::test

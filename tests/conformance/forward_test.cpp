// Messages that go on over another wire: forward(), and batches that were kept. The first wire is
// that of the row, the second each of the others in turn.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/forwarding.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class ForwardOn : public Forwarding {
 protected:
  // From source_ over the row's wire to input_, from output_ over the other wire to sink_.
  void make_stage(const Row& second, SocketOptions input, SocketOptions output) {
    forward_ = Forward();
    source_ = std::make_unique<Push>(here_, options());
    input_ = std::make_unique<Pull>(middle_, std::move(input));
    output_ = std::make_unique<Push>(middle_, std::move(output));
    sink_ = std::make_unique<Pull>(there_, options());
    forward_ = forward(*input_, *output_);
    join(*input_, *source_);
    output_->connect(sink_->bind(second.address));
    ASSERT_SOON(pump_, output_->peers_connected() == 1 && sink_->peers_connected() == 1);
  }
  void make_stage(const Row& second) { make_stage(second, options(), options()); }
  void send_all(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
      ASSERT_EQ(send(*source_, payload(i, size_of(i)), i), Status::ok);
    }
  }
  // The sink checks each message, and that they come in order.
  void check_all() {
    came_ = 0;
    sink_->on_message([this](const MessageView& message) {
      if (message.tag() != came_ || !is_payload(message.bytes(), came_)) {
        ADD_FAILURE() << "number " << message.tag() << " in place of " << came_;
        sink_->pause();
      }
      ++came_;
    });
  }
  static SocketOptions released(SocketOptions options) {
    options.acknowledge = Acknowledge::released;
    return options;
  }
};

TEST_P(ForwardOn, messages_of_every_size_go_on_over_every_wire) {
  for (const Row& second : other_wires()) {
    SCOPED_TRACE(second.name);
    ASSERT_NO_FATAL_FAILURE(make_stage(second));
    check_all();
    send_all(0, 2000);
    source_->flush();
    ASSERT_SOON(pump_, came_ == 2000);
    settle(*source_);
    settle(*output_);
    const ForwardBooks books = forward_.books();
    EXPECT_EQ(books.passed, 2000U);
    EXPECT_EQ(books.bytes, source_->counters().bytes_sent);
    EXPECT_EQ(books.bytes, output_->counters().bytes_sent);
    EXPECT_EQ(books.held + books.dropped + books.unsettled, 0U);
  }
}

TEST_P(ForwardOn, segments_go_on_as_they_were_sent) {
  const std::string body(50'000, 'b');
  for (const Row& second : other_wires()) {
    SCOPED_TRACE(second.name);
    ASSERT_NO_FATAL_FAILURE(make_stage(second));
    std::vector<std::size_t> sizes;
    sink_->on_message([&](const MessageView& message) {
      for (const auto segment : message.segments()) sizes.push_back(segment.size());
      EXPECT_EQ(message.tag(), 7U);
    });
    std::vector<std::size_t> expected;
    for (const std::size_t size : {0U, 3U, 900U, 50'000U}) {
      const std::string_view part = std::string_view(body).substr(0, size);
      for (int i = 0; i < 3; ++i) {
        Status status = Status::again;
        ASSERT_SOON(pump_,
                    (status = source_->send_segments({"head", part, "end"}, 7)) == Status::ok);
        expected.insert(expected.end(), {4, size, 3});
      }
    }
    source_->flush();
    ASSERT_SOON(pump_, sizes.size() == expected.size());
    EXPECT_EQ(sizes, expected);
  }
}

TEST_P(ForwardOn, a_sink_that_takes_nothing_holds_the_source_up_and_loses_nothing) {
  for (const Row& second : other_wires()) {
    SCOPED_TRACE(second.name);
    ASSERT_NO_FATAL_FAILURE(make_stage(second));
    sink_->pause();
    std::uint64_t sent = 0;
    ASSERT_NO_FATAL_FAILURE(hold_up(size_of, sent));
    EXPECT_EQ(input_->paused(), forward_.books().held != 0);
    EXPECT_LE(input_->kept_bytes(), 16 * mebi);
    check_all();
    sink_->resume();
    ASSERT_SOON(pump_, came_ == sent);
    EXPECT_FALSE(input_->paused());
    settle(*source_);
  }
}

TEST_P(ForwardOn, what_the_next_stage_has_not_acknowledged_is_not_acknowledged) {
  for (const Row& second : other_wires()) {
    SCOPED_TRACE(second.name);
    for (const bool resumes : {false, true}) {
      SocketOptions output = options();
      if (resumes) output.resume_bytes_max = 8 * mebi;
      ASSERT_NO_FATAL_FAILURE(make_stage(second, released(options()), output));
      check_all();
      sink_->pause();
      send_all(0, 200);
      source_->flush();
      pump_.run_for(30ms);
      EXPECT_EQ(output_->books().acknowledged, 0U);
      EXPECT_EQ(source_->books().acknowledged, 0U);
      EXPECT_GT(forward_.books().unsettled, 0U);
      sink_->resume();
      ASSERT_SOON(pump_, source_->books().acknowledged == 200);
      EXPECT_EQ(came_, 200U);
      EXPECT_EQ(forward_.books().unsettled, 0U);
      // And again, so that nothing waits for the end of a page.
      send_all(200, 203);
      ASSERT_SOON(pump_, source_->books().acknowledged == 203);
    }
  }
}

TEST_P(ForwardOn, what_went_with_a_sink_is_not_acknowledged_before_what_follows) {
  ASSERT_NO_FATAL_FAILURE(make_stage(other_wires().front(), released(options()), eager()));
  sink_->pause();
  send_all(0, 50);
  source_->flush();
  ASSERT_SOON(pump_, forward_.books().passed == 50);
  pump_.run_for(20ms);
  EXPECT_EQ(source_->books().acknowledged, 0U);
  sink_.reset();
  ASSERT_SOON(pump_, output_->peers_connected() == 0);
  // What had been posted is in doubt here; the rest waits for the next connection.
  ASSERT_SOON(pump_, output_->books().in_doubt + output_->books().dropped() +
                             output_->books().unacknowledged ==
                         50U);
  pump_.run_for(20ms);
  EXPECT_EQ(source_->books().acknowledged, 0U);
  Pull next(there_, options());
  next.on_message([](const MessageView&) {});
  output_->connect(next.bind(other_wires().front().address));
  ASSERT_SOON(pump_, output_->peers_connected() == 1);
  send_all(50, 60);
  source_->flush();
  ASSERT_SOON(pump_, source_->books().acknowledged == 60);
}

TEST_P(ForwardOn, a_stage_ends_in_order) {
  for (const Row& second : other_wires()) {
    SCOPED_TRACE(second.name);
    ASSERT_NO_FATAL_FAILURE(make_stage(second, released(options()), options()));
    check_all();
    bool ended = false;
    input_->on_down([&](const PeerInfo& peer, const Down&) {
      if (!peer.was_up) return;
      forward_.finish(20s, [&] {
        EXPECT_EQ(forward_.books().held, 0U);
        input_->close();
        output_->close();
      });
    });
    output_->on_closed([&](const Books& books) {
      EXPECT_EQ(books.acknowledged, 500U);
      ended = true;
    });
    send_all(0, 500);
    std::optional<Books> last;
    source_->on_closed([&](const Books& books) { last = books; });
    source_->close(20s);
    ASSERT_SOON(pump_, ended && last);
    EXPECT_EQ(last->acknowledged, 500U);
    EXPECT_EQ(came_, 500U);
  }
}

TEST_P(ForwardOn, a_stage_that_cannot_pass_on_gives_up_in_time) {
  ASSERT_NO_FATAL_FAILURE(make_stage(other_wires().front()));
  sink_->pause();
  std::uint64_t sent = 0;
  for (int i = 0; i < 100'000 && forward_.books().held == 0; ++i) {
    if (source_->send(payload(sent, 20'000), sent) == Status::ok) ++sent;
    pump_.turn();
  }
  ASSERT_GT(forward_.books().held, 0U);
  bool ended = false;
  const auto begin = std::chrono::steady_clock::now();
  forward_.finish(std::chrono::nanoseconds::max(), [&] { ADD_FAILURE() << "it still holds some"; });
  pump_.run_for(20ms);
  forward_.finish(50ms, [&] { ended = true; });
  ASSERT_SOON(pump_, ended);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 45ms);
  EXPECT_EQ(forward_.books().held, 0U);
  EXPECT_GT(forward_.books().dropped, 0U);
}

TEST_P(ForwardOn, a_message_that_is_too_large_for_the_output_is_dropped_and_told) {
  SocketOptions small = options();
  small.message_bytes_max = 10'000;
  ASSERT_NO_FATAL_FAILURE(make_stage(other_wires().front(), options(), small));
  std::vector<std::uint64_t> dropped, came;
  forward_.on_dropped([&](const MessageView& message) { dropped.push_back(message.tag()); });
  sink_->on_message([&](const MessageView& message) { came.push_back(message.tag()); });
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_EQ(send(*source_, payload(i, i % 2 == 0 ? 100 : 20'000), i), Status::ok);
  }
  source_->flush();
  ASSERT_SOON(pump_, came.size() == 3 && dropped.size() == 3);
  EXPECT_EQ(came, (std::vector<std::uint64_t>{0, 2, 4}));
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{1, 3, 5}));
  EXPECT_EQ(forward_.books().dropped, 3U);
  settle(*source_);
}

TEST_P(ForwardOn, by_tag_only_the_input_is_held_whose_message_has_to_wait) {
  SocketOptions by_tag = options();
  by_tag.distribute = Distribute::by_tag;
  Push first(here_, options()), second(here_, options());
  Pull input(middle_, options());
  Push output(middle_, by_tag);
  Pull one(there_, options()), other(there_, options());
  forward_ = forward(input, output);
  const std::string address = bind(input);
  first.connect(address);
  second.connect(address);
  output.connect(bind(one));
  output.connect(bind(other));
  ASSERT_SOON(pump_, input.peers_connected() == 2 && output.peers_connected() == 2);
  // A tag of each.
  std::uint64_t tags_of_one = 0, tags_of_other = 0;
  std::optional<std::uint64_t> tag_of_one, tag_of_other;
  one.on_message([&](const MessageView& message) { ++tags_of_one, tag_of_one = message.tag(); });
  other.on_message(
      [&](const MessageView& message) { ++tags_of_other, tag_of_other = message.tag(); });
  for (std::uint64_t tag = 0; !(tag_of_one && tag_of_other); ++tag) {
    ASSERT_LT(tag, 1000U);
    ASSERT_EQ(send(first, payload(tag, 16), tag), Status::ok);
    first.flush();
    pump_.run_for(3ms);
  }
  one.pause();
  const std::vector<std::byte> large = payload(1, 30'000);
  for (int quiet = 0; quiet < 30;) {
    quiet = first.send(large, *tag_of_one) == Status::ok ? 0 : quiet + 1;
    pump_.run_for(quiet == 0 ? 0ms : 2ms);
  }
  EXPECT_GT(forward_.books().held, 0U);
  const std::uint64_t before = tags_of_other;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(send(second, large, *tag_of_other), Status::ok);
  second.flush();
  ASSERT_SOON(pump_, tags_of_other == before + 100);
  EXPECT_GT(forward_.books().held, 0U);
  one.resume();
  settle(first);
  settle(second);
  forward_ = Forward();
}

TEST_P(ForwardOn, published_messages_go_on_with_their_tags_to_who_wants_them) {
  Publish source(here_, {}, options());
  Subscribe input(middle_, SubscribeOptions{.policy = Policy::block}, options());
  Publish output(middle_, {}, options());
  Subscribe one(there_, SubscribeOptions{.policy = Policy::block}, options());
  Subscribe two(there_, SubscribeOptions{.policy = Policy::block}, options());
  one.subscribe(TagRange{10, 20});
  std::vector<TagRange> wanted;  // of the source
  source.on_subscribe([&](const PeerInfo&, std::span<const TagRange> tags) {
    wanted.insert(wanted.end(), tags.begin(), tags.end());
  });
  std::vector<TagRange> unwanted;
  source.on_unsubscribe([&](const PeerInfo&, std::span<const TagRange> tags) {
    unwanted.insert(unwanted.end(), tags.begin(), tags.end());
  });
  join(output, one);
  ASSERT_SOON(pump_, one.peers_connected() == 1);
  pump_.run_for(10ms);
  forward_ = forward(input, output);  // one has subscribed before
  join(source, input);
  ASSERT_SOON(pump_, wanted == std::vector<TagRange>({{10, 20}}));
  two.subscribe(TagRange{15, 30});
  two.connect(bind(output));
  ASSERT_SOON(pump_, wanted == std::vector<TagRange>({{10, 20}, {21, 30}}));
  std::vector<std::uint64_t> at_one, at_two;
  const auto check = [](std::vector<std::uint64_t>& at) {
    return [&at](const MessageView& message) {
      EXPECT_TRUE(is_payload(message.bytes(), message.tag()));
      at.push_back(message.tag());
    };
  };
  one.on_message(check(at_one));
  two.on_message(check(at_two));
  for (std::uint64_t tag = 0; tag < 40; ++tag) {
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = source.send(payload(tag, tag % 7 == 0 ? 300'000 : 100), tag)) ==
                           Status::ok);
  }
  source.flush();
  ASSERT_SOON(pump_, at_one.size() == 11 && at_two.size() == 16);
  EXPECT_EQ(at_one.front(), 10U);
  EXPECT_EQ(at_two.back(), 30U);
  EXPECT_EQ(source.counters().unwanted, 19U);
  one.unsubscribe_all();
  ASSERT_SOON(pump_, unwanted == std::vector<TagRange>({{10, 14}}));
  forward_ = Forward();
}

TEST_P(ForwardOn, requests_go_on_and_answers_come_back) {
  Request asker(here_, {}, options());
  Reply input(middle_, {}, options());
  Request output(middle_, {}, options());
  Reply answerer(there_, {}, options());
  forward_ = forward(input, output);
  join(input, asker);
  output.connect(bind(answerer));
  ASSERT_SOON(pump_, output.peers_connected() == 1);
  std::vector<ReplyTo> never;
  answerer.on_request([&](const MessageView& request, ReplyTo to) {
    if (request.size() == 9) return;  // not answered
    if (request.size() == 10) {
      EXPECT_TRUE(to.time_left());
      never.push_back(std::move(to));
      return;
    }
    EXPECT_EQ(to.send(request.bytes()), Status::ok);
  });
  std::uint64_t answered = 0, not_answered = 0, timed_out = 0, bytes = 0;
  asker.on_reply(
      [&](std::uint64_t, const MessageView& answer) { ++answered, bytes += answer.size(); });
  asker.on_failed([&](std::uint64_t, Outcome outcome) {
    not_answered += outcome == Outcome::not_answered ? 1U : 0U;
    timed_out += outcome == Outcome::timed_out ? 1U : 0U;
  });
  std::uint64_t id = 0, sum = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t size = i % 100 == 0 ? 300'000 : 16 + i;
    ASSERT_SOON(pump_, asker.send(payload(i, size), id) == Status::ok);
    sum += size;
  }
  ASSERT_SOON(pump_, asker.send(payload(1, 9), id) == Status::ok);
  ASSERT_SOON(pump_, asker.send(payload(1, 10), id, {.within = 100ms}) == Status::ok);
  // The stage may find out first that the time is over, and then it has no answer.
  ASSERT_SOON(pump_, answered == 300 && not_answered + timed_out == 2);
  EXPECT_EQ(bytes, sum);
  EXPECT_EQ(forward_.books().passed, 302U);
  bool ended = false;
  never.clear();
  forward_.finish(std::chrono::nanoseconds::max(), [&] { ended = true; });
  ASSERT_SOON(pump_, ended);
  EXPECT_EQ(forward_.books().unsettled, 0U);
  forward_ = Forward();
}

TEST_P(ForwardOn, pairs_are_joined_by_two) {
  Pair left(here_, options()), inner_left(middle_, options());
  Pair inner_right(middle_, options()), right(there_, options());
  Forward there = forward(inner_left, inner_right), back = forward(inner_right, inner_left);
  join(inner_left, left);
  right.connect(bind(inner_right));
  ASSERT_SOON(pump_, right.peers_connected() == 1);
  std::uint64_t at_left = 0;
  right.on_message([&](const MessageView& message) {
    EXPECT_EQ(right.send(message.bytes(), message.tag()), Status::ok);
  });
  left.on_message([&](const MessageView& message) {
    EXPECT_TRUE(is_payload(message.bytes(), at_left));
    ++at_left;
  });
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(send(left, payload(i, 64 + i), i), Status::ok);
    ASSERT_SOON(pump_, at_left == i + 1);
  }
}

TEST_P(ForwardOn, a_batch_that_was_kept_is_sent_on) {
  ASSERT_NO_FATAL_FAILURE(make_stage(other_wires().front()));
  forward_ = Forward();
  std::vector<KeptBatch> kept;
  input_->on_batch([&](const Batch& batch) { kept.push_back(batch.keep()); });
  check_all();
  send_all(0, 300);
  source_->flush();
  ASSERT_SOON(pump_, input_->books().delivered == 300);
  source_.reset();  // the sender of the memory may be gone
  pump_.run_for(5ms);
  for (KeptBatch& batch : kept) {
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = output_->send(std::move(batch))) == Status::ok);
    EXPECT_FALSE(batch);
  }
  output_->flush();
  ASSERT_SOON(pump_, came_ == 300);
}

TEST_P(ForwardOn, what_was_held_until_a_sink_came_is_acknowledged_without_another_message) {
  source_ = std::make_unique<Push>(here_, options());
  input_ = std::make_unique<Pull>(middle_, released(options()));
  output_ = std::make_unique<Push>(middle_, options());
  sink_ = std::make_unique<Pull>(there_, options());
  forward_ = forward(*input_, *output_);
  join(*input_, *source_);
  check_all();
  send_all(0, 1);
  source_->flush();
  ASSERT_SOON(pump_, forward_.books().held == 1);
  pump_.run_for(20ms);
  EXPECT_EQ(source_->books().acknowledged, 0U);
  output_->connect(bind(*sink_));
  ASSERT_SOON(pump_, came_ == 1 && source_->books().acknowledged == 1);
}

TEST_P(ForwardOn, another_forward_of_an_input_goes_on_where_the_first_one_ended) {
  ASSERT_NO_FATAL_FAILURE(make_stage(other_wires().front(), released(options()), options()));
  EXPECT_THROW((void)forward(*input_, *output_), Error);
  sink_->pause();
  std::uint64_t sent = 0;
  for (int i = 0; i < 100'000 && forward_.books().held == 0; ++i) {
    if (source_->send(payload(sent, 20'000), sent) == Status::ok) ++sent;
    pump_.turn();
  }
  const std::uint64_t held = forward_.books().held;
  ASSERT_GT(held, 0U);
  forward_ = Forward();
  // What was held is dropped, and not acknowledged by that.
  pump_.run_for(20ms);
  EXPECT_EQ(source_->books().acknowledged, 0U);
  EXPECT_FALSE(input_->paused());
  std::uint64_t came = 0;
  sink_->on_message([&](const MessageView&) { ++came; });
  forward_ = forward(*input_, *output_);
  sink_->resume();
  ASSERT_SOON(pump_, came == sent - held);
}

TEST_P(ForwardOn, tags_that_the_user_subscribed_stay_subscribed) {
  Publish source(here_, {}, options());
  Subscribe input(middle_, SubscribeOptions{.policy = Policy::block}, options());
  Publish output(middle_, {}, options());
  auto one = std::make_unique<Subscribe>(there_, SubscribeOptions{}, options());
  input.subscribe(7);
  one->subscribe(TagRange{7, 8});
  forward_ = forward(input, output);
  Subscribe other(middle_, SubscribeOptions{}, options());
  EXPECT_THROW((void)forward(other, output), Error);
  std::vector<TagRange> unwanted;
  source.on_unsubscribe([&](const PeerInfo&, std::span<const TagRange> tags) {
    unwanted.insert(unwanted.end(), tags.begin(), tags.end());
  });
  join(source, input);
  join(output, *one);
  ASSERT_SOON(pump_, input.subscribed().size() == 1 && input.subscribed()[0].last == 8);
  pump_.run_for(20ms);
  one->close();
  ASSERT_SOON(pump_, unwanted == std::vector<TagRange>({{8, 8}}));
  forward_ = Forward();
}

TEST_P(ForwardOn, one_socket_and_two_contexts_are_refused) {
  Pair pair(here_, options());
  Pull pull(here_, options());
  Push push(there_, options());
  EXPECT_THROW((void)forward(pair, pair), Error);
  EXPECT_THROW((void)forward(pull, push), Error);
}

ON_EVERY_TRANSPORT_AND_MODE(ForwardOn);

class ForwardOverARelay : public ForwardOn {
 protected:
  // The sink dials the output, or is dialed by it, and its connection can be cut. It takes nothing
  // so far.
  void make_cut_stage(bool sink_dials) {
    source_ = std::make_unique<Push>(here_, keeping());
    input_ = std::make_unique<Pull>(middle_, released(eager()));
    output_ = std::make_unique<Push>(middle_, keeping());
    sink_ = std::make_unique<Pull>(there_, keeping());
    forward_ = forward(*input_, *output_);
    join(*input_, *source_);
    relay_ = std::make_unique<Relay>(sink_dials ? bind(*output_) : bind(*sink_));
    Socket& dials = sink_dials ? static_cast<Socket&>(*sink_) : *output_;
    dials.connect(relay_->address());
    ASSERT_SOON(pump_, output_->peers_connected() == 1);
    sink_->pause();
  }

  std::unique_ptr<Relay> relay_;
};

TEST_P(ForwardOverARelay, what_is_kept_for_a_sink_that_is_away_is_not_acknowledged) {
  for (const bool sink_dials : {false, true}) {
    SCOPED_TRACE(sink_dials);
    ASSERT_NO_FATAL_FAILURE(make_cut_stage(sink_dials));
    send_all(0, 100);
    source_->flush();
    ASSERT_SOON(pump_, forward_.books().passed == 100);
    pump_.run_for(20ms);
    EXPECT_EQ(source_->books().acknowledged, 0U);
    relay_->forbid(true);
    relay_->cut();
    ASSERT_SOON(pump_, output_->peers_connected() == 0);
    pump_.run_for(50ms);
    EXPECT_EQ(source_->books().acknowledged, 0U);
    check_all();
    sink_->resume();
    relay_->forbid(false);
    ASSERT_SOON(pump_, source_->books().acknowledged == 100);
    EXPECT_EQ(came_, 100U);
    EXPECT_EQ(forward_.books().unsettled, 0U);
    forward_ = Forward();
  }
}

TEST_P(ForwardOverARelay, cuts_on_both_sides_lose_nothing) {
  ASSERT_NO_FATAL_FAILURE(make_cut_stage(false));
  Relay before(bind(*input_));
  source_.reset();
  source_ = std::make_unique<Push>(here_, keeping());
  source_->connect(before.address());
  check_all();
  sink_->resume();
  ASSERT_SOON(pump_, source_->peers_connected() == 1);
  std::uint64_t sent = 0;
  for (int round = 0; round < 10; ++round) {
    send_all(sent, sent + 300);
    sent += 300;
    (round % 2 == 0 ? before : *relay_).cut();
  }
  source_->flush();
  ASSERT_SOON(pump_, came_ == sent && source_->books().acknowledged == sent);
  EXPECT_EQ(source_->books().dropped() + output_->books().dropped(), 0U);
  forward_ = Forward();
}

ON_TCP_IN_EVERY_MODE(ForwardOverARelay);

}  // namespace
}  // namespace netio::test

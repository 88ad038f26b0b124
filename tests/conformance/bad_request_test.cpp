// Requests, answers and cancels that the rules do not allow, or that nobody waits for: sent by raw
// peers to a Reply and to a Request whose good peer is served throughout.
#include <optional>

#include "conformance/evil.hpp"
#include "conformance/raw_control.hpp"
#include "wire/frame.hpp"
#include "wire/request.hpp"

namespace netio::test {
namespace {

using detail::AnswerStatus;
using detail::ControlKind;
using detail::WirePattern;
namespace frame_flag = detail::frame_flag;

// A frame of a request, or of an answer to one.
Bytes request_frame(std::uint64_t id, std::string_view text, std::uint16_t field = 0,
                    std::uint32_t more_flags = 0) {
  Bytes bytes = all({frame_word(static_cast<std::uint32_t>(text.size()),
                                detail::request_label(id, field).flags | more_flags),
                     word(id)});
  append(bytes, std::as_bytes(std::span(text)));
  bytes.resize(detail::wire_padded(bytes.size()));
  return bytes;
}
constexpr auto not_answered = static_cast<std::uint16_t>(AnswerStatus::not_answered);

struct Case {
  const char* name;
  Bytes bytes;
  DownReason reason = DownReason::protocol_error;
};

// One socket under attack, which binds; its good peer.
class BadRequest : public testing::Test {
 protected:
  BadRequest() {
    reply_.on_request([this](const MessageView& message, ReplyTo to) {
      if (message.text() == "keep") {
        open_.push_back(std::move(to));
      } else {
        EXPECT_EQ(to.send(message.bytes()), Status::ok);
      }
    });
    good_request_.on_reply([this](std::uint64_t, const MessageView&) { ++good_answers_; });
    good_request_.on_failed([this](std::uint64_t, Outcome) { ++good_failed_; });
    request_.on_reply([this](std::uint64_t id, const MessageView& answer) {
      answered_.emplace_back(id, std::string(answer.text()));
    });
    request_.on_failed(
        [this](std::uint64_t id, Outcome outcome) { failed_.emplace_back(id, outcome); });
    good_reply_.on_request([](const MessageView& message, ReplyTo to) {
      EXPECT_EQ(to.send(message.bytes()), Status::ok);
    });
  }
  void SetUp() override {
    reply_address_ = reply_.bind("tcp://127.0.0.1:0");
    request_address_ = request_.bind("tcp://127.0.0.1:0");
    good_request_.connect(reply_address_);
    good_reply_.connect(request_address_);
    for (const Socket* socket :
         {static_cast<Socket*>(&reply_), static_cast<Socket*>(&request_),
          static_cast<Socket*>(&good_reply_), static_cast<Socket*>(&good_request_)}) {
      ASSERT_SOON(pump_, socket->peers_connected() == 1);
    }
    good_peer_ = request_.peers()[0].id;
    serve_the_good();
  }
  void TearDown() override {
    serve_the_good();
    EXPECT_EQ(good_failed_, 0U);
    EXPECT_EQ(good_request_.counters().disconnects, 0U);
    EXPECT_EQ(good_reply_.counters().disconnects, 0U);
  }
  void serve_the_good() {
    const std::uint64_t before = good_answers_;
    std::uint64_t id = 0;
    ASSERT_EQ(good_request_.send("good", id), Status::ok);
    ASSERT_SOON(pump_, good_answers_ == before + 1);
    const std::size_t answered = answered_.size();
    ASSERT_EQ(request_.send("good", id, {.peer = good_peer_}), Status::ok);
    ASSERT_SOON(pump_, answered_.size() == answered + 1);
    EXPECT_EQ(answered_.back(), std::pair(id, std::string("good")));
  }
  RawTcp greeted(const std::string& address, const Seen& seen, WirePattern pattern) {
    RawTcp raw = RawTcp::connect(address);
    const std::size_t ups = seen.ups.size();
    raw.send(hello_of(sound_hello(pattern, ++streams_)));
    EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
    raw.confirm();
    EXPECT_SOON(pump_, seen.ups.size() == ups + 1);
    return raw;
  }
  RawTcp raw_requester() { return greeted(reply_address_, at_reply_, WirePattern::request); }
  RawTcp raw_replier() {
    RawTcp raw = greeted(request_address_, at_request_, WirePattern::reply);
    evil_peer_ = at_request_.ups.back().id;
    return raw;
  }
  void expect_refused(RawTcp& raw, const Seen& seen, const Case& one) {
    SCOPED_TRACE(one.name);
    const std::size_t downs = seen.downs.size();
    raw.send(one.bytes);
    ASSERT_SOON(pump_, seen.downs.size() == downs + 1);
    EXPECT_EQ(seen.downs.back().down.reason, one.reason) << seen.why();
    EXPECT_TRUE(is_readable(seen.downs.back().down));
    ASSERT_SOON(pump_, raw.ended());
    serve_the_good();
  }
  // One that the raw replier is to answer.
  std::uint64_t ask_evil(const Ask& ask = {}) {
    std::uint64_t id = 0;
    Ask how = ask;
    how.peer = evil_peer_;
    EXPECT_EQ(request_.send("evil?", id, how), Status::ok);
    pump_.turns(5);
    return id;
  }

  Context here_{wary_context()};
  Context there_{wary_context()};
  Pump pump_{&here_, &there_};
  Reply reply_{there_, {.open_max = 100}, wary_options()};
  Seen at_reply_{reply_};
  Request request_{there_, {.pending_max = 100}, wary_options()};
  Seen at_request_{request_};
  Request good_request_{here_, {}, wary_options()};
  Reply good_reply_{here_, {}, wary_options()};
  std::string reply_address_;
  std::string request_address_;
  std::vector<ReplyTo> open_;
  std::vector<std::pair<std::uint64_t, std::string>> answered_;
  std::vector<std::pair<std::uint64_t, Outcome>> failed_;
  std::uint64_t good_answers_ = 0;
  std::uint64_t good_failed_ = 0;
  std::uint64_t good_peer_ = 0;
  std::uint64_t evil_peer_ = 0;

 private:
  std::uint8_t streams_ = 100;
};

TEST_F(BadRequest, of_another_kind_is_refused) {
  for (const Case& one : {
           Case{"a message that is no request", message_page(0, Bytes(8))},
           Case{"a tag beside the id", page(request_frame(1, "x", 0, frame_flag::tagged), 1)},
           Case{"a shift of nothing", page(request_frame(1, "x", 0x3000), 1)},
           Case{"a part of a message that is no request",
                page(all({frame_word(8, frame_flag::more), word(100), Bytes(8)}), 0)},
           Case{"an id in a later part",
                page(all({frame_word(8, frame_flag::continued | frame_flag::request), word(1),
                          Bytes(8)}),
                     1)},
           Case{"a time without a request",
                page(all({frame_word(8, 1U << frame_flag::request_shift), Bytes(8)}), 1)},
           Case{"a request as control",
                page(all({frame_word(0, frame_flag::request | frame_flag::control), word(1)}), 0, 0,
                     detail::page_flag::control)},
           Case{"a cancel of four bytes",
                control_page(control_frame(ControlKind::cancel, Bytes(4)))},
           Case{"a cancel of nothing", control_page(control_frame(ControlKind::cancel, Bytes()))},
           Case{"another pattern's control",
                control_page(control_frame(ControlKind::gap, Bytes(16)))},
           Case{"too large",
                page(all({frame_word(8, frame_flag::more | frame_flag::request), word(1),
                          word(wary_message_bytes_max + 1), Bytes(8)}),
                     0),
                DownReason::message_too_big},
       }) {
    RawTcp raw = raw_requester();
    expect_refused(raw, at_reply_, one);
  }
}

// A request that was not delivered is not in the books.
TEST_F(BadRequest, of_segments_that_lie_leaves_nothing_open) {
  for (int i = 0; i < 3; ++i) {
    RawTcp raw = raw_requester();
    const std::uint32_t flags =
        frame_flag::request | frame_flag::segmented | (3U << frame_flag::segments_shift);
    expect_refused(raw, at_reply_,
                   {"lies", page(all({frame_word(8, flags), word(1), word(9)}), 1)});
  }
  const ReplyBooks books = reply_.requests();
  EXPECT_EQ(books.open, 0U);
  EXPECT_EQ(books.requests, books.answered + books.not_answered + books.unwanted + books.open);
}

TEST_F(BadRequest, with_the_id_of_an_open_one_is_refused) {
  RawTcp raw = raw_requester();
  raw.send(page(all({request_frame(7, "keep"), request_frame(8, "keep")}), 2));
  ASSERT_SOON(pump_, open_.size() == 2);
  expect_refused(raw, at_reply_, {"open", page(request_frame(7, "keep"), 1, 2)});
  EXPECT_EQ(open_.size(), 2U);
}

// Each stream has its own.
TEST_F(BadRequest, ids_of_others_are_no_matter) {
  RawTcp one = raw_requester();
  RawTcp other = raw_requester();
  one.send(page(request_frame(7, "keep"), 1));
  ASSERT_SOON(pump_, open_.size() == 1);
  other.send(page(request_frame(7, "keep"), 1));
  ASSERT_SOON(pump_, open_.size() == 2);
  // Nor may one cancel what the other has asked.
  other.send(control_page(control_frame(ControlKind::cancel, word(7)), 1));
  ASSERT_SOON(pump_, reply_.requests().unwanted == 1);
  EXPECT_TRUE(open_[0].wanted());
  EXPECT_FALSE(open_[1].wanted());
  EXPECT_EQ(open_[0].send("an answer"), Status::ok);
  // One that ended may be used again; netio never does.
  one.send(page(request_frame(7, "keep"), 1, 1));
  ASSERT_SOON(pump_, open_.size() == 3);
}

TEST_F(BadRequest, cancels_of_nothing_are_no_matter) {
  RawTcp raw = raw_requester();
  Bytes frames;
  for (std::uint64_t id = 0; id < 100; ++id) {
    append(frames, control_frame(ControlKind::cancel, word(id)));
  }
  raw.send(control_page(frames));
  raw.send(page(request_frame(5, "keep"), 1));
  ASSERT_SOON(pump_, open_.size() == 1);
  EXPECT_TRUE(open_[0].wanted());
  EXPECT_EQ(reply_.requests().unwanted, 0U);
}

// Requests that nobody answers fill the bound of that peer, which is not read on; the good one is.
TEST_F(BadRequest, a_flood_of_requests_is_held_back) {
  RawTcp raw = raw_requester();
  Bytes frames;
  for (std::uint64_t id = 1; id <= 1000; ++id) append(frames, request_frame(id, "keep"));
  raw.send(page(frames, 1000));
  ASSERT_SOON(pump_, open_.size() == 100);
  pump_.run_for(20ms);
  EXPECT_EQ(open_.size(), 100U);
  serve_the_good();
  std::vector<ReplyTo> first = std::move(open_);
  open_.clear();
  first.clear();
  ASSERT_SOON(pump_, open_.size() == 100);
}

TEST_F(BadRequest, an_answer_of_another_kind_is_refused) {
  for (const Case& one : {
           Case{"a message that is no answer", message_page(0, Bytes(8))},
           Case{"a status that is not known", page(request_frame(1, "", 2), 1)},
           Case{"a cancel to the requester",
                control_page(control_frame(ControlKind::cancel, word(1)))},
       }) {
    RawTcp raw = raw_replier();
    expect_refused(raw, at_request_, one);
  }
}

// Of what is not asked, of what is answered, timed out, cancelled, or asked of somebody else.
TEST_F(BadRequest, an_answer_that_nobody_waits_for_is_dropped) {
  RawTcp raw = raw_replier();
  std::uint64_t sequence = 0;
  std::uint64_t late = 0;
  const auto answer = [&](std::uint64_t id, std::uint16_t status = 0) {
    raw.send(page(request_frame(id, status == 0 ? "answer" : "", status), 1, sequence++));
  };
  const auto expect_late = [&](std::uint64_t id) {
    const std::size_t answered = answered_.size();
    const std::size_t failed = failed_.size();
    answer(id);
    answer(id, not_answered);
    late += 2;
    ASSERT_SOON(pump_, request_.requests().late == late);
    EXPECT_EQ(answered_.size(), answered);
    EXPECT_EQ(failed_.size(), failed);
  };
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{12345}, ~std::uint64_t{0}}) {
    expect_late(id);
  }
  const std::uint64_t asked = ask_evil();
  const std::size_t answered = answered_.size();
  answer(asked);
  ASSERT_SOON(pump_, answered_.size() == answered + 1);
  EXPECT_EQ(answered_.back(), std::pair(asked, std::string("answer")));
  expect_late(asked);

  const std::uint64_t short_one = ask_evil({.within = 5ms});
  ASSERT_SOON(pump_, failed_.size() == 1);
  EXPECT_EQ(failed_.back(), std::pair(short_one, Outcome::timed_out));
  expect_late(short_one);

  const std::uint64_t cancelled = ask_evil();
  EXPECT_EQ(request_.cancel(cancelled), Status::ok);
  expect_late(cancelled);

  // What the good replier was asked is not for this one to answer.
  good_reply_.pause();
  std::uint64_t foreign = 0;
  ASSERT_EQ(request_.send("good", foreign, {.peer = good_peer_}), Status::ok);
  expect_late(foreign);
  good_reply_.resume();
  ASSERT_SOON(pump_, answered_.back() == std::pair(foreign, std::string("good")));
}

// It may ask as much as it likes of the other one.
TEST_F(BadRequest, a_replier_that_never_answers_holds_up_nobody) {
  RawTcp raw = raw_replier();
  for (int i = 0; i < 100; ++i) (void)ask_evil();
  std::uint64_t id = 0;
  EXPECT_EQ(request_.send("one more", id, {.peer = evil_peer_}), Status::again);
  const std::size_t answered = answered_.size();
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(request_.send("good", id), Status::ok);
    ASSERT_SOON(pump_, answered_.size() == answered + static_cast<std::size_t>(i) + 1);
  }
  EXPECT_EQ(request_.requests().under_way, 100U);
  raw.close();
  ASSERT_SOON(pump_, request_.peers_connected() == 1);
}

TEST_F(BadRequest, a_peer_that_takes_no_requests_is_turned_away) {
  for (const WirePattern pattern : {WirePattern::request, WirePattern::reply}) {
    const bool to_reply = pattern == WirePattern::request;
    const Seen& seen = to_reply ? at_reply_ : at_request_;
    detail::Hello hello = sound_hello(pattern, to_reply ? 90 : 91);
    hello.can = 0;
    RawTcp raw = RawTcp::connect(to_reply ? reply_address_ : request_address_);
    const std::size_t downs = seen.downs.size();
    raw.send(hello_of(hello));
    ASSERT_SOON(pump_, seen.downs.size() == downs + 1);
    EXPECT_EQ(seen.downs.back().down.reason, DownReason::rejected);
    EXPECT_NE(hello_in(raw.received()).text.find("requests"), std::string::npos);
  }
}

}  // namespace
}  // namespace netio::test

// What a peer can write into the memory it shares, by mistake or on purpose: pages, places, counts
// and turns that make no sense, or that change while they are read.
#include <atomic>
#include <functional>
#include <initializer_list>
#include <thread>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"
#include "wire/frame.hpp"

namespace netio::test {
namespace {

using detail::PageHeader;
using detail::shm_pages;
using detail::shm_slots;
using detail::ShmBoard;
using detail::ShmSlot;
using detail::WirePattern;
namespace frame_flag = detail::frame_flag;
namespace page_flag = detail::page_flag;

using RawShmPtr = std::unique_ptr<RawShm>;

Bytes frame_word(std::uint32_t size, std::uint32_t flags = 0) {
  Bytes bytes(8);
  detail::store_u64(bytes.data(), detail::frame_word(size, flags));
  return bytes;
}
Bytes page(const Bytes& body, std::uint32_t messages, std::uint64_t sequence = 0,
           std::uint16_t flags = 0) {
  PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  header.messages = messages;
  header.sequence = sequence;
  header.flags = flags;
  return page_of(header, body);
}
Bytes header_of(const std::function<void(PageHeader&)>& change, std::size_t body_bytes = 0) {
  PageHeader header;
  header.bytes = static_cast<std::uint32_t>(body_bytes);
  change(header);
  return page_of(header, Bytes(body_bytes));
}

// The attacker connects to a pull, and sends.
class BadShm : public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

  RawShmPtr met() { return met(fresh_stream()); }
  RawShmPtr met(std::uint8_t session) {
    RawShmPtr raw = std::make_unique<RawShm>(address());
    const std::size_t ups = at_pull_.ups.size();
    EXPECT_TRUE(raw->greet(hello_of(sound_hello(WirePattern::push, session))));
    EXPECT_SOON(pump_, raw->answered() && at_pull_.ups.size() == ups + 1);
    return raw;
  }
  // What the pull is told of it.
  Down down_of(RawShm& raw) {
    const Down down = next_down().down;
    EXPECT_TRUE(is_readable(down));
    EXPECT_SOON(pump_, raw.ended());
    return down;
  }
  struct Case {
    const char* name;
    std::function<void(RawShm&)> lie;
    DownReason reason = DownReason::protocol_error;
  };
  // Each on a connection of its own, with the good sender served in between.
  void expect_refused(const std::vector<Case>& cases) {
    std::uint8_t session = 100;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.name);
      const RawShmPtr raw = met(++session);
      one.lie(*raw);
      raw->ring();
      const Down down = down_of(*raw);
      EXPECT_EQ(down.reason, one.reason) << down.detail;
      good_messages(3);
    }
  }
  static Case of_pages(const char* name, const std::vector<Bytes>& pages) {
    return {name, [pages](RawShm& raw) {
              for (const Bytes& each : pages) raw.post(each);
            }};
  }
  static Case of_place(const char* name, std::uint64_t place, std::uint64_t number = 0) {
    return {name, [=](RawShm& raw) { raw.post_at(message_page(0, Bytes(92)), place, number); }};
  }

 private:
};

TEST_F(BadShm, sound_pages_of_every_kind_arrive) {
  const RawShmPtr raw = met();
  std::uint64_t number = 0;
  for (const std::size_t size : {0U, 8U, 60U, 64U, 65U, 72U, 73U, 1000U, 8184U, 8192U, 60'000U}) {
    raw->post(message_page(number, Bytes(size, std::byte{7})));
    ++number;
    ASSERT_SOON(pump_, evil_received_.size() == number);
    EXPECT_EQ(evil_received_.back(), Bytes(size, std::byte{7}));
  }
  EXPECT_SOON(pump_, raw->theirs().consumed == raw->sent() && raw->theirs().returned == 5);
}

TEST_F(BadShm, pages_that_are_not_what_they_say_are_refused) {
  const Bytes message = message_page(0, Bytes(8));
  const Bytes body(message.begin() + detail::page_header_bytes, message.end());
  expect_refused({
      of_pages("size no multiple of 8",
               {header_of([](PageHeader& header) { header.bytes = 12; }, 16)}),
      of_pages("unknown flags", {page(body, 1, 0, 4)}),
      of_pages("lent, as only fabrics can", {page(body, 1, 0, page_flag::lent)}),
      of_pages("the library's own flag", {page(body, 1, 0, page_flag::begun)}),
      of_pages("reserved field in use",
               {header_of([](PageHeader& header) { header.reserved = 1; })}),
      of_pages("fetched, as only fabrics can",
               {header_of([](PageHeader& header) { header.fetched = 1; })}),
      of_pages("more messages than can be", {page(body, 3)}),
      of_pages("fewer messages than it says", {page(body, 2)}),
      of_pages("a frame longer than its page", {page(frame_word(100), 1)}),
      of_pages("out of sequence", {page(body, 1, 5)}),
      of_pages("the same twice", {message, message}),
      of_pages("good-bye of an unknown kind",
               {page(frame_word(0, frame_flag::control | (99U << frame_flag::control_shift)), 0, 0,
                     page_flag::control)}),
      of_pages("an acknowledgement of what was never sent",
               {header_of([](PageHeader& header) { header.acknowledged = 1; })}),
  });
  EXPECT_TRUE(std::all_of(evil_received_.begin(), evil_received_.end(),
                          [](const Bytes& each) { return each == Bytes(8); }));
}

TEST_F(BadShm, places_outside_of_the_memory_or_the_slot_are_refused) {
  constexpr std::uint64_t end = RawShm::memory_bytes;
  const auto of_size = [](std::uint32_t bytes, std::uint64_t place) {
    return [=](RawShm& raw) {
      raw.post_at(header_of([=](PageHeader& header) { header.bytes = bytes; }), place, 0);
    };
  };
  expect_refused({
      of_place("no multiple of 8", 4),
      of_place("the end", end),
      of_place("behind the end", end + 8),
      of_place("over the end", end - 8),
      of_place("far away", std::uint64_t{1} << 40U),
      of_place("negative", ~std::uint64_t{0} - 7 - 8),
      of_place("where sums wrap", std::uint64_t{0} - 96),
      {"longer than its slot", of_size(sizeof(ShmSlot::body) + 8, ShmSlot::inline_body)},
      {"as long as can be, in a slot", of_size(~7U, ShmSlot::inline_body)},
      {"longer than the memory", of_size(RawShm::memory_bytes + 8, 0)},
      {"as long as can be", of_size(~7U, 8), DownReason::message_too_big},
  });
  EXPECT_TRUE(evil_received_.empty());
}

TEST_F(BadShm, numbers_that_no_page_has_are_refused) {
  expect_refused({
      of_place("one too many", 0, shm_pages),
      of_place("of 32 bits", 0, std::uint64_t{1} << 32U),
      of_place("as large as can be said", 0, ~std::uint64_t{0}),
  });
  EXPECT_TRUE(evil_received_.empty());
}

TEST_F(BadShm, a_page_that_is_still_out_cannot_come_again) {
  std::vector<Message> kept;
  pull_.on_message([&](const MessageView& message) {
    if (message.tag() == good_tag) {
      ++good_received_;
    } else {
      kept.push_back(message.keep());
      evil_received_.emplace_back(message.bytes().begin(), message.bytes().end());
    }
  });
  const RawShmPtr raw = met();
  const Bytes first = payload(0, 60'000);
  const Bytes second = payload(1, 60'000);
  const std::uint64_t number = raw->sent() % shm_pages;
  raw->post(message_page(0, first));
  ASSERT_SOON(pump_, kept.size() == 1);
  raw->post_at(message_page(1, second), 0, number);
  const Down down = down_of(*raw);
  EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  // What was kept outlives who sent it.
  EXPECT_TRUE(is_payload(kept[0].bytes(), 0));
}

// A page goes up whole, so it must fit into what this socket may ever hold.
TEST_F(BadShm, a_page_larger_than_the_quota_is_refused_and_not_waited_for) {
  SocketOptions options = wary_options();
  options.receive_bytes_max = 512U << 10U;
  Pull pull(there_, options);
  pull.on_message([](const MessageView&) {});
  Seen at_pull(pull);
  RawShm raw(pull.bind(place()));
  raw.greet(hello_of(sound_hello(WirePattern::push, 68)));
  ASSERT_SOON(pump_, raw.answered() && at_pull.ups.size() == 1);
  PageHeader header;
  header.bytes = RawShm::memory_bytes;
  raw.post_at(page_of(header, {}), 0, 0);
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_TRUE(is_readable(at_pull.downs[0].down));
}

TEST_F(BadShm, turns_that_jump_are_no_pages) {
  const RawShmPtr raw = met();
  const std::uint64_t next = raw->sent() + 1;
  for (const std::uint64_t turn : {next + 1, next + shm_slots - 1, next + shm_slots,
                                   ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    raw->next_slot().turn.store(turn);
    raw->ring();
    pump_.turns(5);
  }
  EXPECT_TRUE(evil_received_.empty());
  EXPECT_EQ(raw->theirs().consumed, raw->sent());
  raw->next_slot().turn.store(0);
  raw->post(message_page(0, payload(0, 24)));
  EXPECT_SOON(pump_, evil_received_.size() == 1);
}

// The pull has posted nothing to it but where it stands.
TEST_F(BadShm, what_a_sender_says_of_pages_that_it_never_had_is_refused) {
  expect_refused({
      {"read ahead", [](RawShm& raw) { raw.ours().consumed.store(raw.waiting() + 1); }},
      {"read a round ahead", [](RawShm& raw) { raw.ours().consumed.store(shm_slots); }},
      {"read backwards", [](RawShm& raw) { raw.ours().consumed.store(~std::uint64_t{0}); }},
      {"gave back what was not given", [](RawShm& raw) { raw.ours().returned.store(1); }},
      {"gave back as much as can be said",
       [](RawShm& raw) { raw.ours().returned.store(~std::uint64_t{0}); }},
  });
}

TEST_F(BadShm, sleep_words_that_jump_disturb_nobody) {
  const RawShmPtr raw = met();
  std::uint64_t number = 0;
  for (const std::uint32_t sleep : {1U, 1U, 3U, 2U, ~0U, 0U, 1U << 31U, 5U, 1U}) {
    raw->ours().sleep.store(sleep);
    raw->post(message_page(number, payload(number, 24)));
    ++number;
    ASSERT_SOON(pump_, evil_received_.size() == number);
    good_messages(1);
  }
  EXPECT_TRUE(at_pull_.downs.empty()) << at_pull_.why();
}

// --- Memory that changes under its reader.

class ChangingShm : public BadShm {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the attack is a data race of the test's own";
#endif
    BadShm::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) BadShm::TearDown();
  }
  // Posts pages while another thread changes what they say; whatever comes of it, nobody else is
  // disturbed, and nothing that was not shared is read.
  void attack(const std::function<void(RawShm&, std::uint64_t)>& change,
              const std::function<void(RawShm&, std::uint64_t)>& post) {
    for (std::uint8_t round = 0; round < 20; ++round) {
      const RawShmPtr raw = met(static_cast<std::uint8_t>(100 + round));
      std::atomic<bool> stop{false};
      std::thread changing([&] {
        for (std::uint64_t i = 0; !stop.load(); ++i) change(*raw, i);
      });
      const std::size_t downs = at_pull_.downs.size();
      for (std::uint64_t i = 0; i < 200 && at_pull_.downs.size() == downs; ++i) {
        post(*raw, i);
        pump_.turns(2);
      }
      stop.store(true);
      changing.join();
      good_messages(3);
      raw->close();
      (void)next_down();
    }
  }
};

TEST_F(ChangingShm, a_header_that_changes_while_it_is_read_disturbs_nobody) {
  attack(
      [](RawShm& raw, std::uint64_t i) {
        PageHeader header;
        header.bytes = i % 2 == 0 ? 32 : ~7U;
        header.messages = 1;
        for (ShmSlot& slot : raw.ours().slots) detail::store(slot.header.data(), header);
      },
      [](RawShm& raw, std::uint64_t i) { raw.post(message_page(i, Bytes(24))); });
}

TEST_F(ChangingShm, a_place_that_changes_while_it_is_read_disturbs_nobody) {
  attack(
      [](RawShm& raw, std::uint64_t i) {
        for (ShmSlot& slot : raw.ours().slots) {
          slot.place = i % 2 == 0 ? 0 : ~std::uint64_t{0} << 20U;
          detail::store_u64(slot.body.data(), i % 3 == 0 ? i % 7 : i << 30U);
        }
      },
      [](RawShm& raw, std::uint64_t i) { raw.post(message_page(i, Bytes(20'000))); });
}

TEST_F(ChangingShm, frames_that_change_while_they_are_walked_disturb_nobody) {
  attack(
      [](RawShm& raw, std::uint64_t i) {
        const std::uint64_t word = detail::frame_word(i % 2 == 0 ? 8 : ~0U - 3, 0);
        for (std::size_t at = 0; at + 8 <= 20'000; at += 16) {
          detail::store_u64(raw.memory().data() + at, word);
        }
      },
      [](RawShm& raw, std::uint64_t i) {
        PageHeader header;
        header.bytes = 20'000;
        header.messages = 1250;
        header.sequence = 1250 * i;
        raw.post_at(page_of(header, {}), 0, i % shm_pages);
      });
}

// --- What a receiver can do to a sender.

class BadShmReceiver : public EvilReceiver {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

  RawShmPtr met() { return met(fresh_stream()); }
  RawShmPtr met(std::uint8_t session) {
    RawShmPtr raw = std::make_unique<RawShm>(address());
    const std::size_t ups = at_push_.ups.size();
    EXPECT_TRUE(raw->greet(hello_of(sound_hello(WirePattern::pull, session))));
    EXPECT_SOON(pump_, raw->answered() && at_push_.ups.size() == ups + 1);
    return raw;
  }
  // Sends until that many pages that lie in the sender's memory wait for it.
  void wait_for_pages(RawShm& raw, std::uint64_t count) {
    ASSERT_SOON(pump_, [&] {
      if (push_.send(payload(sent_, 9000), good_tag) == Status::ok) ++sent_;
      return raw.waiting() > count;  // the first says where the push stands
    }());
    // No page is open that would leave later, and make true what is to be a lie.
    push_.flush();
    pump_.turns(3);
  }

 private:
};

TEST_F(BadShmReceiver, counts_that_make_no_sense_are_refused) {
  struct Lie {
    const char* name;
    std::function<void(RawShm&, ShmBoard&)> tell;
  };
  const auto gives_back = [](std::initializer_list<std::uint32_t> pages) {
    const std::vector<std::uint32_t> all(pages);
    return [all](RawShm&, ShmBoard& board) {
      for (std::size_t i = 0; i < all.size(); ++i) board.returns[i].store(all[i]);
      board.returned.store(all.size());
    };
  };
  std::uint8_t session = 100;
  for (const Lie& one : std::initializer_list<Lie>{
           {"read one too many",
            [](RawShm&raw, ShmBoard&board) { board.consumed.store(raw.waiting() + 1); }},
           {"read ahead", [](RawShm&, ShmBoard&board) { board.consumed.store(1U << 20U); }},
           {"read backwards",
            [](RawShm&, ShmBoard&board) { board.consumed.store(~std::uint64_t{0}); }},
           {"a page that is free", gives_back({shm_pages - 1})},
           {"a page that cannot be", gives_back({shm_pages})},
           {"a page as large as can be said", gives_back({~0U})},
           {"the same twice", gives_back({0, 0})},
           {"more than there are",
            [](RawShm&, ShmBoard&board) { board.returned.store(shm_pages + 1); }},
           {"as many as can be said",
            [](RawShm&, ShmBoard&board) { board.returned.store(~std::uint64_t{0}); }},
       }) {
    SCOPED_TRACE(one.name);
    const RawShmPtr raw = met(++session);
    wait_for_pages(*raw, 2);
    ASSERT_EQ(raw->page_in(1), 0U);  // behind the slot that says where the push stands
    one.tell(*raw, raw->ours());
    raw->ring();
    const Down down = next_down().down;
    EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
    EXPECT_TRUE(is_readable(down));
    EXPECT_SOON(pump_, raw->ended());
    good_messages(3);
  }
}

TEST_F(BadShmReceiver, that_goes_back_after_it_read_is_refused) {
  const RawShmPtr raw = met();
  wait_for_pages(*raw, 2);
  raw->ours().consumed.store(2);
  raw->ring();
  pump_.run_for(5ms);
  EXPECT_TRUE(at_push_.downs.empty()) << at_push_.why();
  raw->ours().consumed.store(1);
  raw->ring();
  EXPECT_EQ(next_down().down.reason, DownReason::protocol_error) << at_push_.why();
}

TEST_F(BadShmReceiver, that_never_reads_keeps_nobody_waiting) {
  const RawShmPtr raw = met();
  good_messages(2000);
  EXPECT_EQ(push_.peers_connected(), 2U);
  EXPECT_GT(raw->waiting(), 0U);
}

// It takes all that it can get; nothing of that is ever seen again.
TEST_F(BadShmReceiver, that_never_gives_a_page_back_keeps_nobody_waiting) {
  for (const Mode mode : {Mode::buffered, Mode::unbuffered}) {
    SCOPED_TRACE(mode == Mode::buffered ? "buffered" : "unbuffered");
    SocketOptions options = wary_options();
    options.mode = mode;
    Push push(here_, options);
    Pull good(there_, options);
    std::uint64_t received = 0;
    good.on_message([&](const MessageView&) { ++received; });
    const std::string at = push.bind(place());
    good.connect(at);
    RawShm raw(at);
    raw.greet(hello_of(sound_hello(WirePattern::pull, 70)));
    ASSERT_SOON(pump_, raw.answered() && push.peers_connected() == 2);
    const Bytes message(9000);
    ASSERT_SOON(pump_,
                [&] {
                  for (int i = 0; i < 8; ++i) (void)push.send(message);
                  raw.ours().consumed.store(raw.ours().consumed.load() + raw.waiting());
                  raw.ring();
                  return received >= 3000;
                }())
        << received << " received by the good one, " << raw.ours().consumed.load()
        << " pages by the other";
    EXPECT_GT(raw.ours().consumed.load(), 10U);
    EXPECT_EQ(push.peers_connected(), 2U);
  }
}

// A reader that took everything and died: its pages are there again.
TEST_F(BadShmReceiver, whose_end_gives_back_what_it_held) {
  for (std::uint8_t round = 0; round < 20; ++round) {
    const RawShmPtr raw = met(static_cast<std::uint8_t>(100 + round));
    wait_for_pages(*raw, 8);
    raw->ours().consumed.store(raw->waiting());
    raw->ring();
    good_messages(20);
  }
  EXPECT_SOON(pump_, push_.peers_connected() == 1);
  good_messages(500);
}

}  // namespace
}  // namespace netio::test

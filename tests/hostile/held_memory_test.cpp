// Memory of large messages that peers hold: they acknowledge what they have not read, give nothing
// back, or acknowledge nothing. A good peer beside them is served all the while, and who is slow
// without harm to others is left alone.
#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <sys/socket.h>
#include <vector>

#include "conformance/conformance.hpp"
#include "conformance/raw_control.hpp"
#include "hostile/hostage.hpp"
#include "support/raw_shm.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

using detail::PageHeader;
using detail::WirePattern;

Bytes acknowledgement(std::uint64_t sequence) {
  PageHeader header;
  header.acknowledged = sequence;
  return page_of(header, {});
}

// Over tcp, greeted: it acknowledges the first message as soon as the header has come, and reads no
// more.
class Liar {
 public:
  explicit Liar(RawTcp raw) : raw_(std::move(raw)) {
    const int bytes = 4096;  // so that little of a message fits into the kernel
    EXPECT_EQ(::setsockopt(raw_.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
  }
  RawTcp& raw() { return raw_; }

  bool has_lied() {
    while (!lied_ && read_on()) {
      const PageHeader header = detail::load_page_header(page_.data());
      if (header.messages != 0) {
        raw_.send(acknowledgement(header.sequence + header.messages));
        lied_ = true;
      } else {
        page_.clear();
      }
    }
    return lied_;
  }

 private:
  // A header, and all of its page unless there are messages in it.
  bool read_on() {
    for (;;) {
      std::size_t wanted = detail::page_header_bytes;
      if (page_.size() >= wanted) {
        const PageHeader header = detail::load_page_header(page_.data());
        if (header.messages == 0) wanted += header.bytes;
      }
      if (page_.size() == wanted) return true;
      Bytes more(wanted - page_.size());
      const ssize_t got = ::recv(raw_.fd(), more.data(), more.size(), MSG_DONTWAIT);
      if (got <= 0) return false;
      append(page_, std::span(more).first(static_cast<std::size_t>(got)));
    }
  }

  RawTcp raw_;
  Bytes page_;
  bool lied_ = false;
};

// Messages so large that a kernel does not take one of them.
class HeldMemory : public Hostage {
 protected:
  static constexpr std::size_t huge_bytes = (16U << 20U) - 4096;  // in a buffer of 16 MiB
  static constexpr std::size_t buffers = 4;

  static ContextOptions memory_for_four() {
    ContextOptions options = little_memory();
    options.large_bytes_max = buffers * (std::size_t{16} << 20U);
    options.large_kept_bytes_max = options.large_bytes_max;
    return options;
  }
  static SocketOptions with_huge(SocketOptions options) {
    options.mode = Mode::unbuffered;
    options.message_bytes_max = huge_bytes;
    return options;
  }
  HeldMemory() {
    pump_.add(sending_);
    pump_.add(receiving_);
  }
  // Counts what comes.
  void take_all(Receiving& socket) {
    socket.on_message([this](const MessageView& message) {
      EXPECT_EQ(message.size(), huge_bytes);
      ++received_;
    });
  }

  Context sending_{memory_for_four()};
  Context receiving_{memory_for_four()};
  const std::vector<std::byte> message_ = std::vector<std::byte>(huge_bytes);
  std::uint64_t received_ = 0;
};

TEST_F(HeldMemory, is_given_up_by_pullers_that_acknowledge_what_they_did_not_read) {
  Push push(sending_, with_huge(impatient()));
  watch(push);
  const std::string address = push.bind("tcp://127.0.0.1:0");
  std::deque<Liar> liars;
  for (std::uint8_t i = 0; i < buffers; ++i) {
    liars.emplace_back(greeted(address, WirePattern::pull, i));
    ASSERT_SOON(pump_, ((void)push.send(message_), liars.back().has_lied() || stalled_ != 0));
  }
  Pull pull(receiving_, with_huge(impatient()));
  take_all(pull);
  pull.connect(address);
  ASSERT_SOON(pump_, ((void)push.send(message_), received_ >= 10));
  EXPECT_GE(stalled_, 1U);
}

// Each of them holds another message.
TEST_F(HeldMemory, is_given_up_by_subscribers_that_acknowledge_what_they_did_not_read) {
  constexpr std::uint64_t tag = 7;
  Publish publish(sending_, {}, with_huge(impatient()));
  watch(publish);
  const std::string address = publish.bind("tcp://127.0.0.1:0");
  std::deque<Liar> liars;
  for (std::uint8_t i = 0; i < buffers; ++i) {
    detail::Hello hello = sound_hello(WirePattern::subscribe, i);
    hello.message_bytes_max = huge_bytes;
    RawTcp raw = greeted(address, hello);
    raw.send(page_of(Change{.ranges = {{tag, tag}}}));
    liars.emplace_back(std::move(raw));
    ASSERT_SOON(pump_,
                ((void)publish.send(message_, tag), liars.back().has_lied() || stalled_ != 0));
  }
  Subscribe good(receiving_, {.policy = Policy::block}, with_huge(impatient()));
  take_all(good);
  good.subscribe(tag);
  good.connect(address);
  ASSERT_SOON(pump_, ((void)publish.send(message_, tag), received_ >= 10));
  EXPECT_GE(stalled_, 1U);
}

// --- Those that acknowledge nothing: what they hold together is bounded at once.

class SilentPullers : public HeldMemory {
 protected:
  // A good puller gets what `send_on` sends, with silent ones beside it.
  template <typename SendOn>
  void expect_served(Push& push, SendOn send_on) {
    watch(push);
    const std::string address = push.bind("tcp://127.0.0.1:0");
    Pull pull(receiving_, with_huge(patient()));
    take_all(pull);
    pull.connect(address);
    ASSERT_SOON(pump_, (send_on(), received_ >= 1 && push.books().acknowledged >= 1));
    std::vector<RawTcp> silent;
    for (std::uint8_t i = 0; i < 2 * buffers; ++i) {
      silent.push_back(greeted(address, WirePattern::pull, i));
    }
    // The large messages are written and read at a sanitizer's pace.
    const std::uint64_t wanted = received_ + (sanitized ? 5 : 20);
    ASSERT_SOON(pump_, (send_on(), received_ >= wanted));
    EXPECT_EQ(stalled_, 0U);
  }
};

TEST_F(SilentPullers, leave_memory_to_who_is_known) {
  SocketOptions buffered = with_huge(patient());
  buffered.mode = Mode::buffered;
  Push push(sending_, buffered);
  expect_served(push, [&] {
    while (push.send(message_) == Status::ok) {
    }
  });
}

TEST_F(SilentPullers, leave_memory_that_was_allocated_to_who_is_known) {
  Push push(sending_, with_huge(patient()));
  expect_served(push, [&] { send_allocated(push, huge_bytes); });
}

// It was refused the memory as a stranger, and is asked again though none came home.
TEST_F(SilentPullers, do_not_keep_memory_from_who_becomes_known) {
  Push push(sending_, with_huge(patient()));
  watch(push);
  const std::string address = push.bind("tcp://127.0.0.1:0");
  std::vector<RawTcp> silent;
  for (std::uint8_t i = 0; i + 1U < buffers; ++i) {
    silent.push_back(greeted(address, WirePattern::pull, i));
    ASSERT_SOON(pump_, push.send(message_) == Status::ok);
  }
  Pull pull(receiving_, with_huge(patient()));
  std::size_t received_bytes = 0;
  pull.on_message([&](const MessageView& message) { received_bytes += message.size(); });
  pull.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == buffers);
  ASSERT_EQ(push.send("known by its acknowledgement"), Status::ok);
  ASSERT_EQ(push.send(message_), Status::again);
  EXPECT_GE(push.counters().starved, 1U);
  ASSERT_SOON(pump_, ((void)push.send(message_), received_bytes >= huge_bytes));
  EXPECT_EQ(stalled_, 0U);
}

TEST_F(HeldMemory, is_left_by_silent_subscribers_to_who_is_known) {
  constexpr std::uint64_t tag = 7;
  Publish publish(sending_, {}, with_huge(patient()));
  watch(publish);
  const std::string address = publish.bind("tcp://127.0.0.1:0");
  Subscribe good(receiving_, {.policy = Policy::block}, with_huge(patient()));
  take_all(good);
  good.subscribe(tag);
  good.connect(address);
  ASSERT_SOON(pump_, ((void)publish.send(message_, tag),
                      received_ >= 1 && publish.books().acknowledged >= 1));
  // One after the other, so that each gets a message that the others do not hold.
  std::vector<RawTcp> silent;
  for (std::uint8_t i = 0; i < 2 * buffers; ++i) {
    detail::Hello hello = sound_hello(WirePattern::subscribe, i);
    hello.message_bytes_max = huge_bytes;
    silent.push_back(greeted(address, hello));
    silent.back().send(page_of(Change{.ranges = {{tag, tag}}}));
    ASSERT_SOON(pump_, publish.peers_connected() == i + 2U);
    const std::uint64_t before = received_;
    ASSERT_SOON(pump_, ((void)publish.send(message_, tag), received_ >= before + 2));
  }
  EXPECT_EQ(stalled_, 0U);
}

// --- Who waits for a share that others have spent, though there is memory, is no reason to hurry
// anybody else.

class SpentShare : public Hostage {
 protected:
  // Far more than may pass where nobody waits, and far less than is due where somebody does.
  void expect_that_a_sender_may_be_slow() {
    Pull pull(there_, impatient());
    watch(pull);
    std::uint64_t received = 0;
    pull.on_message([&](const MessageView&) { ++received; });
    RawTcp slow = greeted(pull.bind("tcp://127.0.0.1:0"), WirePattern::push, 1);
    const Bytes page = message_page(0, payload(0, 1U << 20U));
    const std::size_t piece = page.size() / 80 + 1;  // eight times the stall limit in all
    for (std::size_t at = 0; at < page.size(); at += piece) {
      slow.send(std::span(page).subspan(at, std::min(piece, page.size() - at)));
      pump_.run_for(20ms);
    }
    ASSERT_SOON(pump_, received == 1);
    EXPECT_EQ(stalled_, 0U);
  }
};

TEST_F(SpentShare, of_silent_pullers_does_not_hurry_who_sends_slowly) {
  Push push(there_, patient());
  const std::string address = push.bind("tcp://127.0.0.1:0");
  std::vector<RawTcp> silent;
  for (std::uint8_t i = 0; i < 6; ++i) silent.push_back(greeted(address, WirePattern::pull, i));
  const std::vector<std::byte> message = payload(0, message_bytes);
  ASSERT_SOON(pump_, [&] {
    while (push.send(message) == Status::ok) {
    }
    return push.counters().starved != 0;
  }());
  expect_that_a_sender_may_be_slow();
}

TEST_F(SpentShare, of_another_socket_does_not_hurry_who_sends_slowly) {
  Pull crowded(there_, patient());
  crowded.on_message([](const MessageView&) {});
  const std::string address = crowded.bind("tcp://127.0.0.1:0");
  std::vector<RawTcp> begun;
  for (std::uint8_t i = 0; i < 3; ++i) {
    begun.push_back(greeted(address, WirePattern::push, i));
    const Bytes page = message_page(0, payload(0, message_bytes));
    begun.back().send(std::span(page).first(1000));
  }
  ASSERT_SOON(pump_, crowded.counters().starved != 0);
  expect_that_a_sender_may_be_slow();
}

// --- In shared memory, where a message that was read is held until it is given back.

// Reads and acknowledges all that comes, and gives no page back.
class Keeper {
 public:
  Keeper(const std::string& address, std::uint8_t session) : raw_(address) {
    (void)raw_.greet(hello_of(sound_hello(WirePattern::pull, session)));
  }
  // False once the other side has ended it.
  bool read_on() {
    if (!raw_.answered() || raw_.ended()) return !raw_.ended();
    for (std::uint64_t slots = raw_.waiting(); slots != 0; --slots) {
      const std::uint64_t slot = raw_.ours().consumed.load();
      const PageHeader header =
          detail::load_page_header(raw_.theirs().slots[slot % detail::shm_slots].header.data());
      raw_.ours().consumed.store(slot + 1);
      raw_.post(acknowledgement(header.sequence + header.messages));
    }
    return true;
  }

 private:
  RawShm raw_;
};

using ShmKeepers = Hostage;

TEST_F(ShmKeepers, that_give_no_page_back_are_ended_while_others_lack_memory) {
  Push push(here_, impatient());
  watch(push);
  const std::string address = push.bind("shm://*");
  std::list<Keeper> keepers;
  for (std::uint8_t i = 1; i <= 6; ++i) keepers.emplace_back(address, i);
  std::uint64_t received = 0;
  Pull pull(there_, impatient());
  pull.on_message([&](const MessageView&) { ++received; });
  const auto turn = [&] {
    send_allocated(push, message_bytes);
    // Who is ended closes its end, and what it held comes home.
    std::erase_if(keepers, [](Keeper& keeper) { return !keeper.read_on(); });
  };
  ASSERT_SOON(pump_, (turn(), push.counters().starved != 0));
  pull.connect(address);
  ASSERT_SOON(pump_, (turn(), received >= 30));
  EXPECT_GE(stalled_, 1U);
}

// --- Who harms nobody.

using KeptMessages = Conformance;

// The memory that it holds is lacked by nobody but itself.
TEST_P(KeptMessages, of_the_only_receiver_do_not_end_it) {
  SocketOptions impatient = options();
  impatient.mode = Mode::unbuffered;
  impatient.stall_after = 40ms;
  Pull pull(there_, impatient);
  Push push(here_, impatient);
  Seen at_push(push);
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  join(pull, push);
  const std::vector<std::byte> message = payload(0, 900'000);
  const auto begin = here_.loop().now();
  ASSERT_SOON(pump_, [&] {
    while (push.send(message) == Status::ok) {
    }
    return here_.loop().now() - begin > 10 * impatient.stall_after;
  }());
  EXPECT_GT(push.counters().agains, 0U);
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
  const std::uint64_t sent = push.books().sent;
  pull.on_message([&](const MessageView&) { kept.emplace_back(); });
  const std::size_t before = kept.size();
  for (Message& each : kept) each = Message();
  ASSERT_SOON(pump_, kept.size() >= sent) << before;
}

INSTANTIATE_TEST_SUITE_P(on, KeptMessages, testing::ValuesIn(every_transport()), row_name);

}  // namespace
}  // namespace netio::test

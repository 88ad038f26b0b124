// What can be wrong with a greeting over a Unix socket: its bytes, and what is passed with them.
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <initializer_list>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/evil.hpp"
#include "support/raw_shm.hpp"

namespace netio::test {
namespace {

using detail::FileDescriptor;
using detail::ShmBoard;
using detail::WirePattern;

using RawShmPtr = std::unique_ptr<RawShm>;

enum Passed : std::uint8_t { board, memory, lifeline };
constexpr std::size_t unix_descriptors_most = 253;  // unix(7)

class BadShmHello : public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

  Down down_of(RawShm& raw) {
    const Down down = next_down().down;
    EXPECT_TRUE(is_readable(down));
    EXPECT_SOON(pump_, raw.ended());
    good_messages(3);
    return down;
  }
  Down told_of(std::span<const std::byte> first, std::span<const int> passed = {}) {
    RawShm raw(address());
    EXPECT_TRUE(raw.send(first, passed));
    return down_of(raw);
  }
  // A sound hello with something else in place of one descriptor.
  Down told_of_passed(Passed which, int fd) {
    RawShm raw(address());
    std::array<int, 3> passed = raw.descriptors();
    passed.at(which) = fd;
    EXPECT_TRUE(raw.send(sound_, passed));
    return down_of(raw);
  }

  const Bytes sound_ = hello_of(sound_hello(WirePattern::push, 5));

 private:
};

TEST_F(BadShmHello, who_sends_none_in_time_is_dropped) {
  RawShm raw(address());
  EXPECT_EQ(down_of(raw).reason, DownReason::handshake_timeout);
}

TEST_F(BadShmHello, who_leaves_without_one_is_counted) {
  RawShm raw(address());
  raw.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost);
}

TEST_F(BadShmHello, foreign_bytes_are_named) {
  const std::string_view http = "GET / HTTP/1.1\r\n\r\n";
  const Down down = told_of(std::as_bytes(std::span(http)));
  EXPECT_EQ(down.reason, DownReason::foreign_protocol) << down.detail;
  EXPECT_NE(down.detail.find("HTTP"), std::string::npos) << down.detail;
  EXPECT_EQ(told_of(Bytes(500, std::byte{7})).reason, DownReason::foreign_protocol);
  EXPECT_EQ(told_of(Bytes(100'000, std::byte{7})).reason, DownReason::foreign_protocol);
}

TEST_F(BadShmHello, of_another_size_than_its_message_is_refused) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, std::size_t{12},
                                  detail::hello_fixed_bytes - 1, sound_.size() - 1}) {
    SCOPED_TRACE(bytes);
    const Down down = told_of(std::span(sound_).first(bytes));
    EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  }
  Bytes longer = sound_;
  append(longer, Bytes(8));
  EXPECT_EQ(told_of(longer).reason, DownReason::protocol_error);
  longer.resize(detail::hello_bytes_max + 1);
  EXPECT_NE(told_of(longer).reason, DownReason::lost);
}

TEST_F(BadShmHello, a_second_one_is_refused) {
  RawShm raw(address());
  EXPECT_TRUE(raw.greet(sound_));
  EXPECT_TRUE(raw.greet(sound_));
  EXPECT_EQ(down_of(raw).reason, DownReason::protocol_error) << at_pull_.why();
  RawShm later(address());
  EXPECT_TRUE(later.greet(sound_));
  EXPECT_SOON(pump_, later.answered());
  EXPECT_TRUE(later.send("anything"));
  EXPECT_EQ(down_of(later).reason, DownReason::protocol_error) << at_pull_.why();
}

TEST_F(BadShmHello, that_is_not_said_again_brings_nobody_up) {
  RawShm silent(address());
  ASSERT_TRUE(silent.send(sound_, silent.descriptors()));
  ASSERT_SOON(pump_, silent.answered());
  silent.next_slot().turn.store(1);
  EXPECT_EQ(down_of(silent).reason, DownReason::handshake_timeout) << at_pull_.why();
  RawShm leaving(address());
  ASSERT_TRUE(leaving.send(sound_, leaving.descriptors()));
  ASSERT_SOON(pump_, leaving.answered());
  leaving.close();
  EXPECT_EQ(next_down().down.reason, DownReason::lost) << at_pull_.why();
  detail::Hello refusal = sound_hello(WirePattern::push, 5);
  refusal.refusal = detail::Refusal::expired;
  {
    RawShm odd(address());
    ASSERT_TRUE(odd.send(sound_, odd.descriptors()));
    ASSERT_SOON(pump_, odd.answered());
    ASSERT_TRUE(odd.send(hello_of(refusal)));
    EXPECT_EQ(down_of(odd).reason, DownReason::rejected) << "only who dialed begins again";
  }
  RawShm refusing(address());
  ASSERT_TRUE(refusing.send(sound_, refusing.descriptors()));
  ASSERT_SOON(pump_, refusing.answered());
  refusal.refusal = detail::Refusal::other;
  refusal.text = "no room for it";
  ASSERT_TRUE(refusing.send(hello_of(refusal)));
  const Down down = down_of(refusing);
  EXPECT_EQ(down.reason, DownReason::rejected) << at_pull_.why();
  EXPECT_NE(down.detail.find("no room for it"), std::string::npos) << at_pull_.why();
  for (const Seen::Gone& gone : at_pull_.downs) EXPECT_FALSE(gone.peer.was_up);
  EXPECT_TRUE(evil_received_.empty());
}

TEST_F(BadShmHello, with_more_or_fewer_descriptors_than_three_is_refused) {
  const RawShm spare(address());
  const std::array<int, 3> three = spare.descriptors();
  const int any = three[lifeline];
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4},
                                  std::size_t{5}, std::size_t{8}, unix_descriptors_most}) {
    SCOPED_TRACE(count);
    std::vector<int> passed(count, any);
    std::copy_n(three.begin(), std::min(count, three.size()), passed.begin());
    const Down down = told_of(sound_, passed);
    EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  }
}

TEST_F(BadShmHello, with_a_board_or_memory_that_could_change_its_size_is_refused) {
  constexpr std::size_t bytes = sizeof(ShmBoard);
  for (const Passed which : {board, memory}) {
    for (const int seals :
         {0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SHRINK | F_SEAL_GROW,
          F_SEAL_GROW | F_SEAL_FUTURE_WRITE, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE}) {
      SCOPED_TRACE(seals);
      const Down down = told_of_passed(which, memory_of(bytes, seals).get());
      EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
    }
  }
}

TEST_F(BadShmHello, with_a_board_of_another_size_is_refused) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, sizeof(ShmBoard) - 1, 3 * sizeof(ShmBoard)}) {
    SCOPED_TRACE(bytes);
    const Down down = told_of_passed(board, memory_of(bytes).get());
    EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  }
  EXPECT_EQ(told_of_passed(memory, memory_of(0).get()).reason, DownReason::protocol_error);
}

TEST_F(BadShmHello, with_something_else_than_memory_is_refused) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  const FileDescriptor folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor zeros(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const FileDescriptor event(::eventfd(0, EFD_CLOEXEC));
  const FileDescriptor file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(file.get(), sizeof(ShmBoard)), 0);
  const FileDescriptor sound = memory_of(sizeof(ShmBoard));
  const std::string path = "/proc/self/fd/" + std::to_string(sound.get());
  const FileDescriptor name_only(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const FileDescriptor unreadable(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  for (const Passed which : {board, memory}) {
    for (const FileDescriptor* each :
         {&reading, &writing, &folder, &zeros, &event, &file, &name_only, &unreadable}) {
      ASSERT_TRUE(*each);
      SCOPED_TRACE(each->get());
      const Down down = told_of_passed(which, each->get());
      EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
    }
  }
}

// --- Rings.

TEST_F(BadShmHello, what_is_no_ring_is_refused) {
  for (const std::string_view text : {std::string_view("x"), std::string_view("\0\0", 2)}) {
    RawShm raw(address());
    ASSERT_TRUE(raw.greet(hello_of(sound_hello(WirePattern::push, fresh_stream()))));
    ASSERT_SOON(pump_, raw.answered());
    ASSERT_TRUE(raw.send(text));
    EXPECT_EQ(down_of(raw).reason, DownReason::protocol_error) << at_pull_.why();
  }
}

TEST_F(BadShmHello, rings_without_end_stop_nobody) {
  RawShm raw(address());
  ASSERT_TRUE(raw.greet(sound_));
  ASSERT_SOON(pump_, raw.answered());
  pump_.after_each_turn([&] {
    for (int i = 0; i < 1000; ++i) raw.ring();
  });
  good_messages(300);
  EXPECT_FALSE(raw.ended());
  pump_.forget_checks();
}

TEST_F(BadShmHello, of_another_version_is_refused) {
  detail::Hello hello = sound_hello(WirePattern::push, 5);
  hello.version_min = hello.version_max = 1;
  const Down down = told_of(hello_of(hello));
  EXPECT_EQ(down.reason, DownReason::version_mismatch) << down.detail;
  EXPECT_NE(down.detail.find("wire version 2 is spoken here, 1 there"), std::string::npos)
      << down.detail;
}

// Older releases said version 2 in shared memory, and version 1 elsewhere.
TEST_F(BadShmHello, of_an_older_release_is_refused_with_a_word_on_that) {
  Bytes hello = sound_;
  hello.resize(80);
  const std::uint32_t bytes = 80;
  std::memcpy(hello.data() + 8, &bytes, sizeof bytes);
  const RawShm spare(address());
  const Down down = told_of(hello, spare.descriptors());
  EXPECT_EQ(down.reason, DownReason::protocol_error) << down.detail;
  EXPECT_NE(down.detail.find("older releases"), std::string::npos) << down.detail;
}

// --- The answer to one that dials.

class BadShmAnswer : public EvilReceiver {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }
  // A name that nobody else has.
  [[nodiscard]] static std::string free_name() {
    static int number = 0;
    return "shm://test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  }
  Down told_of(const std::function<void(RawShm&)>& answer) {
    RawShmListener server(free_name(), SOCK_SEQPACKET);
    Push push(here_, wary_options());
    Seen at_push(push);
    push.connect(server.address());
    RawShmPtr raw;
    EXPECT_SOON(pump_, [&] {
      if (!raw && (raw = server.accept())) answer(*raw);
      return !at_push.downs.empty();
    }());
    if (at_push.downs.empty()) return {};
    EXPECT_TRUE(is_readable(at_push.downs[0].down)) << at_push.why();
    good_messages(3);
    return at_push.downs[0].down;
  }

 private:
};

TEST_F(BadShmAnswer, that_is_wrong_is_told_of) {
  const Bytes hello = hello_of(sound_hello(WirePattern::pull, 9));
  EXPECT_EQ(told_of([&](RawShm& raw) { raw.send("HTTP/1.1 200 OK\r\n\r\n"); }).reason,
            DownReason::foreign_protocol);
  EXPECT_EQ(told_of([&](RawShm& raw) { raw.send(hello); }).reason, DownReason::protocol_error);
  EXPECT_EQ(told_of([&](RawShm& raw) { raw.greet(std::span(hello).first(40)); }).reason,
            DownReason::protocol_error);
  detail::Hello other_pattern = sound_hello(WirePattern::push, 9);
  other_pattern.nonce = 9;  // as whoever listens
  EXPECT_EQ(told_of([&](RawShm& raw) { raw.greet(hello_of(other_pattern)); }).reason,
            DownReason::pattern_mismatch);
  EXPECT_EQ(told_of([](RawShm& raw) { raw.close(); }).reason, DownReason::lost);
  EXPECT_EQ(told_of([](RawShm&) {}).reason, DownReason::handshake_timeout);
}

TEST_F(BadShmAnswer, of_another_type_of_socket_is_told_of) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    // Of abstract names each type of socket has its own.
    const std::string path = "/tmp/netio-test-" + std::to_string(::getpid());
    const RawShmListener server("shm://" + path, type);
    Push push(here_, wary_options());
    Seen at_push(push);
    push.connect(server.address());
    ASSERT_SOON(pump_, !at_push.downs.empty());
    EXPECT_EQ(at_push.downs[0].down.reason, DownReason::foreign_protocol) << at_push.why();
    EXPECT_TRUE(at_push.downs[0].peer.retrying);
    EXPECT_TRUE(is_readable(at_push.downs[0].down));
    (void)::unlink(path.c_str());
    good_messages(3);
  }
}

TEST_F(BadShmAnswer, that_never_comes_because_nobody_accepts_is_told_of) {
  RawShmListener server(free_name(), SOCK_SEQPACKET);
  Push push(here_, wary_options());
  Seen at_push(push);
  for (int i = 0; i < 30; ++i) push.connect(server.address());  // more than may wait there
  ASSERT_SOON(pump_, at_push.downs.size() >= 30);
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_TRUE(gone.down.reason == DownReason::refused ||
                gone.down.reason == DownReason::handshake_timeout)
        << gone.down.detail;
    EXPECT_TRUE(is_readable(gone.down));
  }
  good_messages(3);
}

}  // namespace
}  // namespace netio::test

// What a peer passes over a Unix socket may be such that closing it waits. It holds up nobody here.
#include <array>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include "conformance/evil.hpp"
#include "support/allocation_counter.hpp"
#include "support/child.hpp"
#include "support/limit.hpp"
#include "support/lingering.hpp"
#include "support/raw_shm.hpp"
#include "transport/shm/closing.hpp"

namespace netio::test {
namespace {

using detail::FileDescriptor;
using detail::WirePattern;

class ShmPassed : public EvilSender {
 protected:
  [[nodiscard]] std::string place() const override { return "shm://*"; }

  // Passes it in place of one of the three, or with what else is sent.
  void expect_no_wait(const std::function<void(RawShm&, int)>& pass) {
    const auto begin = std::chrono::steady_clock::now();
    Lingering lingering;
    RawShm raw(address());
    pass(raw, lingering.fd());
    lingering.forget();
    if (const std::uint64_t failing = std::exchange(failing_, 0); failing != 0) {
      fail_allocations(failing, 1);
      const Armed armed;
      (void)there_.loop().run_once(0ns);
    }
    const Down down = next_down().down;
    EXPECT_TRUE(is_readable(down));
    EXPECT_SOON(pump_, raw.ended());
    lacking_.reset();
    good_messages(3);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  }
  const Bytes sound_ = hello_of(sound_hello(WirePattern::push, 5));
  std::optional<Limit> lacking_;  // while what is passed is taken
  std::uint64_t failing_ = 0;     // the allocation that fails in that turn

 private:
};

TEST_F(ShmPassed, in_place_of_memory_or_a_lifeline_holds_up_nobody) {
  for (const std::size_t which : {0U, 1U, 2U}) {
    SCOPED_TRACE(which);
    expect_no_wait([&](RawShm& raw, int fd) {
      std::array<int, 3> passed = raw.descriptors();
      passed.at(which) = fd;
      EXPECT_TRUE(raw.send(sound_, passed));
    });
  }
}

TEST_F(ShmPassed, behind_a_hello_that_is_refused_holds_up_nobody) {
  expect_no_wait([&](RawShm& raw, int fd) {
    EXPECT_TRUE(raw.send("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_TRUE(raw.send(std::span<const std::byte>(), std::array{fd}));
    EXPECT_TRUE(raw.send("more", std::array{fd}));
  });
}

TEST_F(ShmPassed, in_place_of_a_ring_holds_up_nobody) {
  expect_no_wait([&](RawShm& raw, int fd) {
    EXPECT_TRUE(raw.greet(sound_));
    ASSERT_SOON(pump_, raw.answered() && pull_.peers_connected() == 2);
    EXPECT_TRUE(raw.send(std::string_view("", 1), std::array{fd}));
  });
}

// As many as a message can pass, from each of many connections that are served in the same turn.
TEST_F(ShmPassed, by_many_at_once_holds_up_nobody) {
  constexpr std::size_t connections = 24;
  constexpr std::size_t most = 253;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Lingering> lingering(connections);
  std::vector<std::unique_ptr<RawShm>> raws;
  for (Lingering& each : lingering) {
    RawShm& raw = *raws.emplace_back(std::make_unique<RawShm>(address()));
    if (!raw.send(sound_, std::vector<int>(most, each.fd()))) {
      GTEST_SKIP() << "this user may not have so many descriptors on their way";
    }
    each.forget();
  }
  ASSERT_SOON(pump_, at_pull_.downs.size() == connections);
  good_messages(3);
  for (const auto& raw : raws) EXPECT_SOON(pump_, raw->ended());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  for (Lingering& each : lingering) each.let_go();
}

// The system closes a descriptor that has no place.
TEST_F(ShmPassed, that_finds_no_place_here_holds_up_nobody) {
  expect_no_wait([&](RawShm& raw, int fd) {
    EXPECT_TRUE(raw.send(sound_, std::array{fd}));
    // The number of `fd` is free when it is forgotten: for the connection, and nothing else.
    lacking_.emplace(RLIMIT_NOFILE, next_descriptor());
  });
}

TEST_F(ShmPassed, to_a_listener_without_memory_holds_up_nobody) {
  for (const std::uint64_t failing : {1U, 2U}) {
    SCOPED_TRACE(failing);
    expect_no_wait([&](RawShm& raw, int fd) {
      EXPECT_TRUE(raw.send(sound_, std::array{fd}));
      failing_ = failing;
    });
  }
}

TEST_F(ShmPassed, that_nobody_can_close_keeps_newcomers_out_and_no_peer_waits) {
  std::vector<Lingering> lingering(detail::ClosingLine::threads_max);
  const FileDescriptor any(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto pass = [&](int fd, const std::function<void()>& passed) {
    RawShm raw(address());
    EXPECT_TRUE(raw.send(sound_, std::array{fd, any.get(), any.get()}));
    passed();
    const std::size_t downs = at_pull_.downs.size();
    EXPECT_SOON(pump_, at_pull_.downs.size() > downs);
  };
  for (Lingering& each : lingering) pass(each.fd(), [&] { each.forget(); });
  const auto full = [this] {
    const std::string& why = at_pull_.downs.back().down.detail;
    return why.find("cannot be closed") != std::string::npos;
  };
  for (std::size_t i = 0; i < detail::ClosingLine::full_at && !full(); ++i) pass(any.get(), [] {});
  ASSERT_TRUE(full()) << at_pull_.why();
  Push late(there_, wary_options());
  late.connect(address());
  pump_.run_for(50ms);
  EXPECT_EQ(late.peers_connected(), 0U);
  good_messages(300);
  for (Lingering& each : lingering) each.let_go();
  ASSERT_SOON(pump_, late.peers_connected() == 1);
  late.close(0s);
}

TEST_F(ShmPassed, to_a_listener_that_closes_holds_up_nobody) {
  const auto begin = std::chrono::steady_clock::now();
  Lingering lingering;
  {
    Pull other(there_);
    RawShm raw(other.bind("shm://*"));
    EXPECT_TRUE(raw.send("anything", std::array{lingering.fd()}));
    lingering.forget();
  }
  good_messages(3);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

// More than there are threads: each of them hangs, and still nobody waits.
TEST(ShmPassedByAnother, holds_up_nobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user too";
  constexpr std::size_t evil = 12;
  const Child child([](const std::string& address, int report_to) {
    if (::setresuid(65534, 65534, 65534) != 0) std::abort();
    std::vector<RawShm> raws;
    for (std::size_t i = 0; i < evil; ++i) {
      Lingering lingering;
      raws.emplace_back(address).send("anything", std::array{lingering.fd()});
    }
    report(report_to);
    ::pause();
  });
  Context here(wary_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  Pull pull(there);
  Seen at_pull(pull);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  const std::string address = pull.bind("shm://*");
  child.begin(address);
  ASSERT_TRUE(child.wait_for_report());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_SOON(pump, at_pull.downs.size() == evil);
  for (const Seen::Gone& gone : at_pull.downs) {
    EXPECT_EQ(gone.down.reason, DownReason::rejected) << at_pull.why();
  }
  Push push(here);
  push.connect(address);
  ASSERT_SOON(pump, push.peers_connected() == 1);
  ASSERT_EQ(push.send("good"), Status::ok);
  ASSERT_SOON(pump, received == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace netio::test

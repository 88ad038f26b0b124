// What a peer passes over a Unix socket may be such that closing it waits: a connection of tcp's
// that lingers, with bytes that nobody takes. It holds up nobody here.
#include <array>
#include <chrono>
#include <functional>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/evil.hpp"
#include "support/child.hpp"
#include "support/raw_shm.hpp"
#include "support/watchdog.hpp"

namespace netio::test {
namespace {

using detail::FileDescriptor;
using detail::WirePattern;

// Its last close waits until its peer has read what is written to it, which it does not.
class Lingering {
 public:
  Lingering() {
    const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(listener.get(), address, sizeof at), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), address, &bytes), 0);
    lingers_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(lingers_.get(), address, sizeof at), 0);
    reads_not_.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::array<char, 4096> some{};
    while (::send(lingers_.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
    }
    const linger most{1, 30};
    EXPECT_EQ(::setsockopt(lingers_.get(), SOL_SOCKET, SO_LINGER, &most, sizeof most), 0);
  }
  [[nodiscard]] int fd() const { return lingers_.get(); }
  // The other's copy is the last.
  void forget() { lingers_ = FileDescriptor(); }

 private:
  FileDescriptor lingers_;
  FileDescriptor reads_not_;
};

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
    const Down down = next_down().down;
    EXPECT_TRUE(is_readable(down));
    EXPECT_SOON(pump_, raw.ended());
    good_messages(3);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  }
  const Bytes sound_ = hello_of(sound_shm_hello(WirePattern::push, 5));

 private:
  Watchdog watchdog_{100};
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

// A listener in a process that may open no more descriptors: it says so once, does not spin, and
// takes those who wait as soon as it can.
#include <chrono>
#include <memory>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "base/file_descriptor.hpp"
#include "conformance/conformance.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

// While it lives, this process can open no descriptor, or `room` of them.
class NoDescriptors {
 public:
  explicit NoDescriptors(rlim_t room = 0) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const detail::FileDescriptor next(::dup(STDIN_FILENO));
    const rlimit none{static_cast<rlim_t>(next.get()) + room, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class ExhaustedListener : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (sanitized) GTEST_SKIP() << "a sanitizer needs descriptors of its own";
    if (address().starts_with("verbs") || address().starts_with("ofi")) {
      GTEST_SKIP() << "the fabric's library accepts, not netio";
    }
  }
  [[nodiscard]] const std::string& address() const { return GetParam().address; }

  // Connected as far as the kernel goes: nobody has accepted.
  void connect(std::size_t count, const std::string& to) {
    for (std::size_t i = 0; i < count; ++i) {
      pushes_.push_back(std::make_unique<Push>(here_, options()));
      pushes_.back()->connect(to);
    }
    while (here_.loop().run_once(std::chrono::nanoseconds(0))) {
    }
  }
  [[nodiscard]] bool all_up() const {
    for (const auto& push : pushes_) {
      if (push->peers_connected() == 0) return false;
    }
    return true;
  }

  std::vector<std::unique_ptr<Push>> pushes_;
};

TEST_P(ExhaustedListener, says_so_once_and_accepts_all_once_it_can) {
  Pull pull(there_, options());
  Seen at_pull(pull);
  const std::string bound = pull.bind(address());
  connect(3, bound);
  {
    const NoDescriptors none;
    ASSERT_SOON(pump_, !at_pull.downs.empty());
    // Several tries later it was not said again, and the loop slept in between.
    int turns = 0;
    const auto end = std::chrono::steady_clock::now() + 350ms;
    while (std::chrono::steady_clock::now() < end) {
      (void)there_.loop().run_once(50ms);
      ++turns;
    }
    EXPECT_LT(turns, 100);
    ASSERT_EQ(at_pull.downs.size(), 1U) << at_pull.why();
    const Seen::Gone& told = at_pull.downs[0];
    EXPECT_EQ(told.down.reason, DownReason::resources);
    EXPECT_EQ(told.peer.id, 0U);
    EXPECT_EQ(told.peer.address, bound);
    EXPECT_FALSE(told.peer.was_up);
    EXPECT_NE(told.down.detail.find("ulimit -n"), std::string::npos) << told.down.detail;
    EXPECT_EQ(pull.counters().rejected, 1U);
    EXPECT_TRUE(at_pull.ups.empty());
  }
  ASSERT_SOON(pump_, all_up() && pull.peers_connected() == 3);
  EXPECT_EQ(at_pull.downs.size(), 1U) << at_pull.why();
  EXPECT_EQ(pull.counters().rejected, 1U);

  // The next time is another one.
  connect(1, bound);
  const NoDescriptors none;
  ASSERT_SOON(pump_, at_pull.downs.size() == 2);
  EXPECT_EQ(at_pull.downs[1].peer.id, 0U) << at_pull.why();
  EXPECT_EQ(pull.counters().rejected, 2U);
}

TEST_P(ExhaustedListener, may_be_closed_and_destroyed_by_whom_it_told) {
  auto pull = std::make_unique<Pull>(there_, options());
  bool told = false;
  pull->on_down([&](const PeerInfo&, const Down&) {
    told = true;
    pull.reset();
  });
  connect(1, pull->bind(address()));
  const NoDescriptors none;
  ASSERT_SOON(pump_, told);
  EXPECT_EQ(pull, nullptr);
}

// What a connection that ends gives back is enough for the next.
TEST_P(ExhaustedListener, accepts_when_one_of_its_own_connections_ends) {
  if (address().starts_with("netio")) GTEST_SKIP() << "the next one takes more than the last had";
  Pull pull(there_, options());
  Seen at_pull(pull);
  const std::string bound = pull.bind(address());
  connect(1, bound);
  ASSERT_SOON(pump_, all_up());
  connect(1, bound);
  const NoDescriptors none;
  ASSERT_SOON(pump_, pull.counters().rejected != 0);
  pushes_.erase(pushes_.begin());
  ASSERT_SOON(pump_, pull.peers_connected() == 1 && all_up());
}

// The last descriptor is taken, and nobody waits for another one.
TEST_P(ExhaustedListener, says_nothing_while_all_have_been_accepted) {
  if (!address().starts_with("tcp")) GTEST_SKIP() << "a connection takes more than one descriptor";
  Pull pull(there_, options());
  Seen at_pull(pull);
  connect(1, pull.bind(address()));
  const NoDescriptors none(1);
  ASSERT_SOON(pump_, all_up() && pull.peers_connected() == 1);
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  EXPECT_EQ(pull.counters().rejected, 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(ExhaustedListener);

}  // namespace
}  // namespace netio::test

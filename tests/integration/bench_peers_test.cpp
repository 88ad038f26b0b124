// The peers of `netio bench` in shared memory that are not measured everywhere: libfabric's
// provider, which only spins, and those in other languages, which are built when asked for.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

class BenchPeers : public Bench, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Bench::SetUp();
    if (!fs::exists(build_folder() / ("bench/bench-" + system_))) {
      GTEST_SKIP() << "bench-" << system_ << " is not built"
                   << (system_ == "fabric" ? " (libfabric)" : " (script/bench --peers)");
    }
  }
  // Which of those that wait can be measured.
  [[nodiscard]] std::vector<const char*> waits() const {
    if (system_ == "iceoryx2") return {"spin", "sleep"};
    return {"spin"};
  }

  const std::string system_ = GetParam();
};

TEST_P(BenchPeers, it_is_compared_when_asked_for) {
  for (const char* const wait : waits()) {
    const Words how = {"shm://*", "--rounds", "1", "--wait", wait, "--against", system_};
    const auto rates = result_of(Words{"throughput"} + how);
    EXPECT_GT(rates["ratio"][system_]["messages_per_s"].get<double>(), 0) << said_;
    const auto times = result_of(Words{"latency"} + how);
    EXPECT_GT(times["ratio"][system_]["rtt_us_p50"].get<double>(), 0) << said_;
  }
}

TEST_P(BenchPeers, it_carries_messages_of_any_size) {
  for (const char* const wait : waits()) {
    for (const char* const size : {"8", "61", "4097", "65536", "3000000"}) {
      const Words all = {"--size", size, "--wait", wait, "--verify"};
      MemoryEnd receiver(Words{"receive"} + all, system_);
      EXPECT_EQ(receiver.hear().at("ready"), true);
      MemoryEnd sender(Words{"send"} + all, system_);
      EXPECT_EQ(sender.hear().at("ready"), true);
      receiver.await_messages(20);
      sender.expect_ends_well();
      receiver.expect_ends_well();
    }
  }
}

TEST_P(BenchPeers, it_times_round_trips_in_both_loops) {
  for (const char* const rate : {"0", "500"}) {
    const Words all = {"--wait", "spin", "--verify", "--size", "9000", "--rate", rate};
    MemoryEnd replier(Words{"reply"} + all, system_);
    EXPECT_EQ(replier.hear().at("ready"), true);
    MemoryEnd requester(Words{"request"} + all, system_);
    EXPECT_EQ(requester.hear().at("ready"), true);
    (void)requester.ask("record");
    requester.await_messages(100);
    const auto last = requester.ask("stop");
    EXPECT_EQ(last.at("faults"), 0);
    EXPECT_FALSE(last.at("round_trips").empty());
    replier.expect_ends_well();
  }
}

TEST_P(BenchPeers, it_sees_what_came_out_of_order) {
  MemoryEnd receiver({"receive", "--wait", "spin"}, system_);
  EXPECT_EQ(receiver.hear().at("ready"), true);
  // A number that is not expected.
  MemoryEnd sender({"send", "--wait", "spin", "--connection-first", "1"}, system_);
  EXPECT_EQ(sender.hear().at("ready"), true);
  receiver.await_messages(100);
  EXPECT_EQ(sender.ask("stop").at("end"), true);
  EXPECT_GT(receiver.ask("snap").at("faults"), 0);
  EXPECT_EQ(receiver.ask("stop").at("end"), true);
  EXPECT_EQ(receiver.process().wait(), 0);
}

TEST_P(BenchPeers, a_name_that_is_taken_is_refused) {
  MemoryEnd receiver({"receive", "--wait", "spin"}, system_);
  EXPECT_EQ(receiver.hear().at("ready"), true);
  MemoryEnd second({"receive", "--wait", "spin"}, system_);
  EXPECT_FALSE(second.hear().at("error").get<std::string>().empty());
  receiver.expect_ends_well();
}

INSTANTIATE_TEST_SUITE_P(, BenchPeers, testing::Values("fabric", "iceoryx2", "aeron"),
                         [](const auto& peer) { return std::string(peer.param); });

}  // namespace
}  // namespace netio::test

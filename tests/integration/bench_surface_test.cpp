// `netio bench surface`: each surface carries messages, in order, and is held against call-backs.
// The figures themselves are not tested.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/bench_support.hpp"

namespace netio::test {
namespace {

class BenchSurface : public Bench, public testing::WithParamInterface<const char*> {};

TEST_P(BenchSurface, is_compared_with_call_backs) {
  const std::string api = GetParam();
  const auto said = result_of({"surface", "--api", api, "--rounds", "1"});
  const bool has_round_trips = api != "queued" && api != "segments" && api != "gathered";
  for (const char* const system : {"callbacks", api.c_str()}) {
    const auto& figures = said["systems"][system];
    EXPECT_GT(figures["messages_per_s"]["median"].get<double>(), 0) << system;
    EXPECT_EQ(figures.contains("rtt_us_p50"), has_round_trips) << system;
  }
  EXPECT_GT(said["ratio"]["callbacks"]["messages_per_s"].get<double>(), 0);
  EXPECT_EQ(said["ratio"].contains("gathered"), api == "segments");
  EXPECT_THAT(said_, testing::HasSubstr(api + " over tcp, messages of 64 bytes"));
}

INSTANTIATE_TEST_SUITE_P(Apis, BenchSurface,
                         testing::Values("c", "coroutine", "asio", "blocking", "queued", "resume",
                                         "segments", "gathered"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace netio::test

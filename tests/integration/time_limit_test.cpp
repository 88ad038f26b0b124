// A test that hangs ends, and says where (tests/support/time_limit.hpp).
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace netio::test {
namespace {

[[gnu::noinline]] void wait_for_nothing() {
  while (::pause() != 0) {
  }
}

TEST(TimeLimit, ends_a_test_that_hangs_and_shows_where) {
  if (std::getenv("NETIO_TEST_HANGS") != nullptr) wait_for_nothing();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  Process::Options options;
  options.arguments = {"/usr/bin/env", "NETIO_TEST_HANGS=1", "NETIO_TEST_LIMIT=1", program,
                       "--gtest_filter=TimeLimit.*"};
  Process hangs(std::move(options));
  EXPECT_EQ(hangs.wait(std::chrono::seconds(50)), 1);
  EXPECT_THAT(hangs.out(),
              testing::HasSubstr("TimeLimit.ends_a_test_that_hangs_and_shows_where: hangs"));
  EXPECT_THAT(hangs.out(), testing::AnyOf(testing::HasSubstr("wait_for_nothing"),
                                          testing::HasSubstr("gdb is not installed")));
}

}  // namespace
}  // namespace netio::test

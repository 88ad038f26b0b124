// What a context gets in a control group.
#include "socket/memory_fit.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netio/status.hpp>

#include "support/fake_groups.hpp"

namespace netio::detail {
namespace {

using test::mib;

ContextOptions fitted(const test::FakeGroups& group, const ContextOptions& options = {}) {
  return fit_memory(options, ControlGroup(group.root()));
}

TEST(MemoryFit, leaves_options_as_they_are_without_a_limit_or_below_a_high_one) {
  const ContextOptions usual;
  for (const ContextOptions& options :
       {fitted(test::FakeGroups()), fitted(test::FakeGroups(16384 * mib))}) {
    EXPECT_EQ(options.send_pool_bytes, usual.send_pool_bytes);
    EXPECT_EQ(options.receive_pool_bytes, usual.receive_pool_bytes);
    EXPECT_EQ(options.large_bytes_max, usual.large_bytes_max);
    EXPECT_EQ(options.large_kept_bytes_max, usual.large_kept_bytes_max);
  }
}

TEST(MemoryFit, gives_pools_half_of_the_limit_and_large_messages_half_of_the_rest) {
  const ContextOptions small = fitted(test::FakeGroups(64 * mib));
  EXPECT_EQ(small.send_pool_bytes, 16 * mib);
  EXPECT_EQ(small.receive_pool_bytes, 16 * mib);
  EXPECT_EQ(small.large_bytes_max, 16 * mib);
  EXPECT_EQ(small.large_kept_bytes_max, 8 * mib);
  const ContextOptions larger = fitted(test::FakeGroups(512 * mib));
  EXPECT_EQ(larger.send_pool_bytes, 32 * mib);
  EXPECT_EQ(larger.receive_pool_bytes, 32 * mib);
  EXPECT_EQ(larger.large_bytes_max, 224 * mib);
}

TEST(MemoryFit, never_goes_below_what_a_context_needs) {
  const ContextOptions options = fitted(test::FakeGroups(3 * mib));
  EXPECT_EQ(options.send_pool_bytes, 768U << 10U);
  EXPECT_EQ(options.receive_pool_bytes, mib);
}

TEST(MemoryFit, keeps_what_was_set_if_it_fits) {
  ContextOptions options;
  options.send_pool_bytes = 4 * mib;
  options.large_bytes_max = 60 * mib;
  const ContextOptions small = fitted(test::FakeGroups(64 * mib), options);
  EXPECT_EQ(small.send_pool_bytes, 4 * mib);
  EXPECT_EQ(small.receive_pool_bytes, 28 * mib);
  EXPECT_EQ(small.large_bytes_max, 60 * mib);
}

void expect_refused(const test::FakeGroups& group, const ContextOptions& options,
                    const std::vector<std::string>& parts) {
  try {
    (void)fitted(group, options);
    ADD_FAILURE() << "it fitted";
  } catch (const Error& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(MemoryFit, refuses_what_was_set_and_does_not_fit_with_the_option_the_group_and_its_limit) {
  const test::FakeGroups group(512 * mib);
  group.use(200 * mib);
  ContextOptions options;
  options.receive_pool_bytes = 320 * mib;
  expect_refused(group, options, {"320 MiB", "receive_pool_bytes", "/g", "512 MiB", "312 MiB"});
  options = {};
  options.large_bytes_max = 1024 * mib;
  expect_refused(group, options, {"1024 MiB", "large_bytes_max", "/g", "512 MiB", "312 MiB"});
}

TEST(MemoryFit, refuses_a_group_that_has_no_room_for_the_smallest_pools) {
  const test::FakeGroups group(512 * mib);
  group.use(511 * mib);
  expect_refused(group, {}, {"pools", "/g", "512 MiB", "1 MiB"});
}

}  // namespace
}  // namespace netio::detail

// ControlGroup: both versions, groups around the own one, what containers see, and what makes no
// sense.
#include "memory/control_group.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/fake_groups.hpp"

namespace netio::detail {
namespace {

using test::FakeGroups;
using test::mib;

constexpr const char* mounts_2 =
    "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
    "29 1 0:26 / /cg rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* mounts_1 =
    "32 31 0:29 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /cg/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /cg/unified rw,relatime - cgroup2 cgroup2 rw\n";

class ControlGroupFiles : public testing::Test {
 protected:
  void version_2(const std::string& group) {
    files_.write("/proc/self/mountinfo", mounts_2);
    files_.write("/proc/self/cgroup", "0::" + group + "\n");
  }
  void version_1(const std::string& group) {
    files_.write("/proc/self/mountinfo", mounts_1);
    files_.write("/proc/self/cgroup", "9:name=systemd:/elsewhere\n4:memory:" + group +
                                          "\n1:cpu,cpuacct:/elsewhere\n0::/elsewhere\n");
  }
  void group_2(const std::string& path, const std::string& limit, std::uint64_t usage,
               const std::string& stat = {}) {
    files_.write("/cg" + path + "/memory.max", limit + "\n");
    files_.write("/cg" + path + "/memory.current", std::to_string(usage) + "\n");
    files_.write("/cg" + path + "/memory.stat", stat);
  }
  void group_1(const std::string& path, std::uint64_t limit, std::uint64_t usage,
               const std::string& stat = {}) {
    files_.write("/cg/memory" + path + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    files_.write("/cg/memory" + path + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    files_.write("/cg/memory" + path + "/memory.use_hierarchy", "1\n");
    files_.write("/cg/memory" + path + "/memory.stat", stat);
  }
  void expect(const std::string& group, std::uint64_t limit, std::uint64_t left) {
    const ControlGroup groups(files_.root());
    const auto bound = groups.bound();
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->group, group);
    EXPECT_EQ(bound->limit_bytes, limit);
    EXPECT_EQ(bound->left_bytes, left);
  }
  void expect_none() { EXPECT_FALSE(ControlGroup(files_.root()).bound()); }

  FakeGroups files_;
};

TEST_F(ControlGroupFiles, of_version_2_bound_by_what_is_left_of_their_limit) {
  version_2("/slice/service");
  group_2("/slice/service", std::to_string(512 * mib), 100 * mib);
  expect("/slice/service", 512 * mib, 412 * mib);
}

TEST_F(ControlGroupFiles, of_version_1_bound_by_what_is_left_of_their_limit) {
  version_1("/docker/abc");
  group_1("/docker/abc", 512 * mib, 100 * mib);
  expect("/docker/abc", 512 * mib, 412 * mib);
}

TEST_F(ControlGroupFiles, around_the_own_one_bound_too) {
  version_2("/slice/service");
  group_2("/slice/service", std::to_string(512 * mib), 100 * mib);
  group_2("/slice", std::to_string(1024 * mib), 1000 * mib);
  expect("/slice", 1024 * mib, 24 * mib);
  EXPECT_EQ(ControlGroup(files_.root()).lowest_limit()->limit_bytes, 512 * mib);
}

TEST_F(ControlGroupFiles, around_the_own_one_of_version_1_bound_if_they_count_their_children) {
  version_1("/docker/abc");
  group_1("/docker/abc", 512 * mib, 100 * mib);
  group_1("/docker", 1024 * mib, 1000 * mib);
  expect("/docker", 1024 * mib, 24 * mib);
  files_.write("/cg/memory/docker/memory.use_hierarchy", "0\n");
  expect("/docker/abc", 512 * mib, 412 * mib);
}

TEST_F(ControlGroupFiles, count_page_cache_that_the_kernel_drops_first_as_left) {
  version_2("/g");
  group_2("/g", std::to_string(512 * mib), 500 * mib,
          "anon 1\nfile 5\ninactive_file " + std::to_string(100 * mib) + "\nactive_file " +
              std::to_string(40 * mib) + "\nworkingset 3\n");
  expect("/g", 512 * mib, 132 * mib);
  EXPECT_EQ(ControlGroup(files_.root()).bound(12 * mib)->left_bytes, 12 * mib) << "it is enough";
  version_1("/g");
  group_1("/g", 512 * mib, 500 * mib,
          "inactive_file 5\ntotal_inactive_file " + std::to_string(100 * mib) + "\n");
  expect("/g", 512 * mib, 112 * mib);
}

TEST_F(ControlGroupFiles, whose_processes_are_held_back_above_a_bound_end_there) {
  version_2("/g");
  group_2("/g", "max", 100 * mib);
  files_.write("/cg/g/memory.high", std::to_string(256 * mib) + "\n");
  expect("/g", 256 * mib, 156 * mib);
}

TEST_F(ControlGroupFiles, that_are_over_their_limit_leave_nothing) {
  version_2("/g");
  group_2("/g", std::to_string(50 * mib), 100 * mib);
  expect("/g", 50 * mib, 0);
}

TEST_F(ControlGroupFiles, without_a_limit_bound_nothing) {
  version_2("/g");
  group_2("/g", "max", 100 * mib);
  files_.write("/cg/g/memory.high", "max\n");
  expect_none();
  version_1("/g");
  group_1("/g", 9223372036854771712U, 100 * mib);
  expect_none();
}

// A group whose path is not below what is mounted: the mount has its files.
TEST_F(ControlGroupFiles, of_a_container_are_those_that_are_mounted_there) {
  for (const char* path : {"/docker/abc", "/", "/../other", "/../../pod/x"}) {
    SCOPED_TRACE(path);
    version_2(path);
    group_2("", std::to_string(512 * mib), 100 * mib);
    expect("/", 512 * mib, 412 * mib);
  }
  files_.write("/proc/self/cgroup", "4:memory:/docker/abc\n");
  files_.write("/proc/self/mountinfo",
               "35 31 0:32 /docker/abc /cg/memory ro master:3 - cgroup cgroup rw,memory\n");
  group_1("", 256 * mib, 100 * mib);
  expect("/", 256 * mib, 156 * mib);
  files_.write("/proc/self/cgroup", "4:memory:/docker/abc/inner\n");
  group_1("/inner", 128 * mib, 100 * mib);
  expect("/inner", 128 * mib, 28 * mib);
}

TEST_F(ControlGroupFiles, may_be_mounted_at_places_with_blanks) {
  files_.write("/proc/self/cgroup", "0::/g\n");
  files_.write("/proc/self/mountinfo", "1 1 0:1 / /a\\040b rw - cgroup2 cgroup2 rw\n");
  files_.write("/a b/g/memory.max", "1048576\n");
  files_.write("/a b/g/memory.current", "0\n");
  expect("/g", mib, mib);
}

TEST_F(ControlGroupFiles, that_are_missing_or_make_no_sense_bound_nothing) {
  expect_none();
  version_2("/g");
  expect_none();
  for (const char* limit : {"", "many", "12 apples", "-5", "99999999999999999999999"}) {
    SCOPED_TRACE(limit);
    group_2("/g", limit, 0);
    expect_none();
  }
  group_2("/g", "1048576", 0);
  files_.write("/cg/g/memory.current", "none\n");
  expect_none();
  for (const char* text : {"", "\n", "0", "0:", "::", "0::", "4:memory\n", "x:y:z\n"}) {
    SCOPED_TRACE(text);
    files_.write("/proc/self/cgroup", text);
    expect_none();
  }
  version_2("/g");
  for (const char* text : {"", " - \n", "1 - cgroup2\n", "1 2 3 4 - cgroup2 x y\n", "- - - -\n"}) {
    SCOPED_TRACE(text);
    files_.write("/proc/self/mountinfo", text);
    expect_none();
  }
}

TEST(ControlGroup, of_this_process_can_be_read) {
  const ControlGroup groups;
  const auto bound = groups.bound();
  EXPECT_TRUE(!bound || bound->left_bytes <= bound->limit_bytes);
}

}  // namespace
}  // namespace netio::detail

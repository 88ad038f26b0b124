// Where the limits of this process leave no room for shared memory, it says so, and blames nobody.
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

// A lower limit of this process, as long as it lives.
class Limit {
 public:
  Limit(__rlimit_resource resource, std::size_t value) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &before_), 0);
    rlimit less = before_;
    less.rlim_cur = value;
    EXPECT_EQ(::setrlimit(resource_, &less), 0);
  }
  ~Limit() { EXPECT_EQ(::setrlimit(resource_, &before_), 0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

std::size_t address_space_used() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(ShmResources, memory_that_finds_no_room_here_is_not_the_peers_fault) {
  Context here(small_context());
  Context there(small_context());
  Pump pump{&here, &there};
  Pull pull(there);
  Push push(here);
  Seen at_push(push);
  push.connect(pull.bind("shm://*"));
  {
    const Limit little(RLIMIT_AS, address_space_used() + (std::size_t{1} << 30U));
    ASSERT_SOON(pump, !at_push.downs.empty() && pull.counters().rejected != 0);
  }
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_NE(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
  }
  EXPECT_SOON(pump, push.peers_connected() == 1);  // once there is room
}

// The kernel would end the process with a signal.
TEST(ShmResources, memory_larger_than_files_may_be_is_thrown) {
  Context there(small_context());
  Pull pull(there);
  const Limit little(RLIMIT_FSIZE, std::size_t{1} << 20U);
  EXPECT_THROW((void)pull.bind("shm://*"), Error);
}

}  // namespace
}  // namespace netio::test

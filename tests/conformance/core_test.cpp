// ContextOptions::cpu pins the thread that makes or runs a context, and nothing else; numa_node
// borrows the memory policy. Both are given back.
#include <array>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Core : public testing::Test {
 protected:
  static int cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    EXPECT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
    return CPU_COUNT(&cores);
  }
  static int first_core() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    EXPECT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
    int core = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(core), &cores)) ++core;
    return core;
  }
  void SetUp() override {
    if (before_ < 2) GTEST_SKIP() << "this process has one core";
  }
  static ContextOptions pinned() {
    ContextOptions options = small_context();
    options.cpu = first_core();
    return options;
  }
  const int before_ = cores();
};

TEST_F(Core, belongs_to_the_thread_while_the_context_runs) {
  Context context(pinned());
  EXPECT_EQ(cores(), before_);
  std::vector<int> seen;
  for (int i = 0; i < 2; ++i) {
    context.loop().post([&] {
      seen.push_back(cores());
      context.stop();
    });
    context.run();
    EXPECT_EQ(cores(), before_);
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 1}));
}

TEST_F(Core, is_not_taken_by_single_turns) {
  Context context(pinned());
  int seen = 0;
  context.loop().post([&] { seen = cores(); });
  while (seen == 0) (void)context.loop().run_once(-1ns);
  EXPECT_EQ(seen, before_);
}

// The loop polls its core, and never sleeps.
TEST_F(Core, that_a_loop_spins_on_leaves_names_to_the_others) {
  ContextOptions options = pinned();
  options.idle = IdlePolicy::spin;
  Context context(options);
  Pull pull(context);
  Push push(context);
  bool up = false;
  push.on_up([&](const PeerInfo&) {
    up = true;
    context.stop();
  });
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  push.connect("tcp://localhost" + address.substr(address.rfind(':')));
  context.run();
  EXPECT_TRUE(up);
  EXPECT_EQ(cores(), before_);
}

struct MemoryPolicy {
  static constexpr unsigned long nodes_max = 1024;
  bool read() {
    return ::syscall(SYS_get_mempolicy, &mode, nodes.data(), nodes_max, nullptr, 0UL) == 0;
  }
  bool set() const { return ::syscall(SYS_set_mempolicy, mode, nodes.data(), nodes_max) == 0; }
  bool operator==(const MemoryPolicy&) const = default;

  int mode = 0;
  std::array<unsigned long, nodes_max / 64> nodes{};
};

// As numactl --membind has it for the whole program.
TEST(NumaNode, leaves_the_memory_policy_of_the_thread) {
  MemoryPolicy before;
  if (!before.read()) GTEST_SKIP() << "this machine has no memory policies";
  MemoryPolicy bind;
  bind.mode = 2;  // MPOL_BIND of <linux/mempolicy.h>
  bind.nodes[0] = 1;
  if (!bind.set()) GTEST_SKIP() << "this machine lets no program choose a node";
  ContextOptions options = small_context();
  options.numa_node = 0;
  {
    const Context context(options);
    MemoryPolicy after;
    EXPECT_TRUE(after.read());
    EXPECT_EQ(after, bind);
  }
  EXPECT_TRUE(before.set());
}

}  // namespace
}  // namespace netio::test

// A core file holds what netio knows, and not the memory that messages lie in.
#include <algorithm>

#include "conformance/conformance.hpp"
#include "support/memory_maps.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

constexpr std::size_t large_bytes = 8U << 20U;
constexpr std::size_t large_count = 8;

// With the memory of a context as it is by default, of a peer on this wire, and of large messages.
class CoreFiles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer has memory of its own beside all of this";
    if (memory_maps().empty()) GTEST_SKIP() << "this system does not tell about its mappings";
  }
};

TEST_P(CoreFiles, leave_out_the_memory_of_messages) {
  constexpr std::size_t allowed = 32U << 20U;
  const std::size_t before = bytes_in_core_file(memory_maps());
  Context here;
  Context there;
  Pump pump{&here, &there};
  Push push(here);
  Pull pull(there);
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  push.connect(pull.bind(GetParam()));
  ASSERT_SOON(pump, push.peers_connected() == 1);
  for (std::uint64_t number = 0; number < large_count; ++number) {
    Status status{};
    Message message = push.allocate(large_bytes, status);
    ASSERT_EQ(status, Status::ok);
    fill_payload(message.writable_bytes(), number);
    while (push.send(std::move(message)) != Status::ok) pump.turn();
  }
  ASSERT_SOON(pump, kept.size() == large_count);
  const std::vector<MemoryMap> maps = memory_maps();
  EXPECT_LT(bytes_in_core_file(maps), before + allowed);
  EXPECT_GT(std::ranges::count(maps, false, &MemoryMap::dumped), 0);
}
INSTANTIATE_TEST_SUITE_P(Wires, CoreFiles,
                         testing::Values("tcp://127.0.0.1:0", "shm://*", "inproc://core"),
                         [](const auto& wire) {
                           return wire.param.substr(0, wire.param.find(':'));
                         });

TEST_F(CoreFiles, hold_the_boards) {
  Context here(small_context());
  Context there(small_context());
  Pump pump{&here, &there};
  Push push(here);
  Pull pull(there);
  push.connect(pull.bind("shm://*"));
  ASSERT_SOON(pump, push.peers_connected() == 1);
  std::size_t boards = 0;
  for (const MemoryMap& map : memory_maps()) {
    if (map.name.find("netio board") == std::string::npos) continue;
    ++boards;
    EXPECT_TRUE(map.dumped);
  }
  EXPECT_NE(boards, 0U);
}

}  // namespace
}  // namespace netio::test

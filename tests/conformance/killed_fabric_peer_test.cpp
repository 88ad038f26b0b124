// Peers on a fabric, in processes of their own, killed while a large lent message is being fetched.
#ifdef NETIO_WITH_FABRIC

#include <unistd.h>
#include <utility>

#include "conformance/evil.hpp"
#include "support/child.hpp"
#include "support/region_leaks.hpp"

namespace netio::test {
namespace {

using detail::MemoryRegion;

constexpr std::size_t killed_bytes = std::size_t{64} << 20U;

ContextOptions roomy_context() {
  ContextOptions options = wary_context();
  options.large_bytes_max = std::size_t{256} << 20U;
  return options;
}
SocketOptions patient_options() {
  SocketOptions options = wary_options();
  options.message_bytes_max = std::uint64_t{1} << 30U;
  options.stall_after = 30s;
  return options;
}

class KilledFabricPeer : private NoRegionLeaks, public testing::Test {
 protected:
  // Who sends beside the one that was killed.
  static void expect_served(Pump& pump, Push& good, const std::uint64_t& received) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      ASSERT_SOON(pump, good.send(payload(i, 3000), good_tag) == Status::ok);
    }
    ASSERT_SOON(pump, received == 100 && good.books().acknowledged == 100);
  }
  // With another receiver.
  static void expect_goes_on(Pump& pump, Push& push, Context& there) {
    Pull good(there, patient_options());
    std::uint64_t received = 0;
    good.on_message([&](const MessageView&) { ++received; });
    good.connect(push.bind("ofi+tcp://127.0.0.1:0"));
    ASSERT_SOON(pump, push.peers_connected() == 1);
    for (std::uint64_t i = 0; i < 100; ++i) {
      ASSERT_SOON(pump, push.send(payload(i, 3000)) == Status::ok);
    }
    ASSERT_SOON(pump, received == 100);
  }
};

TEST_F(KilledFabricPeer, a_sender_killed_while_its_lent_message_is_fetched_is_lost) {
  Child child([](const std::string& address, int report_to) {
    Context context(roomy_context());
    Push push(context, patient_options());
    Pump pump{&context};
    push.connect(address);
    const Bytes huge = payload(0, killed_bytes);
    while (push.lend(huge, 0) != Status::ok) pump.turn();
    pump.turns(3);
    report(report_to);
    for (;;) ::pause();
  });
  Context here(wary_context());
  Context there(roomy_context());
  Pump pump{&here, &there};
  Pull pull(there, patient_options());
  Push good(here, wary_options());
  Seen at_pull(pull);
  std::uint64_t of_good = 0;
  pull.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.tag(), good_tag);
    ++of_good;
  });
  const std::string address = pull.bind("ofi+tcp://127.0.0.1:0");
  good.connect(address);
  child.begin(address);
  ASSERT_SOON(pump, pull.peers_connected() == 2 && child.reported());
  pump.run_for(50ms);
  child.kill();
  ASSERT_SOON(pump, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost) << at_pull.why();
  EXPECT_TRUE(is_readable(at_pull.downs[0].down)) << at_pull.why();
  expect_served(pump, good, of_good);
}

TEST_F(KilledFabricPeer, a_receiver_killed_while_it_fetches_gives_the_memory_back) {
  Child child([](const std::string& address, int report_to) {
    Context context(roomy_context());
    Pull pull(context, patient_options());
    Pump pump{&context};
    pull.connect(address);
    pull.on_up([&](const PeerInfo&) { report(report_to); });
    for (;;) pump.turn(100ms);
  });
  Context here(roomy_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  Push push(here, patient_options());
  Seen at_push(push);
  std::uint64_t released = 0;
  push.on_released([&](std::uint64_t) { ++released; });
  child.begin(push.bind("ofi+tcp://127.0.0.1:0"));
  ASSERT_SOON(pump, push.peers_connected() == 1 && child.reported());
  const std::size_t live = MemoryRegion::live();
  const Bytes huge = payload(0, killed_bytes);
  ASSERT_SOON(pump, push.lend(huge, 7) == Status::ok);
  EXPECT_GT(MemoryRegion::live(), live);
  pump.turns(20);
  EXPECT_EQ(released, 0U) << "not yet fetched";
  child.kill();
  ASSERT_SOON(pump, at_push.downs.size() == 1 && released == 1);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::lost) << at_push.why();
  EXPECT_EQ(MemoryRegion::live(), live);
  expect_goes_on(pump, push, there);
}

// --- With a ring, in which one side writes to the other's memory.

constexpr const char* ring = "?engine=ring&slots=2&slot_bytes=1MiB";
constexpr std::size_t slot_bytes = std::size_t{1} << 20U;
const SocketOptions unbuffered{.mode = Mode::unbuffered, .stall_after = 30s};

TEST_F(KilledFabricPeer, a_sender_killed_while_it_writes_to_the_ring_is_lost) {
  Child child([](const std::string& address, int report_to) {
    Context context(roomy_context());
    Push push(context, unbuffered);
    Pump pump{&context};
    push.connect(address + ring);
    std::uint64_t sent = 0;
    for (bool told = false;; pump.turn()) {
      while (push.send(payload(sent, slot_bytes)) == Status::ok) ++sent;
      if (sent > 20 && !std::exchange(told, true)) report(report_to);
    }
  });
  Context here(wary_context());
  Context there(roomy_context());
  Pump pump{&here, &there};
  Pull pull(there, unbuffered);
  Push good(here, wary_options());
  Seen at_pull(pull);
  std::uint64_t of_good = 0;
  std::uint64_t of_bad = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (message.tag() == good_tag) {
      ++of_good;
    } else {
      wrong += is_payload(message.bytes(), of_bad++) && message.size() == slot_bytes ? 0U : 1U;
    }
  });
  const std::string address = pull.bind(std::string("ofi+tcp://127.0.0.1:0") + ring);
  good.connect(address);
  child.begin(address);
  ASSERT_SOON(pump, pull.peers_connected() == 2 && child.reported() && of_bad > 20);
  child.kill();
  ASSERT_SOON(pump, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost) << at_pull.why();
  EXPECT_EQ(wrong, 0U) << "half a page was handed up";
  expect_served(pump, good, of_good);
}

TEST_F(KilledFabricPeer, a_receiver_killed_while_its_ring_is_written_to_is_lost) {
  Child child([](const std::string& address, int report_to) {
    Context context(roomy_context());
    Pull pull(context, unbuffered);
    Pump pump{&context};
    std::uint64_t received = 0;
    pull.on_message([&](const MessageView&) {
      if (++received == 20) report(report_to);
    });
    pull.connect(address + ring);
    for (;;) pump.turn(100ms);
  });
  Context here(roomy_context());
  Context there(wary_context());
  Pump pump{&here, &there};
  Push push(here, unbuffered);
  Seen at_push(push);
  child.begin(push.bind(std::string("ofi+tcp://127.0.0.1:0") + ring));
  std::uint64_t sent = 0;
  ASSERT_SOON(pump, [&] {
    while (push.send(payload(sent, slot_bytes)) == Status::ok) ++sent;
    return child.reported();
  }());
  child.kill();
  ASSERT_SOON(pump, at_push.downs.size() == 1);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::lost) << at_push.why();
  const Books books = push.books();
  EXPECT_EQ(books.sent, books.acknowledged + books.dropped() + books.unsettled());
  expect_goes_on(pump, push, there);
}

}  // namespace
}  // namespace netio::test

#endif

// A name service that never answers: its look-ups take a bounded number of threads, hold up no peer
// with a number, and are told for what they are. A name service that is late: its answer is used.
// Each test runs in a process with a name service of its own.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "conformance/evil.hpp"
#include "support/in_a_child.hpp"
#include "support/own_name_server.hpp"
#include "transport/inquiry_line.hpp"

namespace netio::test {
namespace {

constexpr std::size_t dead_names = 500;

std::size_t threads_of_this_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// 500 peers whose names nobody finds, and one that has a number.
bool names_hold_up_nobody(const std::string& scheme) {
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, wary_options());
  Push push(context, wary_options());
  Seen at_push(push);
  const std::string address = pull.bind(scheme + "://127.0.0.1:0");
  for (std::size_t i = 0; i < dead_names; ++i) {
    push.connect(scheme + "://nobody-" + std::to_string(i) + ".example:5000");
  }
  push.connect(address);
  std::size_t threads = 0;
  pump.after_each_turn([&] { threads = std::max(threads, threads_of_this_process()); });
  const auto told = [&] { return push.peers_connected() == 1 && !at_push.downs.empty(); };
  if (!pump.until(told, "connected, and a look-up given up", soon_max)) return fail("not told");
  pump.forget_checks();
  // Beside the threads of the line: our own, and those of a fabric's provider.
  if (threads > detail::InquiryLine::threads_max + 12) {
    return fail(std::to_string(threads) + " threads");
  }
  const Down& why = at_push.downs.front().down;
  return why.reason == DownReason::name_temporary || fail("told as: " + why.detail);
}

// After four times of what a connection and its greeting may take.
bool late_answer_is_used(OwnNameServer& names, const std::string& scheme) {
  const SocketOptions options = wary_options();
  Context context(wary_context());
  Pump pump{&context};
  Pull pull(context, options);
  Push push(context, options);
  Seen at_push(push);
  const std::string port = std::to_string(port_of(pull.bind(scheme + "://127.0.0.1:0")));
  push.connect(scheme + "://late.example:" + port);
  if (!pump.until([&] { return names.asked(); }, "asked", soon_max)) return false;
  Timer late(context.loop(), [] {});
  late.start_once(4 * options.handshake_within);
  if (!pump.until([&] { return !late.running(); }, "late", soon_max)) return false;
  const auto connected = [&] {
    names.answer();
    return push.peers_connected() == 1;
  };
  if (!pump.until(connected, "connected", soon_max)) return fail(at_push.why());
  return at_push.downs.empty() || fail("gave up: " + at_push.why());
}

class DeadNameService : public testing::TestWithParam<std::string> {};

TEST_P(DeadNameService, takes_a_bounded_number_of_threads_and_is_told) {
  const int code = in_a_child([] {
    OwnNameServer names;
    if (!names.enter("options timeout:1 attempts:1")) return not_possible;
    return names_hold_up_nobody(GetParam()) ? 0 : 1;
  });
  if (code == not_possible) GTEST_SKIP() << "no network and name service of one's own here";
  EXPECT_EQ(code, 0);
}

TEST_P(DeadNameService, that_is_only_late_is_waited_for) {
  const int code = in_a_child([] {
    OwnNameServer names;
    if (!names.enter("options timeout:30")) return not_possible;
    return late_answer_is_used(names, GetParam()) ? 0 : 1;
  });
  if (code == not_possible) GTEST_SKIP() << "no network and name service of one's own here";
  EXPECT_EQ(code, 0);
}

std::vector<std::string> schemes_with_names() {
#ifdef NETIO_WITH_FABRIC
  return {"tcp", "ofi+tcp"};
#else
  return {"tcp"};
#endif
}

INSTANTIATE_TEST_SUITE_P(on, DeadNameService, testing::ValuesIn(schemes_with_names()),
                         [](const auto& row) { return row.param == "tcp" ? "tcp" : "ofi_tcp"; });

}  // namespace
}  // namespace netio::test

// What must not be done, and would be silent without a check: it is told in every build.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

std::string error_on_another_thread(const std::function<void()>& call) {
  std::string said = "did not throw";
  std::thread([&] {
    try {
      call();
    } catch (const Error& error) {
      said = error.what();
    }
  }).join();
  return said;
}

TEST(Misuse, set_up_from_another_thread_is_refused) {
  Context context(small_context());
  Push push(context);
  Subscribe subscribe(context);
  Timer timer(context.loop(), [] {});
  const std::vector<std::function<void()>> calls = {
      [&] { const Pull another(context); },
      [&] { (void)push.bind("inproc://*"); },
      [&] { push.connect("inproc://nobody"); },
      [&] { push.close(); },
      [&] { context.close(); },
      [&] { subscribe.subscribe(1); },
      [&] { subscribe.unsubscribe(1); },
      [&] { const Timer another(context.loop(), [] {}); },
      [&] { timer.start_once(1s); },
      [&] { timer.start_periodic(1s); },
      [&] { const Watch watch(context.loop(), STDIN_FILENO, 1, [](std::uint32_t) {}); },
      [&] { const Signal signal(context.loop(), [] {}); },
      [&] { (void)context.loop().run_once(0ms); },
      [&] { context.run(); },
      [&] { (void)context.loop().fd(); },
  };
  std::vector<std::string> said;
  context.loop().post([&] {
    for (const auto& call : calls) said.push_back(error_on_another_thread(call));
  });
  (void)context.loop().run_once(-1ns);
  ASSERT_EQ(said.size(), calls.size());
  for (std::size_t i = 0; i < said.size(); ++i) {
    EXPECT_NE(said[i].find("another thread"), std::string::npos) << i;
  }
  EXPECT_FALSE(timer.running());
  EXPECT_NO_THROW((void)push.bind("inproc://*"));
}

TEST(Misuse, a_context_may_be_set_up_on_one_thread_and_run_on_another) {
  auto context = std::make_unique<Context>(small_context());
  auto push = std::make_unique<Push>(*context);
  const auto elsewhere = [&] {
    (void)push->bind("inproc://*");
    (void)context->loop().run_once(0ms);
    push.reset();
    context.reset();
  };
  EXPECT_EQ(error_on_another_thread(elsewhere), "did not throw");
}

// Made here, run there until a message has come, and ended here.
void end_what_another_thread_ran(const std::function<void(Context&)>& run) {
  Context context(small_context());
  Pull pull(context);
  Push push(context);
  std::uint64_t arrived = 0;
  pull.on_message([&](const MessageView&) {
    ++arrived;
    context.stop();
  });
  push.on_up([&](const PeerInfo&) { EXPECT_EQ(push.send("from there"), Status::ok); });
  push.connect(pull.bind("inproc://*"));
  std::thread([&] { run(context); }).join();
  ASSERT_EQ(arrived, 1U);
  EXPECT_EQ(push.send("from here"), Status::ok);
  Timer timer(context.loop(), [] {});
  timer.start_once(1h);
  context.run();
  EXPECT_EQ(arrived, 2U);
  push.close();
  context.close();
  context.run();
  EXPECT_EQ(push.books().acknowledged, 2U);
}

TEST(Misuse, none_is_to_end_on_one_thread_what_another_has_run) {
  end_what_another_thread_ran([](Context& context) { context.run(); });
}

TEST(Misuse, none_is_to_end_on_one_thread_what_another_has_turned) {
  end_what_another_thread_ran([](Context& context) {
    while (!context.loop().stopped()) (void)context.loop().run_once(-1ns);
    context.run();  // returns at once, as it was stopped
  });
}

// The calls that do not look at the thread in a release build.
TEST(MisuseDeathTest, a_call_from_another_thread_while_the_loop_runs_is_asserted) {
#ifdef NDEBUG
  GTEST_SKIP() << "a build without assertions";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Context context(small_context());
        context.loop().post([&] { std::thread([&] { context.stop(); }).join(); });
        context.run();
      },
      "on_owner_thread");
}

TEST(MisuseDeathTest, a_context_that_goes_before_its_socket_says_so) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto context = std::make_unique<Context>(small_context());
        const Push push(*context);
        context.reset();
      },
      "a context is destroyed before the sockets in it");
}

TEST(MisuseDeathTest, a_loop_that_goes_before_its_timer_or_watch_says_so) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        std::optional<Loop> loop(std::in_place);
        const Timer timer(*loop, [] {});
        loop.reset();
      },
      "a loop is destroyed before the timers");
  EXPECT_DEATH(
      {
        std::optional<Loop> loop(std::in_place);
        const Signal signal(*loop, [] {});
        loop.reset();
      },
      "a loop is destroyed before the timers");
}

}  // namespace
}  // namespace netio::test

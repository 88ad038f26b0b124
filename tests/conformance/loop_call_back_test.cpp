// The call-backs of the loop, of a Forward and of a Probe: what each may do.
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "conformance/call_back_deeds.hpp"

namespace netio::test {
namespace {

class LoopCallBack : public CallBackDeeds {};

TEST_P(LoopCallBack, forward_on_dropped) {
  each([](Scene& s) {
    s.make_forward();
    s.arm(s.forwards, SET(on_dropped));
    const std::vector<std::byte> large(2000);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(s.push->send(large), Status::ok);
  });
}

TEST_P(LoopCallBack, forward_finish) {
  each([](Scene& s) {
    s.make_forward();
    s.arm(s.forwards, [](auto& object, auto call) { object->finish(1h, std::move(call)); });
  });
}

TEST_P(LoopCallBack, probe_on_result) {
  each([](Scene& s) {
    s.make_push_and_pull();
    s.arm(s.probe, [&s, address = s.pull->bind(s.row.address)](auto& object, auto call) {
      object.emplace(s.there, address, std::move(call));
    });
  });
}

TEST_P(LoopCallBack, timer) {
  each([](Scene& s) {
    s.arm(s.timer, [&s](auto& object, auto call) {
      object.emplace(s.here.loop(), std::move(call));
      object->start_periodic(0ns);
    });
  });
}

TEST_P(LoopCallBack, watch) {
  each([](Scene& s) {
    ASSERT_EQ(::pipe(s.ends.data()), 0);
    s.arm(s.watch, [&s](auto& object, auto call) {
      object.reset();
      object.emplace(s.here.loop(), s.ends[1], EPOLLOUT, std::move(call));
    });
    ASSERT_SOON(s.pump, s.called);
    s.watch.reset();
    for (const int end : s.ends) ::close(end);
  });
}

TEST_P(LoopCallBack, signal) {
  each([](Scene& s) {
    s.arm(s.signal,
          [&s](auto& object, auto call) { object.emplace(s.here.loop(), std::move(call)); });
    s.signal->notify();
  });
}

TEST_P(LoopCallBack, posix_signals) {
  each([](Scene& s) {
    s.arm(s.posix_signals, [&s](auto& object, auto call) {
      object.reset();
      object.emplace(s.here.loop(), std::initializer_list<int>{SIGUSR1}, std::move(call));
    });
    ASSERT_EQ(::raise(SIGUSR1), 0);
  });
}

TEST_P(LoopCallBack, loop_post) {
  each([](Scene& s) { s.here.loop().post(s.armed()); });
}

TEST_P(LoopCallBack, context_close) {
  each([](Scene& s) {
    s.make_push_and_pull();
    Context apart(memory_to_build());
    s.pump.add(apart);
    apart.close(1h, s.armed());
    EXPECT_SOON(s.pump, s.called);
    s.pump.remove(apart);
  });
}

INSTANTIATE_TEST_SUITE_P(on, LoopCallBack, testing::ValuesIn(two_wires()), row_name);

}  // namespace
}  // namespace netio::test

#include "support/time_limit.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/environment.hpp"

namespace netio::test {
namespace {

// Of this process and what it started, which is killed then; the shell is one of those.
constexpr const char* print_stacks = R"sh(
children=$(cat "/proc/$1/task/"*/children 2>/dev/null)
for process in "$1" $children; do
  [ "$process" != $$ ] || continue
  echo "--- process $process: $(tr '\0' ' ' <"/proc/$process/cmdline")"
  if ! command -v gdb >/dev/null; then
    echo "no stacks: gdb is not installed"
  else
    timeout 20 gdb -p "$process" -batch -nx -ex "set pagination off" \
      -ex "thread apply all backtrace 40" 2>&1 | grep -E '^(Thread |#)' || echo "no stacks: gdb may not look at it"
  fi
done
for process in $children; do
  [ "$process" = $$ ] || kill -KILL "$process"
done)sh";

struct Running {
  char name[200] = "";
  char pid[16] = "";
};
Running running;  // what a handler of signals reads

int signal_of_limit() { return SIGRTMIN + 7; }

void say(std::string_view text) {
  static_cast<void>(!::write(STDOUT_FILENO, text.data(), text.size()));
}

void end_what_hangs(int /*signal*/) {
  say("\n");
  say(running.name);
  say(": hangs, its time is over (NETIO_TEST_LIMIT=0 gives it all the time there is)\n");
  // Whatever happens here ends.
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarm;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  ::alarm(120);
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  // fork() waits for locks that the thread which was interrupted may hold.
  const pid_t shell = ::_Fork();
  if (shell == 0) {
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", print_stacks, "sh", running.pid, nullptr);
    ::_exit(127);
  }
  while (shell > 0 && ::waitpid(shell, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::_exit(1);
}

class TimeLimit : public testing::EmptyTestEventListener {
 public:
  TimeLimit() : seconds_(number_in("NETIO_TEST_LIMIT", time_limit_seconds)) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal_of_limit();
    exists_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    std::signal(signal_of_limit(), end_what_hangs);
  }

  void OnTestStart(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    std::strncpy(running.name, name.c_str(), sizeof running.name - 1);
    std::strncpy(running.pid, std::to_string(::getpid()).c_str(), sizeof running.pid - 1);
    set(seconds_);
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { set(0); }
  void extend(int times) const { set(seconds_ * static_cast<std::uint64_t>(times)); }

 private:
  void set(std::uint64_t seconds) const {
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    if (exists_) ::timer_settime(timer_, 0, &when, nullptr);
  }

  std::uint64_t seconds_;
  timer_t timer_{};
  bool exists_ = false;
};

// GoogleTest deletes it.
TimeLimit* const limit = [] {
  auto* const made = new TimeLimit;
  testing::UnitTest::GetInstance()->listeners().Append(made);
  return made;
}();

}  // namespace

void extend_time_limit(int times) { limit->extend(times); }

}  // namespace netio::test

// fork, exec, wait.
#include "children.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace demo {

namespace {

constexpr int exec_failed_code = 127;

// In the child: nothing but calls that are safe there.
[[noreturn]] void become(const char* program, char* const* arguments, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(exec_failed_code);  // it went before the line above
  // Ctrl-C reaches all processes of a terminal; the parent ends the others in order. The signals
  // it takes through its loop are blocked, which exec would hand on.
  signal(SIGINT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(program, arguments);
  _exit(exec_failed_code);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Children::~Children() {
  for (const Child& child : children_) kill(child.pid, SIGKILL);
  for (const Child& child : children_) {
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void Children::start(std::size_t index, const std::string& name,
                     std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  pointers.push_back(program.data());
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) become(program.c_str(), pointers.data(), parent);
  children_.push_back({index, fmt::format("{} (process {})", name, pid), pid});
}

void Children::signal(std::size_t index, int signal) noexcept {
  for (const Child& child : children_) {
    if (child.index == index) kill(child.pid, signal);
  }
}

std::optional<Children::Ended> Children::reap() {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    int status = 0;
    if (waitpid(children_[i].pid, &status, WNOHANG) != children_[i].pid) continue;
    Ended ended{children_[i].index, std::move(children_[i].name), how_it_ended(status),
                status == 0};
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    return ended;
  }
  return std::nullopt;
}

}  // namespace demo

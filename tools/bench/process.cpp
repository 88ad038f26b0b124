#include "bench/process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "exit_code.hpp"

namespace netio::cli {

namespace {

constexpr int exec_failed_code = 127;
constexpr auto time_to_end = std::chrono::seconds(2);

struct Pipe {
  Descriptor read;
  Descriptor write;
  Pipe() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
      throw Failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    read = Descriptor(fds[0]);
    write = Descriptor(fds[1]);
  }
};

// In the child: nothing but calls that are safe there.
[[noreturn]] void become(const char* program, char* const* arguments, int input, int output,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(exec_failed_code);
  signal(SIGINT, SIG_IGN);  // Ctrl-C is for this command, which ends its children in order
  signal(SIGPIPE, SIG_DFL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  execv(program, arguments);
  _exit(exec_failed_code);
}

std::string how(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) == exec_failed_code) return "could not be started";
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Process::Process(Loop& loop, const std::string& program, const std::vector<std::string>& arguments,
                 std::function<void(std::string)> on_line, std::function<void(std::string)> on_end)
    : on_line_(std::move(on_line)), on_end_(std::move(on_end)) {
  std::vector<std::string> texts = {program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  Pipe in;
  Pipe out;
  // Before there is a child: from here on nothing throws.
  watch_.emplace(loop, out.read.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Failure(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid_ == 0) become(program.c_str(), pointers.data(), in.read.get(), out.write.get(), parent);
  id_ = pid_;
  input_ = std::move(in.write);
  output_ = std::move(out.read);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  watch_.reset();
  if (pid_ < 0) return;
  input_ = Descriptor();
  const auto limit = std::chrono::steady_clock::now() + time_to_end;
  while (!reap(WNOHANG)) {
    if (std::chrono::steady_clock::now() > limit) {
      ::kill(pid_, SIGKILL);
      (void)reap(0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Process::say(const std::string& line) {
  const std::string text = line + "\n";
  // A line fits a pipe; one whose reader is gone is told by on_end.
  (void)!::write(input_.get(), text.data(), text.size());
}

void Process::signal(int number) const noexcept {
  if (pid_ > 0) ::kill(pid_, number);
}

void Process::on_readable() {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    watch_.reset();
    const std::string ending = reap(0).value_or("ended");
    on_end_(ending);  // may destroy this
    return;
  }
  partial_.append(buffer.data(), static_cast<std::size_t>(got));
  for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    on_line_(partial_.substr(0, end));
    partial_.erase(0, end + 1);
  }
}

std::optional<std::string> Process::reap(int options) noexcept {
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid_, &status, options);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  pid_ = -1;
  return how(status);
}

}  // namespace netio::cli

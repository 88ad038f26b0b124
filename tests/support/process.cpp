#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <system_error>
#include <tuple>
#include <unistd.h>

extern char** environ;

namespace netio::test {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void close_if_open(int& fd) {
  if (fd >= 0) ::close(std::exchange(fd, -1));
}

std::pair<int, int> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  return {ends[0], ends[1]};
}

int open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) fail(path.c_str());
  return fd;
}

// Whoever writes another byte waits.
std::pair<int, int> make_full_pipe() {
  const auto [read, write] = make_pipe();
  if (::fcntl(write, F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
  while (::write(write, "x", 1) == 1) {
  }
  if (::fcntl(write, F_SETFL, 0) != 0) fail("fcntl");
  return {read, write};
}

// The side of a new terminal that its user sits at, and the side that a program writes to.
std::pair<int, int> make_terminal() {
  const int user = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (user < 0 || ::grantpt(user) != 0 || ::unlockpt(user) != 0) fail("posix_openpt");
  std::array<char, 128> name{};
  if (::ptsname_r(user, name.data(), name.size()) != 0) fail("ptsname_r");
  const int program = open_file(name.data(), O_RDWR | O_NOCTTY);
  winsize size{};
  size.ws_row = 25;
  size.ws_col = 100;
  ::ioctl(user, TIOCSWINSZ, &size);
  return {user, program};
}

// The side that is read, and the child's; -1 where there is none.
std::pair<int, int> make_standard_error(Process::Options::Stderr kind) {
  using Stderr = Process::Options::Stderr;
  switch (kind) {
    case Stderr::pipe:
      break;
    case Stderr::terminal:
      return make_terminal();
    case Stderr::closed:
      return {-1, -1};
    case Stderr::unread_pipe: {
      auto [read, write] = make_pipe();
      close_if_open(read);
      return {-1, write};
    }
    case Stderr::full_pipe:
      return make_full_pipe();
    case Stderr::full_disk:
      return {-1, open_file("/dev/full", O_WRONLY)};
  }
  return make_pipe();
}

pid_t spawn(std::vector<std::string>& arguments, int in, int out, int err) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (err >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  } else {
    ::posix_spawn_file_actions_addclose(&actions, STDERR_FILENO);
  }
  // Whatever the test's own parent ignores or blocks, the child starts like any other.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);
  return pid;
}

}  // namespace

Process::Process(Options options) {
  int child_in = -1;
  int child_out = -1;
  int child_err = -1;
  if (options.stdin_path.empty()) {
    std::tie(child_in, in_) = make_pipe();
  } else {
    child_in = open_file(options.stdin_path, O_RDONLY);
  }
  if (options.stdout_path.empty()) {
    std::tie(out_, child_out) = make_pipe();
  } else {
    child_out = open_file(options.stdout_path, O_WRONLY | O_CREAT | O_TRUNC);
  }
  std::tie(err_, child_err) = make_standard_error(options.standard_error);
  if (options.standard_error == Options::Stderr::full_pipe) unread_ = std::exchange(err_, -1);
  pid_ = spawn(options.arguments, child_in, child_out, child_err);
  close_if_open(child_in);
  close_if_open(child_out);
  close_if_open(child_err);
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) fail("eventfd");
  out_open_ = out_ >= 0;
  err_open_ = err_ >= 0;
  collector_ = std::thread([this] { collect(); });
}

Process::~Process() {
  if (running()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ::eventfd_write(wake_, 1);
  if (collector_.joinable()) collector_.join();
  for (int* const fd : {&in_, &out_, &err_, &unread_, &wake_}) close_if_open(*fd);
}

void Process::read_err() {
  if (::fcntl(unread_, F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
  std::vector<char> chunk(1U << 16U);
  std::size_t left = static_cast<std::size_t>(::fcntl(unread_, F_GETPIPE_SZ));
  for (ssize_t got = 0; left != 0; left -= static_cast<std::size_t>(got)) {
    got = ::read(unread_, chunk.data(), std::min(chunk.size(), left));
    if (got <= 0) break;
  }
  const std::lock_guard lock(mutex_);
  read_err_ = err_open_ = true;
  ::eventfd_write(wake_, 1);
}

void Process::collect() {
  std::vector<char> chunk(1U << 16U);
  const auto take = [&](int& fd, std::string& text, bool& open) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    const std::lock_guard lock(mutex_);
    if (got > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      close_if_open(fd);  // A terminal answers EIO when its last writer is gone.
      open = false;
    }
    changed_.notify_all();
  };
  while (out_ >= 0 || err_ >= 0) {
    std::array<pollfd, 3> ready = {{{out_, POLLIN, 0}, {err_, POLLIN, 0}, {wake_, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[2].revents != 0) {
      const std::lock_guard lock(mutex_);
      eventfd_t count = 0;
      ::eventfd_read(wake_, &count);
      if (ended_) return;
      if (std::exchange(read_err_, false)) err_ = std::exchange(unread_, -1);
      if (!close_out_) continue;
      close_if_open(out_);
      out_open_ = false;
      close_out_ = false;
      changed_.notify_all();
      continue;
    }
    if (ready[0].revents != 0) take(out_, out_text_, out_open_);
    if (ready[1].revents != 0) take(err_, err_text_, err_open_);
  }
}

bool Process::feed(std::string_view bytes) {
  // A child that ended early is an answer, not a reason to die.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  while (!bytes.empty()) {
    const ssize_t n = ::write(in_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  ::sigaction(SIGPIPE, &before, nullptr);
  return bytes.empty();
}

void Process::end_input() { close_if_open(in_); }

void Process::close_output() {
  std::unique_lock lock(mutex_);
  close_out_ = true;
  ::eventfd_write(wake_, 1);
  changed_.wait(lock, [this] { return !out_open_; });
}

void Process::signal(int signo) const { ::kill(pid_, signo); }

bool Process::running() { return !wait(std::chrono::milliseconds(0)); }

std::optional<int> Process::wait(std::chrono::milliseconds within) {
  const auto deadline = Clock::now() + within;
  while (!code_) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else if (Clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !out_open_ && !err_open_; });
  return code_;
}

std::string Process::out() {
  const std::lock_guard lock(mutex_);
  return out_text_;
}

std::string Process::err() {
  const std::lock_guard lock(mutex_);
  return err_text_;
}

bool Process::wait_for_err(std::string_view text, std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  const auto holds = [&] { return err_text_.find(text) != std::string::npos; };
  changed_.wait_for(lock, within, [&] { return holds() || !err_open_; });
  return holds();
}

bool Process::wait_for_new_err(std::string_view text, int times, std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  std::size_t from = err_text_.size();
  const auto holds = [&] {
    for (std::size_t at = 0; times > 0; --times, from = at + text.size()) {
      at = err_text_.find(text, from);
      if (at == std::string::npos) return false;
    }
    return true;
  };
  changed_.wait_for(lock, within, [&] { return holds() || !err_open_; });
  return holds();
}

bool Process::wait_for_out_bytes(std::size_t bytes, std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, within, [&] { return out_text_.size() >= bytes || !out_open_; });
  return out_text_.size() >= bytes;
}

std::optional<std::string> Process::line_after(std::string_view prefix,
                                               std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  std::optional<std::string> rest;
  const auto find = [&] {
    for (std::size_t begin = 0; begin < err_text_.size();) {
      const std::size_t end = err_text_.find('\n', begin);
      if (end == std::string::npos) return false;
      const std::string_view line = std::string_view(err_text_).substr(begin, end - begin);
      if (line.starts_with(prefix)) {
        rest = std::string(line.substr(prefix.size()));
        return true;
      }
      begin = end + 1;
    }
    return false;
  };
  changed_.wait_for(lock, within, [&] { return find() || !err_open_; });
  return rest;
}

}  // namespace netio::test

// A network of the process's own, to be switched off: a user and network namespace.
#pragma once

#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace netio::test {

inline bool write_whole(const char* path, std::string_view text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, text.data(), text.size()) == std::ssize(text);
  ::close(fd);
  return done;
}

// The loopback of the namespace this process is in.
inline bool set_loopback(bool up) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = static_cast<short>(up ? IFF_UP | IFF_RUNNING : 0);
  const bool done = ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return done;
}

// For a process with one thread; `more` are further namespaces. False if this machine lets no
// process have them: skip the test.
inline bool enter_own_network(int more = 0) {
  const uid_t user = ::getuid();
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNET | more) == 0 &&
         write_whole("/proc/self/setgroups", "deny") &&
         write_whole("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") &&
         set_loopback(true);
}

}  // namespace netio::test

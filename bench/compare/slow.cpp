// What makes a build slow on purpose: each write to a socket is preceded by some work. The
// library's calls of send() and sendmsg() are renamed to these (bench/compare/CMakeLists.txt).
#include <sys/socket.h>

namespace {

void work() noexcept {
  for (int i = 0; i < 200'000; ++i) asm volatile("");
}

}  // namespace

extern "C" {

ssize_t slow_send(int fd, const void* bytes, size_t count, int flags) {
  work();
  return ::send(fd, bytes, count, flags);
}

ssize_t slow_sendmsg(int fd, const msghdr* message, int flags) {
  work();
  return ::sendmsg(fd, message, flags);
}
}

// A hosts file of the process's own, which can be added to, and in which alone names are looked up.
#pragma once

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace netio::test {

// In a mount namespace of the process's own: a file with this text at `path`. Returns a descriptor
// that is open at its end, or -1.
inline int mount_text_over(const char* path, std::string_view text) {
  std::array<char, 32> file = {"/tmp/netio-names-XXXXXX"};
  const int fd = ::mkostemp(file.data(), O_CLOEXEC);
  if (fd < 0) return -1;
  const bool done = ::write(fd, text.data(), text.size()) == std::ssize(text) &&
                    ::fchmod(fd, 0644) == 0 &&
                    ::mount(file.data(), path, nullptr, MS_BIND, nullptr) == 0;
  ::unlink(file.data());
  if (!done) ::close(fd);
  return done ? fd : -1;
}

// For a process with one thread. Its children have the same hosts.
class OwnHosts {
 public:
  OwnHosts() noexcept = default;
  OwnHosts(const OwnHosts&) = delete;
  OwnHosts& operator=(const OwnHosts&) = delete;
  ~OwnHosts() { ::close(hosts_); }

  // False if this machine lets no process have that: skip the test.
  [[nodiscard]] bool enter(std::string_view hosts) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    hosts_ = mount_text_over("/etc/hosts", hosts);
    return hosts_ >= 0 && mount_text_over("/etc/nsswitch.conf", "hosts: files\n") >= 0;
  }
  // As "127.0.0.1 name\n".
  [[nodiscard]] bool add(std::string_view line) const {
    return ::write(hosts_, line.data(), line.size()) == std::ssize(line);
  }

 private:
  int hosts_ = -1;
};

}  // namespace netio::test

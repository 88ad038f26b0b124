#include "worker/unix_name.hpp"

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>

#include "worker/descriptors.hpp"

namespace netio::bench {

namespace {

struct Address {
  sockaddr_un storage{};
  socklen_t bytes = 0;

  explicit Address(const std::string& name) {
    if (name.size() + 1 > sizeof storage.sun_path) {
      throw std::invalid_argument(name + " is too long a name");
    }
    storage.sun_family = AF_UNIX;
    std::memcpy(storage.sun_path + 1, name.data(), name.size());  // behind a zero: abstract
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

int make_socket() {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  return fd;
}

}  // namespace

int listen_at_name(const std::string& name) {
  const Address address(name);
  const int fd = make_socket();
  if (bind(fd, address.get(), address.bytes) != 0) fail("bind");
  if (listen(fd, 4096) != 0) fail("listen");
  return fd;
}

int connect_to_name(const std::string& name) {
  const Address address(name);
  const int fd = make_socket();
  if (connect(fd, address.get(), address.bytes) != 0) fail("connect");
  return fd;
}

}  // namespace netio::bench

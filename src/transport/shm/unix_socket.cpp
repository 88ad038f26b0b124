// SOCK_SEQPACKET, SCM_RIGHTS, SO_PEERCRED.
#include "transport/shm/unix_socket.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <unistd.h>

#include <netio/status.hpp>

#include "base/random.hpp"

namespace netio::detail {

namespace {

// Containers may share the names and have the same process numbers; who forked shares the rest.
std::string this_process() {
  static const std::uint64_t random = random_below(std::uint64_t{1} << 32U);
  return std::to_string(getpid()) + "." + std::to_string(random);
}

}  // namespace

UnixAddress UnixAddress::of(const char* verb, const Url& url) {
  const bool file = url.name.starts_with('/') && url.scheme == "shm";
  std::string name = url.name;
  if (!file) {
    name = "netio/" + url.name;
    if (url.scheme == "inproc") name = "netio." + this_process() + "/" + url.name;
    name.insert(name.begin(), '\0');
  }
  UnixAddress address;
  const std::size_t room = sizeof address.storage.sun_path - (file ? 1 : 0);
  if (url.name.empty() || name.size() > room) {
    throw AddressError(
        std::string(verb) + " " + to_string(url),
        url.name.empty() ? "the name is missing" : "the name is too long",
        (url.scheme == "inproc" ? "give a name of up to "
                                : "give a name, or a path that begins with /, of up to ") +
            std::to_string(room - (name.size() - url.name.size())) + " characters");
  }
  address.storage.sun_family = AF_UNIX;
  std::memcpy(address.storage.sun_path, name.data(), name.size());
  address.bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (file ? 1 : 0));
  return address;
}

std::string UnixAddress::path() const {
  return storage.sun_path[0] == '\0' ? std::string() : std::string(storage.sun_path);
}

FileDescriptor make_unix_socket() noexcept {
  return opened([] { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

int send_message(int socket, std::span<const std::byte> bytes,
                 std::span<const int> passed) noexcept {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * PassedDescriptors::room)>
      control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!passed.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(passed.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(passed.size_bytes());
    std::memcpy(CMSG_DATA(head), passed.data(), passed.size_bytes());
  }
  for (;;) {
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

namespace {

ssize_t receive(int socket, msghdr& message, int flags) noexcept {
  ssize_t got = -1;
  do {
    got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got;
}

void take_passed(msghdr& message, PassedDescriptors& passed) noexcept {
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= head->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + at, sizeof fd);
      passed.add(fd);
    }
  }
}

ssize_t look_at(int socket, msghdr& message, PassedDescriptors& passed) noexcept {
  const DescriptorChange change;
  const ssize_t got = receive(socket, message, MSG_PEEK);
  if (got >= 0) take_passed(message, passed);
  return got;
}

}  // namespace

// Looks at the message before it takes it. The look gives this process descriptors of its own, and
// the message keeps those that it passes. To take the message then closes these, and does not wait,
// because they are not the last ones of their files.
int receive_message(int socket, std::span<std::byte> to, UnixMessage& received,
                    std::size_t passed_max) noexcept {
  iovec part{to.data(), to.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * PassedDescriptors::room)> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed_max != 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_LEN(sizeof(int) * passed_max);
  }
  const ssize_t got = look_at(socket, message, received.passed);
  if (got < 0) return errno;
  received.bytes = static_cast<std::size_t>(got);
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return received.passed.size() == passed_max ? E2BIG : EMFILE;
  }
  msghdr taken{};
  (void)receive(socket, taken, 0);
  return (message.msg_flags & MSG_TRUNC) != 0 ? EMSGSIZE : 0;
}

// The credentials of the sender tell a message without bytes from the end of the connection. There
// is room for them alone. So a message that does not fit passes descriptors.
bool drop_messages(int socket) noexcept {
  const int yes = 1;
  (void)setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
  for (;;) {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(ucred))> control;
    msghdr message{};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = receive(socket, message, MSG_PEEK);
    if (got < 0 && errno == ECONNRESET) continue;  // told once, before what is there
    if (got < 0 || message.msg_controllen == 0) return true;
    if ((message.msg_flags & MSG_CTRUNC) != 0) return false;
    msghdr taken{};
    (void)receive(socket, taken, 0);
  }
}

bool same_user(int socket, std::string& other) noexcept {
  ucred who{};
  socklen_t bytes = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return true;
  if (who.uid == geteuid() || who.uid == 0) return true;
  other = std::to_string(who.uid);
  return false;
}

}  // namespace netio::detail

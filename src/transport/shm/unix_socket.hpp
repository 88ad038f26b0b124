// Unix sockets: names, whole messages with descriptors, and who is at the other end. Set-up only.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/file_descriptor.hpp"
#include "base/url.hpp"

namespace netio::detail {

struct UnixAddress {
  sockaddr_un storage{};
  socklen_t bytes = 0;

  // shm://name is an abstract name, shm:///path a file; inproc://name a name of this process alone.
  // Throws AddressError for what does not fit.
  static UnixAddress of(const char* verb, const Url& url);
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  // Empty for abstract names.
  [[nodiscard]] std::string path() const;
};

// Non-blocking, closed on exec; of whole messages, in order.
[[nodiscard]] FileDescriptor make_unix_socket() noexcept;

// 0, or an errno.
int send_message(int socket, std::span<const std::byte> bytes,
                 std::span<const int> passed) noexcept;

// Descriptors that came with a message. They are there whether there is memory or not.
class PassedDescriptors {
 public:
  static constexpr std::size_t room = 3;

  // There must be room.
  void add(int fd) noexcept { all_.at(size_++).reset(fd); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] FileDescriptor& operator[](std::size_t at) noexcept { return all_.at(at); }
  [[nodiscard]] FileDescriptor* begin() noexcept { return all_.data(); }
  [[nodiscard]] FileDescriptor* end() noexcept { return begin() + size_; }

 private:
  std::array<FileDescriptor, room> all_;
  std::size_t size_ = 0;
};

struct UnixMessage {
  std::size_t bytes = 0;  // of the buffer used; 0: the other end has ended
  PassedDescriptors passed;
};
// Takes the next message with up to `passed_max` descriptors (PassedDescriptors::room at most).
// Returns 0 or an errno:
// - EMSGSIZE: the message was too long.
// - E2BIG: it passes more descriptors.
// - EMFILE: this process may not have as many more descriptors.
// After E2BIG and EMFILE the message is still in the socket, with all that it passes. To take it
// would close the descriptors that find no room, and that could wait.
int receive_message(int socket, std::span<std::byte> to, UnixMessage& message,
                    std::size_t passed_max) noexcept;
// Throws away the messages that a socket which is shut down still holds, up to the first one that
// passes descriptors. Returns true if there is no such message.
bool drop_messages(int socket) noexcept;

// Whether the process at the other end is of this user, or was root's when it began to listen (both
// ends ask: root and a user never share); its number in words if it is another's.
bool same_user(int socket, std::string& other) noexcept;

}  // namespace netio::detail

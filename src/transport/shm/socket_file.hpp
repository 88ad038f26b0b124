// The file that a Unix socket is bound to at a path. Processes that make and remove such files in a
// folder take turns by its lock (flock), so that of several which find one that a dead process left
// only one replaces it, and nobody removes another's. Set-up only.
#pragma once

#include <string>
#include <sys/types.h>

#include "transport/shm/unix_socket.hpp"

namespace netio::detail {

class SocketFile {
 public:
  SocketFile() noexcept = default;
  ~SocketFile() { remove(); }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  // Once. Binds the socket; an abstract name has no file. Returns 0 or an errno. EWOULDBLOCK: a
  // file was left at the path, and another process has locked the folder for longer than this
  // takes.
  int bind(int socket, const UnixAddress& address);
  // If it is still the one that bind() made; while the socket is open, since only so long its
  // number is no other file's. If another process keeps the folder locked, the file is left over.
  void remove() noexcept;
  // It is somebody else's from now on.
  void forget() noexcept { path_.clear(); }

 private:
  std::string path_;  // empty: there is none
  std::string folder_;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

}  // namespace netio::detail

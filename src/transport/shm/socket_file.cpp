// bind and unlink under the folder's lock.
#include "transport/shm/socket_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/file_descriptor.hpp"

namespace netio::detail {

namespace {

// A folder that may not be read, or a file system without locks, is not locked: then there are no
// turns.
class FolderLock {
 public:
  // Tries again each millisecond: whoever takes turns holds it for microseconds, but a process may
  // be stopped.
  FolderLock(const std::string& folder, int milliseconds_max) noexcept
      : folder_(opened([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })) {
    if (!folder_) return;
    while (flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return;
      if (milliseconds_max-- == 0) {
        taken_ = true;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // By itself: a child of fork() may have the descriptor too.
  ~FolderLock() {
    if (folder_) (void)flock(folder_.get(), LOCK_UN);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // By another.
  [[nodiscard]] bool taken() const noexcept { return taken_; }

 private:
  const FileDescriptor folder_;
  bool taken_ = false;
};

constexpr int to_begin_ms = 1000;
constexpr int to_end_ms = 100;

bool is_socket(const std::string& path, struct stat& status) noexcept {
  return lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

// A socket's file that no process has open any more. The probe is of another type, so that who
// listens there sees no connection.
bool is_left_over(const std::string& path, const UnixAddress& address) noexcept {
  struct stat status {};
  if (!is_socket(path, status)) return false;
  const FileDescriptor probe = opened([] { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
  return probe && ::connect(probe.get(), address.get(), address.bytes) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace

int SocketFile::bind(int socket, const UnixAddress& address) {
  const auto bind_it = [&] {
    return ::bind(socket, address.get(), address.bytes) == 0 ? 0 : errno;
  };
  std::string path = address.path();
  if (path.empty()) return bind_it();
  folder_ = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  const FolderLock lock(folder_, to_begin_ms);
  int error = bind_it();
  if (error == EADDRINUSE && is_left_over(path, address)) {
    if (lock.taken()) return EWOULDBLOCK;
    (void)unlink(path.c_str());
    error = bind_it();
  }
  struct stat status {};
  if (error == 0 && is_socket(path, status)) {
    path_ = std::move(path);
    device_ = status.st_dev;
    number_ = status.st_ino;
  }
  return error;
}

void SocketFile::remove() noexcept {
  if (path_.empty()) return;
  const FolderLock lock(folder_, to_end_ms);
  struct stat status {};
  if (!lock.taken() && is_socket(path_, status) && status.st_dev == device_ &&
      status.st_ino == number_) {
    (void)unlink(path_.c_str());
  }
  forget();
}

}  // namespace netio::detail

// Owns one file descriptor: closes it when destroyed. Invariant: get() is open, or -1. A child of
// fork() has none of those that are owned (descriptor_table.hpp).
#pragma once

#include <utility>

#include "base/descriptor_table.hpp"

namespace netio::detail {

class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) { note_descriptor(fd); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  // It still belongs to netio: another FileDescriptor has to close it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  // On Linux the descriptor is gone whatever close() answers, so its answer is not looked at.
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) close_descriptor(fd_);
    fd_ = fd;
    note_descriptor(fd);
  }

 private:
  int fd_ = -1;
};

// What `open` answers, which is a descriptor or -1 and errno.
template <typename Open>
[[nodiscard]] FileDescriptor opened(Open&& open) {
  const DescriptorChange change;
  return FileDescriptor(open());
}

}  // namespace netio::detail

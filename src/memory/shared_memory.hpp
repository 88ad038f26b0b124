// Memory that other processes may read and only its maker writes: a memfd, sealed. Owned by whoever
// holds the object, on any thread; gone with the last process that maps it.
#pragma once

#include <cstddef>
#include <span>

#include <netio/status.hpp>

#include "base/file_descriptor.hpp"

namespace netio::detail {

// What another process passed is not what it has to be.
class UnsoundMemory : public Error {
  using Error::Error;
};

class SharedMemory {
 public:
  SharedMemory() noexcept = default;
  // Zeros, writable here, of `bytes` rounded up to pages. Memory for the first `bytes_taken` is
  // taken now; the rest must be taken before it is touched. Throws Error.
  static SharedMemory create(const char* name, std::size_t bytes, std::size_t bytes_taken);
  // What another process made, read-only. Throws UnsoundMemory unless it is sealed against every
  // change of size and writers to come, and has from `bytes_min` to `bytes_max`; Error if it cannot
  // be mapped.
  static SharedMemory open(FileDescriptor fd, std::size_t bytes_min, std::size_t bytes_max);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  // False if the system has no memory left.
  [[nodiscard]] bool take(std::size_t offset, std::size_t bytes) noexcept;
  // To pass to another process; -1 where it was opened.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  FileDescriptor fd_;
  std::span<std::byte> bytes_;
};

}  // namespace netio::detail

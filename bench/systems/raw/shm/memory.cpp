#include "systems/raw/shm/memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "worker/descriptors.hpp"

namespace netio::bench::raw::shm {

namespace {

int make_file(std::size_t bytes) {
  const int fd = memfd_create("netio-bench", MFD_CLOEXEC);
  if (fd < 0) fail("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail("ftruncate");
  return fd;
}

std::size_t ring_bytes_of(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail("fstat");
  return static_cast<std::size_t>(status.st_size) - Memory::head_bytes;
}

}  // namespace

Memory::Memory(std::size_t ring_bytes) : Memory(make_file(head_bytes + ring_bytes), ring_bytes) {}

Memory Memory::of(int fd) { return {fd, ring_bytes_of(fd)}; }

Memory::Memory(int fd, std::size_t ring_bytes) : fd_(fd), ring_bytes_(ring_bytes) {
  void* const space =
      mmap(nullptr, mapped_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) fail("mmap");
  at_ = static_cast<std::byte*>(space);
  const auto map = [this](std::byte* at, std::size_t bytes, std::size_t from) {
    constexpr int flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd_, static_cast<off_t>(from)) ==
        MAP_FAILED) {
      fail("mmap");
    }
  };
  map(at_, head_bytes + ring_bytes_, 0);
  map(at_ + head_bytes + ring_bytes_, ring_bytes_, head_bytes);
}

Memory::Memory(Memory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      ring_bytes_(other.ring_bytes_),
      at_(std::exchange(other.at_, nullptr)) {}

Memory::~Memory() {
  if (at_ != nullptr) munmap(at_, mapped_bytes());
  if (fd_ >= 0) close(fd_);
}

}  // namespace netio::bench::raw::shm

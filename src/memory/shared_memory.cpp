// memfd_create, its seals, and mmap.
#include "memory/shared_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <netio/status.hpp>

#include "base/amount.hpp"
#include "base/system_error.hpp"
#include "memory/mapping.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U  // Linux 6.3; older C libraries do not name it
#endif

namespace netio::detail {

namespace {
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int all_seals = size_seals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// Some systems refuse what could be executed (sysctl vm.memfd_noexec); older ones do not know how
// to say that it cannot.
int make_memfd(const char* name) noexcept {
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

std::span<std::byte> map(int fd, std::size_t bytes, int protection) {
  void* const at = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    throw system_error("find address space for " + amount_text(bytes) + " of shared memory", errno,
                       "raise its limit (ulimit -v), or lower ContextOptions::large_bytes_max at "
                       "the end that shares it");
  }
  return {static_cast<std::byte*>(at), bytes};
}

[[noreturn]] void refuse(const std::string& what) {
  throw UnsoundMemory("open shared memory", what);
}

// The limit on the size of files counts; who passes it is sent a signal that ends the process.
void refuse_over_file_limit(std::size_t bytes) {
  rlimit files{};
  if (getrlimit(RLIMIT_FSIZE, &files) != 0 || bytes <= files.rlim_cur) return;
  throw system_error("make " + amount_text(bytes) + " of shared memory", EFBIG,
                     "raise the limit on the size of files (ulimit -f)");
}

}  // namespace

SharedMemory SharedMemory::create(const char* name, std::size_t bytes, std::size_t bytes_taken) {
  SharedMemory made;
  bytes = (bytes + small_page_bytes - 1) / small_page_bytes * small_page_bytes;
  refuse_over_file_limit(bytes);
  made.fd_ =
      opened([name] { return checked(make_memfd(name), "make shared memory (memfd_create)"); });
  const int fd = made.fd_.get();
  (void)checked(ftruncate(fd, static_cast<off_t>(bytes)), "size shared memory");
  if (!made.take(0, bytes_taken)) {
    throw system_error("take " + amount_text(bytes_taken) + " of shared memory", errno,
                       "free some memory, or lower ContextOptions::send_pool_bytes");
  }
  made.bytes_ = map(fd, bytes, PROT_READ | PROT_WRITE);
  (void)checked(fcntl(fd, F_ADD_SEALS, all_seals), "seal shared memory (Linux 5.1 or newer)");
  return made;
}

SharedMemory SharedMemory::open(FileDescriptor fd, std::size_t bytes_min, std::size_t bytes_max) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0) refuse("what was passed is no shared memory: " + errno_text(errno));
  if ((seals & size_seals) != size_seals || (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0) {
    refuse("it is not sealed: its size could change under its reader");
  }
  struct stat status {};
  (void)checked(fstat(fd.get(), &status), "ask for the size of shared memory");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (status.st_size < 0 || bytes < bytes_min || bytes > bytes_max) {
    refuse("it has " + std::to_string(status.st_size) + " bytes");
  }
  SharedMemory opened;
  if ((fcntl(fd.get(), F_GETFL) & O_ACCMODE) == O_WRONLY) refuse("it cannot be read");
  opened.bytes_ = map(fd.get(), bytes, PROT_READ);
  return opened;
}

// In steps: on older systems a signal ends the call and undoes what it took, and where signals come
// often a long one would never end.
bool SharedMemory::take(std::size_t offset, std::size_t bytes) noexcept {
  while (bytes != 0) {
    const std::size_t step = std::min(bytes, huge_page_bytes);
    const int error =
        posix_fallocate(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(step));
    if (error == EINTR) continue;
    if (error != 0) {
      errno = error;
      return false;
    }
    offset += step;
    bytes -= step;
  }
  return true;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace netio::detail

// Memory that two ends map: a head, and a ring that is mapped twice, so that what begins in it
// never has to be cut at its end.
#pragma once

#include <cstddef>

namespace netio::bench::raw::shm {

class Memory {
 public:
  static constexpr std::size_t head_bytes = 4096;

  // New, zeroed. `ring_bytes` is a power of two, and whole pages. These throw std::system_error.
  explicit Memory(std::size_t ring_bytes);
  // The other end's, by the descriptor that it passed on, which is taken.
  static Memory of(int fd);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] std::byte* head() const noexcept { return at_; }
  [[nodiscard]] std::byte* ring() const noexcept { return at_ + head_bytes; }
  [[nodiscard]] std::size_t ring_bytes() const noexcept { return ring_bytes_; }

 private:
  Memory(int fd, std::size_t ring_bytes);
  [[nodiscard]] std::size_t mapped_bytes() const noexcept { return head_bytes + 2 * ring_bytes_; }

  int fd_;
  std::size_t ring_bytes_;
  std::byte* at_ = nullptr;
};

}  // namespace netio::bench::raw::shm

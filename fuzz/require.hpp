// What every fuzz target needs: an invariant that holds in every build, and input whose end the
// address sanitizer guards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

inline void require(bool holds) {
  if (!holds) std::abort();
}

// In memory exactly as long as it is, aligned as a page from the wire is.
class ExactCopy {
 public:
  ExactCopy(const std::uint8_t* data, std::size_t size)
      : bytes_(static_cast<std::byte*>(std::malloc(size)), size) {
    if (size != 0) std::memcpy(bytes_.data(), data, size);
  }
  ~ExactCopy() { std::free(bytes_.data()); }
  ExactCopy(const ExactCopy&) = delete;
  ExactCopy& operator=(const ExactCopy&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// Messages of many MiB are made and checked: optimised, where the tests are not.
#include "support/payload.hpp"

namespace netio::test {

void fill_payload(std::span<std::byte> to, std::uint64_t number) noexcept {
  for (std::size_t at = 0; at < to.size(); at += 8) {
    const std::uint64_t word = payload_word(number, at);
    std::memcpy(to.data() + at, &word, std::min<std::size_t>(8, to.size() - at));
  }
}

bool is_payload(std::span<const std::byte> bytes, std::uint64_t number) noexcept {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = payload_word(number, at);
    if (std::memcmp(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace netio::test

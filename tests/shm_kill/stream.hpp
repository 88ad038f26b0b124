// Streams of numbered messages of every size; whoever gets one can check each byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <netio/netio.hpp>

#include "shm_kill/scoreboard.hpp"
#include "support/payload.hpp"

namespace netio::test {

inline constexpr std::size_t page_bytes = 64U << 10U;
// What surely leaves with the send() that answers ok, if the socket is unbuffered.
inline constexpr std::size_t posted_at_once_max = page_bytes / 2;

// The message's name: who sends it, and its place in that stream.
[[nodiscard]] constexpr std::uint64_t number_for(std::uint64_t sender, std::uint64_t n) noexcept {
  return sender << 32U | n;
}

// Short enough for a slot of the ring; copied; mapped; in parts.
[[nodiscard]] constexpr std::size_t size_of(std::uint64_t number) noexcept {
  const std::uint64_t random = mix(number ^ 0x5157U);
  const std::uint64_t kind = random % 100;
  const std::uint64_t rest = random / 100;
  if (kind < 55) return 8 + rest % 65;
  if (kind < 75) return 8 + rest % 8000;
  if (kind < 95) return 8000 + rest % 52'000;
  return page_bytes + rest % 300'000;
}

[[nodiscard]] inline bool is_whole(std::span<const std::byte> bytes, std::uint64_t number) {
  return bytes.size() == size_of(number) && is_payload(bytes, number);
}

inline void check_message(std::string_view who, std::span<const std::byte> bytes,
                          std::uint64_t number) {
  if (is_whole(bytes, number)) return;
  fail(who, "message " + std::to_string(number) + " was expected and " +
                std::to_string(number_of(bytes)) + " came, " + std::to_string(bytes.size()) +
                " bytes, or it is damaged");
}

// Kept messages, the oldest let go of first; each is still what it was then.
class KeptMessages {
 public:
  explicit KeptMessages(std::string who) : who_(std::move(who)) {}

  void keep(const MessageView& view, std::uint64_t number, std::size_t most) {
    while (kept_.size() >= most) drop();
    kept_.push_back({view.keep(), number});
  }
  void drop_all() {
    while (!kept_.empty()) drop();
  }

 private:
  struct Kept {
    Message message;
    std::uint64_t number;
  };
  void drop() {
    check_message(who_ + ", of a kept one", kept_.front().message.bytes(), kept_.front().number);
    kept_.pop_front();
  }

  std::string who_;
  std::deque<Kept> kept_;
};

}  // namespace netio::test

// What the processes of the kill test tell one another: numbers in memory that all of them share,
// each written by one process. What a killed one wrote last is there to be compared.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace netio::test {

inline constexpr std::size_t slots = 5;  // one victim lives in each
// In the last one victims publish; in the others messages go to one peer.
inline constexpr std::size_t publishing_slot = slots - 1;

// Two kinds of slot: the survivor has bound and its victims connect; or the other way round.
[[nodiscard]] constexpr bool victims_bind(std::size_t slot) noexcept {
  return slot >= publishing_slot / 2;
}

// Addresses of a slot: of odd slots files, of even ones abstract names.
struct Places {
  std::string token;   // in each name, and nobody else's
  std::string folder;  // for files
  [[nodiscard]] std::string of(std::size_t slot, std::string_view what) const {
    const std::string name = "slot" + std::to_string(slot) + "-" + std::string(what);
    return slot % 2 == 0 ? "shm://" + token + "-" + name : "shm://" + folder + "/" + name;
  }
  [[nodiscard]] std::string of_bystander() const { return "shm://" + token + "-bystander"; }
};

using Number = std::atomic<std::uint64_t>;
static_assert(Number::is_always_lock_free);

// The victim's, but for the first and the last. Reset when nobody lives in the slot.
struct Slot {
  Number victim{0};         // who lives here: counted from 1
  Number about_to_meet{0};  // it is about to connect or to bind
  Number offered{0};        // messages that it sent, or was about to when it was killed
  Number posted{0};         // those of them that must be in shared memory
  Number acknowledged{0};   // of them, as it heard
  Number delivered{0};      // messages that it got
  Number connected{0};      // the survivor's: how many connections with it are up
};

// What the survivor has more of than before the first victim.
struct Leaks {
  std::atomic<std::int64_t> descriptors{0};
  std::atomic<std::int64_t> pages{0};
  std::atomic<std::int64_t> mappings{0};
  std::atomic<std::int64_t> resident_kib{0};  // all there is
};

enum class Command : std::uint8_t { go_on, check, end };

struct Scoreboard {
  std::array<Slot, slots> slot;
  // The driver says what is wanted, counts `asked` up and wakes the survivor, which sets `seen`
  // once it has handled all that had happened by then.
  std::atomic<Command> command{Command::go_on};
  Number asked{0};
  Number seen{0};
  Leaks leaks;
  Number connections{0};   // that came up with victims
  Number from_victims{0};  // messages, each byte checked
  Number to_victims{0};
  Number to_subscribers{0};  // published messages, once for each that got them
  Number loans{0};
  Number bystander_trips{0};
  Number bystander_waited_ns{0};  // at most, for one
  std::atomic<bool> bystander_rests{false};
  std::atomic<bool> bystander_ends{false};
};

[[nodiscard]] inline std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Says who found what wrong, and ends the process with status 1.
[[noreturn]] void fail(std::string_view who, const std::string& what) noexcept;

}  // namespace netio::test

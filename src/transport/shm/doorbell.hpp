// Wakes the side that sleeps. Each side writes first and looks second: the writer writes a page,
// then looks whether the other side sleeps; the sleeper writes that it sleeps, then looks for
// pages. With a full fence between the two steps, either the sleeper sees the page or it is rung
// for. Owner thread only.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/socket.h>
#include <utility>

#include "transport/shm/board.hpp"

namespace netio::detail {

// The words and the bell of a link. A test puts others in their place (doorbell_test.cpp).
struct ShmBell {
  ShmBoard& ours;
  const ShmBoard& theirs;
  int socket;  // of the greeting

  [[nodiscard]] std::uint32_t their_sleep() const noexcept {
    return theirs.sleep.load(std::memory_order_relaxed);
  }
  void say(std::uint32_t sleep) noexcept { ours.sleep.store(sleep, std::memory_order_relaxed); }
  static void fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  // Never blocks: this end of the connection is ours alone, and MSG_DONTWAIT is for this call. If
  // the socket is full, the peer has rings to read, and one is enough. Returns false if the system
  // has no memory for a ring.
  [[nodiscard]] bool ring() noexcept {
    const std::byte one{};
    return ::send(socket, &one, sizeof one, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
           (errno != ENOBUFS && errno != ENOMEM);
  }
};

template <class Bell>
class ShmDoorbell {
 public:
  explicit ShmDoorbell(Bell bell) noexcept : bell_(std::move(bell)) {}

  // Something was written for the other side that it was not rung for yet: pages, or no more than
  // room for its own.
  void pages_written() noexcept { pages_unrung_ = true; }
  void room_made() noexcept { room_unrung_ = true; }

  // Wakes the other side if it sleeps and wants what was written: once each time that it sleeps.
  void ring() noexcept {
    if (!pages_unrung_ && !room_unrung_) return;
    bell_.fence();
    const std::uint32_t sleep = bell_.their_sleep();
    const bool wanted = pages_unrung_ || (sleep & ShmBoard::wants_room) != 0;
    if ((sleep & ShmBoard::asleep) != 0 && wanted && sleep != last_rung_) {
      if (!bell_.ring()) return;
      last_rung_ = sleep;
    }
    pages_unrung_ = room_unrung_ = false;
  }
  // The last ring() rang in vain, because the system had no memory: this side must not sleep before
  // it has rung.
  [[nodiscard]] bool owes_ring() const noexcept { return pages_unrung_ || room_unrung_; }

  // This side is asleep, or was until wake_up(): its board still says so.
  [[nodiscard]] bool asleep() const noexcept { return (sleep_ & ShmBoard::asleep) != 0; }

  // This side will sleep unless the look for what is new that has to follow finds something.
  void fall_asleep(bool wants_room) noexcept {
    ring();
    sleep_ |= ShmBoard::asleep | (wants_room ? ShmBoard::wants_room : 0);
    bell_.say(sleep_);
    bell_.fence();
  }

  // Before the first look of each turn.
  void wake_up() noexcept {
    if (!asleep()) return;
    sleep_ = (sleep_ + ShmBoard::next_sleep) & ~(ShmBoard::next_sleep - 1);
    bell_.say(sleep_);
  }

 private:
  Bell bell_;
  std::uint32_t sleep_ = 0;      // what our board says
  std::uint32_t last_rung_ = 0;  // what the other's said when we rang
  bool pages_unrung_ = false;
  bool room_unrung_ = false;
};

}  // namespace netio::detail

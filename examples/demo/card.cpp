// The hardware that the demo's machine lacks, and its interrupt: an eventfd.
#include "card.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

#include "cpu_time.hpp"

namespace demo {

namespace {

// 16 MiB hold about 70 ms of fragments at 1 MHz: longer than "busy" takes to come round.
constexpr std::size_t ring_bytes = std::size_t{16} << 20U;
// How often the card looks at what is due: 6,700 interrupts a second instead of a million.
constexpr std::int64_t period_ns = 150'000;
// A thread that did not get the processor for longer does not make up for all of it in one go.
constexpr std::int64_t catch_up_ns_max = 20'000'000;
// In front of the end of the ring where no whole fragment fits.
constexpr std::uint32_t skip_mark = 0;

std::int64_t steady_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void sleep_until(std::int64_t when_ns) {
  const timespec when{when_ns / 1'000'000'000, when_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

}  // namespace

Card::Card(double fragments_per_second)
    : fragments_per_ns_(fragments_per_second / 1e9),
      interrupt_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ring_(ring_bytes),
      room_end_(ring_bytes) {
  if (interrupt_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Card::~Card() {
  stop();
  close(interrupt_fd_);
}

void Card::start() {
  thread_ = std::thread([this] { run(); });
}

void Card::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  raise_interrupt();  // so that the read-out learns that no more will come
}

void Card::run() {
  std::int64_t last_ns = steady_ns();
  double due = 0;
  while (!stopping_) {
    sleep_until(last_ns + period_ns);
    const std::int64_t now_ns = steady_ns();
    const std::int64_t passed_ns = now_ns - last_ns;
    last_ns = now_ns;
    if (held_.load(std::memory_order_relaxed)) {
      held_ns_ += passed_ns;
      continue;
    }
    due += static_cast<double>(std::min(passed_ns, catch_up_ns_max)) * fragments_per_ns_;
    const auto whole = static_cast<std::uint64_t>(due);
    due -= static_cast<double>(whole);
    if (whole != 0) fill_ring(whole);
  }
  cpu_seconds_ = cpu_seconds_of(RUSAGE_THREAD);
}

// One publication and one interrupt for all that was due.
void Card::fill_ring(std::uint64_t fragments) noexcept {
  std::uint64_t made = 0;
  for (std::uint64_t i = 0; i < fragments; ++i) {
    const std::uint64_t dice = random();
    // 64 to 312 bytes, one in 16 up to 1 KiB, one in 1024 the largest: 220 on average.
    std::size_t bytes = 64 + ((dice >> 8U) & 31U) * 8;
    if (((dice >> 16U) & 15U) == 0) bytes = 64 + ((dice >> 24U) & 127U) * 8;
    if (((dice >> 32U) & 1023U) == 0) bytes = fragment_bytes_max;
    if (put(static_cast<std::uint32_t>(dice % link_count), bytes)) ++made;
  }
  overruns_ += fragments - made;
  made_ += made;
  head_.store(next_, std::memory_order_release);
  raise_interrupt();
}

// False if the ring is full: the fragment is lost, and takes no sequence.
bool Card::put(std::uint32_t link, std::size_t bytes) noexcept {
  const std::size_t place = next_ % ring_bytes;
  const std::size_t skipped = place + bytes > ring_bytes ? ring_bytes - place : 0;
  if (next_ + skipped + bytes > room_end_) {
    room_end_ = tail_.load(std::memory_order_acquire) + ring_bytes;
    if (next_ + skipped + bytes > room_end_) return false;
  }
  if (skipped != 0) {
    std::memcpy(ring_.data() + place, &skip_mark, sizeof skip_mark);
    next_ += skipped;
  }
  std::uint64_t& sequence = made_by_link_[link];
  write_fragment({ring_.data() + next_ % ring_bytes, bytes}, link, sequence);
  ++sequence;
  next_ += bytes;
  return true;
}

void Card::raise_interrupt() const noexcept {
  const std::uint64_t one = 1;
  // It cannot fail but for a counter near 2^64.
  (void)!write(interrupt_fd_, &one, sizeof one);
}

void Card::clear_interrupt() const noexcept {
  std::uint64_t count = 0;
  (void)!read(interrupt_fd_, &count, sizeof count);
}

std::span<const std::byte> Card::front() noexcept {
  for (;;) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return {};
    const std::size_t place = tail % ring_bytes;
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, ring_.data() + place, sizeof bytes);
    if (bytes != skip_mark) return {ring_.data() + place, bytes};
    tail_.store(tail + (ring_bytes - place), std::memory_order_release);
  }
}

void Card::pop() noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, ring_.data() + tail % ring_bytes, sizeof bytes);
  tail_.store(tail + bytes, std::memory_order_release);
}

double Card::fill() const noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::uint64_t used = head_.load(std::memory_order_relaxed) - tail;
  return static_cast<double>(used) / static_cast<double>(ring_bytes);
}

std::uint64_t Card::random() noexcept {
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 7U;
  random_ ^= random_ << 17U;
  return random_;
}

}  // namespace demo

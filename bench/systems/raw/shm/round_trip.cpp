// Requests and replies in slots: a message and the number that says it is there. Both ends spin on
// the number, or ring the other's bell.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "systems/raw/shm/meeting.hpp"
#include "systems/raw/shm/shm.hpp"

namespace netio::bench::raw::shm {

namespace {

constexpr std::size_t lines_bytes = 128;  // processors fetch lines in pairs

std::size_t slots_of(const Options& options) noexcept {
  return options.rate > 0 ? std::bit_ceil(Worker::requests_under_way_max + 1) : 1;
}
std::size_t slot_bytes(const Options& options) noexcept {
  return (sizeof(std::uint64_t) + options.message_bytes + lines_bytes - 1) / lines_bytes *
         lines_bytes;
}
// Both ways.
std::size_t all_bytes(const Options& options) noexcept {
  return std::bit_ceil(std::max<std::size_t>(2 * slots_of(options) * slot_bytes(options), 4096));
}

// The slots of one way. Never full: as many as there may be requests under way.
class Slots {
 public:
  Slots(std::byte* at, const Options& options) noexcept
      : at_(at),
        mask_(slots_of(options) - 1),
        slot_bytes_(slot_bytes(options)),
        message_bytes_(options.message_bytes) {}

  void write(std::span<const std::byte> message) noexcept {
    std::byte* const slot = here();
    std::memcpy(slot + sizeof(std::uint64_t), message.data(), message.size());
    number_in(slot).store(++number_, std::memory_order_release);
  }
  [[nodiscard]] bool waiting() const noexcept {
    return number_in(here()).load(std::memory_order_acquire) == number_ + 1;
  }
  // It stays as it is until the other end writes the next.
  [[nodiscard]] std::span<const std::byte> take() noexcept {
    const std::byte* const slot = here();
    ++number_;
    return {slot + sizeof(std::uint64_t), message_bytes_};
  }

 private:
  [[nodiscard]] std::byte* here() const noexcept { return at_ + (number_ & mask_) * slot_bytes_; }
  static std::atomic<std::uint64_t>& number_in(std::byte* slot) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(slot);
  }

  std::byte* at_;
  std::uint64_t mask_;
  std::size_t slot_bytes_;
  std::size_t message_bytes_;
  std::uint64_t number_ = 0;
};

// One end of both ways.
class Line {
 public:
  Line(Peer peer, const Options& options, bool asks)
      : peer_(std::move(peer)),
        sleeps_(options.wait == Wait::sleep),
        out_(way(options, asks ? 0 : 1), options),
        in_(way(options, asks ? 1 : 0), options) {}

  void send(std::span<const std::byte> message) noexcept {
    out_.write(message);
    if (sleeps_) peer_.bell.ring();
  }
  template <typename Take>
  void read(Take&& take) noexcept {
    while (in_.waiting()) take(in_.take());
  }
  [[nodiscard]] bool waiting() const noexcept { return in_.waiting(); }

 private:
  std::byte* way(const Options& options, std::size_t number) const noexcept {
    return peer_.memory.ring() + number * slots_of(options) * slot_bytes(options);
  }

  Peer peer_;
  bool sleeps_;
  Slots out_;
  Slots in_;
};

}  // namespace

void reply(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const Listener listener(options.name);
  worker.ready();
  Bed bed(stop);
  std::vector<Peer> peers = listener.accept(1, bed.bell(), stop);
  if (!peers.empty()) {
    Line line(std::move(peers.front()), options, false);
    while (!worker.stopping()) {
      if (options.wait == Wait::sleep) bed.sleep();
      line.read([&](std::span<const std::byte> message) {
        worker.tally.take(message);
        line.send(message);
      });
    }
  }
  worker.join();
}

void request(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  Bed bed(stop);
  Line line(connect_to(options.name, all_bytes(options), bed.bell()), options, true);
  const TimerDescriptor timer;
  bed.epoll().add(timer.fd(), EPOLLIN, 2);
  worker.ready();
  Stamp stamp(0, options.verify);
  std::vector<std::byte> message(options.message_bytes);
  const Pace pace(options.rate);
  std::uint64_t sent = 0;
  std::uint64_t returned = 0;
  std::int64_t sent_at = 0;
  const auto send_one = [&] {
    stamp.write(message);
    stamp.advance();
    ++sent;
    line.send(message);
  };
  const auto take = [&](std::span<const std::byte> back) {
    const std::int64_t now = now_ns();
    worker.tally.take(back);
    worker.round_trip(now - (pace.open_loop() ? pace.at(returned) : sent_at));
    ++returned;
  };
  while (!worker.stopping()) {
    if (pace.open_loop()) {
      while (pace.at(sent) <= now_ns() && sent - returned < Worker::requests_under_way_max) {
        send_one();
      }
      if (options.wait == Wait::sleep) timer.set(pace.at(sent));
    } else if (sent == returned) {
      sent_at = now_ns();
      send_one();
    }
    if (options.wait == Wait::sleep) bed.sleep();
    line.read(take);
  }
  worker.join();
}

}  // namespace netio::bench::raw::shm

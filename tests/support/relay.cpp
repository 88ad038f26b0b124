#include "support/relay.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/page_walker.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {

namespace {

using Clock = std::chrono::steady_clock;

// Inside the relay, per direction: enough not to slow it, little enough to show back-pressure.
constexpr std::size_t queued_bytes_max = 256U << 10U;

int check(int answer, const char* what) {
  if (answer < 0) throw std::system_error(errno, std::generic_category(), what);
  return answer;
}

void close_by(int fd, Relay::End end) {
  if (end == Relay::End::reset) {
    const linger now{1, 0};
    (void)::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  ::close(fd);
}

}  // namespace

struct Relay::Direction {
  struct Chunk {
    Bytes bytes;
    std::size_t done = 0;
    Clock::time_point due;
  };

  int from = -1;
  int to = -1;
  std::deque<Chunk> queue;
  std::size_t queued_bytes = 0;
  PageWalker walker;
  bool end_seen = false;
  bool end_passed_on = false;
  bool broken = false;
};

struct Relay::Connection {
  Connection(int client, int target) {
    out.from = back.to = client;
    out.to = back.from = target;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    close_by(out.from, end);
    if (out.to >= 0) close_by(out.to, end);
  }
  [[nodiscard]] bool over() const {
    return out.broken || back.broken || (out.end_passed_on && back.end_passed_on);
  }

  Direction out;   // client to target
  Direction back;  // target to client
  End end = End::fin;
};

Relay::Relay(std::string_view target) : target_(endpoint_of(target)) {
  listener_ = check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
  sockaddr_in address = endpoint_of("tcp://127.0.0.1:0");
  socklen_t size = sizeof address;
  check(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), "bind");
  check(::listen(listener_, 64), "listen");
  check(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  port_ = ntohs(address.sin_port);
  wake_ = check(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
  connections_open_.clear();
  for (const int fd : stranded_) ::close(fd);
  ::close(wake_);
  ::close(listener_);
}

std::string Relay::address() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

void Relay::cut(End end) {
  const std::lock_guard lock(mutex_);
  cut_all(end);
  wake();
}

void Relay::strand() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_open_) {
    stranded_.push_back(std::exchange(connection.out.to, -1));
    connection.end = End::reset;
  }
  connections_open_.clear();
  ++cuts_;
  wake();
}

void Relay::cut_after(std::uint64_t bytes, End end) {
  {
    const std::lock_guard lock(mutex_);
    cut_by_ = end;
  }
  arm(Fault::cut, bytes);
}
void Relay::cut_no_more() { arm(Fault::none, 0); }
void Relay::lose_byte_after(std::uint64_t bytes) { arm(Fault::lose, bytes); }
void Relay::damage_byte_after(std::uint64_t bytes) { arm(Fault::damage, bytes); }

void Relay::hold(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
  wake();
}

void Relay::forbid(bool forbidden) {
  const std::lock_guard lock(mutex_);
  forbidden_ = forbidden;
  if (forbidden) cut_all(End::reset);
  wake();
}

void Relay::set_delay(std::chrono::milliseconds delay) {
  const std::lock_guard lock(mutex_);
  delay_ = delay;
  wake();
}

bool Relay::fault_pending() {
  const std::lock_guard lock(mutex_);
  return fault_ != Fault::none;
}

bool Relay::empty() {
  const std::lock_guard lock(mutex_);
  return connections_open_.empty();
}

std::uint64_t Relay::bytes_to_target() {
  const std::lock_guard lock(mutex_);
  return bytes_to_target_;
}

std::uint64_t Relay::bytes_from_target() {
  const std::lock_guard lock(mutex_);
  return bytes_from_target_;
}

void Relay::arm(Fault fault, std::uint64_t after) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  fault_after_ = after;
  wake();
}

void Relay::cut_all(End end) {
  if (!connections_open_.empty()) ++cuts_;
  for (Connection& connection : connections_open_) connection.end = end;
  connections_open_.clear();
}

void Relay::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void Relay::run() {
  std::vector<pollfd> waits;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    waits.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
    int timeout_ms = -1;
    for (const Connection& connection : connections_open_) {
      for (const Direction* direction : {&connection.out, &connection.back}) {
        if (held_) continue;
        if (!direction->end_seen && direction->queued_bytes < queued_bytes_max) {
          waits.push_back({direction->from, POLLIN, 0});
        }
        if (direction->queue.empty()) continue;
        const auto wait = direction->queue.front().due - Clock::now();
        if (wait <= Clock::duration::zero()) {
          waits.push_back({direction->to, POLLOUT, 0});
        } else {
          const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
          timeout_ms =
              timeout_ms < 0 ? static_cast<int>(ms) : std::min(timeout_ms, static_cast<int>(ms));
        }
      }
    }
    lock.unlock();
    (void)::poll(waits.data(), waits.size(), timeout_ms);
    lock.lock();
    std::uint64_t ignored = 0;
    (void)!::read(wake_, &ignored, sizeof ignored);
    accept();
    if (held_) continue;
    const std::uint64_t cuts_before = cuts_;
    for (auto at = connections_open_.begin(); at != connections_open_.end();) {
      carry(*at);
      if (cuts_ != cuts_before) break;  // the list was emptied underneath
      at = at->over() ? connections_open_.erase(at) : std::next(at);
    }
  }
}

void Relay::accept() {
  for (;;) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    if (forbidden_) {
      close_by(client, End::reset);
      continue;
    }
    const int target = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::connect(target, reinterpret_cast<const sockaddr*>(&target_), sizeof target_) < 0 &&
        errno != EINPROGRESS) {
      close_by(client, End::reset);
      ::close(target);
      continue;
    }
    const int on = 1;
    (void)::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(target, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_open_.emplace_back(client, target);
    ++connections_;
  }
}

void Relay::carry(Connection& connection) {
  for (Direction* direction : {&connection.out, &connection.back}) {
    const bool to_target = direction == &connection.out;
    // A fast sender must not keep the lock for ever.
    for (int rounds = 0; rounds < 16 && fill(*direction); ++rounds) {
      if (drain(*direction, to_target)) return;
    }
    if (drain(*direction, to_target)) return;
    if (direction->broken) connection.end = End::reset;
  }
}

// True if it may be worth trying again at once.
bool Relay::fill(Direction& direction) {
  if (direction.end_seen || direction.broken || direction.queued_bytes >= queued_bytes_max) {
    return false;
  }
  Direction::Chunk chunk;
  chunk.bytes.resize(64U << 10U);
  const ssize_t got = ::recv(direction.from, chunk.bytes.data(), chunk.bytes.size(), 0);
  if (got < 0) {
    direction.broken = errno != EAGAIN && errno != EINTR;
    return false;
  }
  if (got == 0) {
    direction.end_seen = true;
    return false;
  }
  chunk.bytes.resize(static_cast<std::size_t>(got));
  chunk.due = Clock::now() + delay_;
  direction.queued_bytes += chunk.bytes.size();
  direction.queue.push_back(std::move(chunk));
  return true;
}

// True if that cut all connections: `direction` is gone.
bool Relay::drain(Direction& direction, bool to_target) {
  while (!direction.queue.empty() && !direction.broken) {
    Direction::Chunk& chunk = direction.queue.front();
    if (chunk.due > Clock::now()) return false;
    std::size_t bytes = chunk.bytes.size() - chunk.done;
    if (to_target && fault_ != Fault::none && apply_fault(direction, bytes)) return true;
    const ssize_t sent =
        bytes == 0 ? 0 : ::send(direction.to, chunk.bytes.data() + chunk.done, bytes, MSG_NOSIGNAL);
    if (sent < 0) {
      direction.broken = errno != EAGAIN && errno != EINTR;
      return false;
    }
    const auto moved = static_cast<std::size_t>(sent);
    if (to_target) direction.walker.take(std::span(chunk.bytes).subspan(chunk.done, moved));
    chunk.done += moved;
    direction.queued_bytes -= moved;
    (to_target ? bytes_to_target_ : bytes_from_target_) += moved;
    if (to_target && fault_ != Fault::none) fault_after_ -= moved;
    if (chunk.done == chunk.bytes.size()) direction.queue.pop_front();
  }
  if (direction.end_seen && !direction.end_passed_on && direction.queue.empty()) {
    direction.end_passed_on = true;
    (void)::shutdown(direction.to, SHUT_WR);
  }
  return false;
}

bool Relay::apply_fault(Direction& direction, std::size_t& bytes) {
  Direction::Chunk& chunk = direction.queue.front();
  if (fault_after_ > 0) {
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, fault_after_));
    return false;
  }
  switch (std::exchange(fault_, Fault::none)) {
    case Fault::cut:
      if (direction.walker.inside_a_page()) ++cuts_inside_a_page_;
      cut_all(cut_by_);
      return true;
    case Fault::lose:
      ++chunk.done;
      --direction.queued_bytes;
      --bytes;
      break;
    case Fault::damage:
      chunk.bytes[chunk.done] ^= std::byte{0xff};
      break;
    case Fault::none:
      break;
  }
  return false;
}

}  // namespace netio::test

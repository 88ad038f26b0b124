// connect() in parallel, a quarter of a second apart.
#include "transport/tcp/address_race.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utility>

#include <netio/status.hpp>

#include "base/out_of_memory.hpp"

namespace netio::detail {

namespace {

// The system may give a connection to a free port of its own range just that port: then it meets
// itself. Such a connection must leave no trace, because the program that listens there would not
// get its port for as long as the trace stays.
bool meets_itself(int fd) {
  const InternetAddress remote = remote_address(fd);
  if (remote.bytes == 0 || to_string(local_address(fd)) != to_string(remote)) return false;
  const linger reset{.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  return true;
}

// The families take turns, so that one of them which leads nowhere holds up the other once only.
std::vector<InternetAddress> alternating(std::vector<InternetAddress> addresses) {
  for (auto at = addresses.begin(); at != addresses.end(); ++at) {
    const auto other = std::find_if(at + 1, addresses.end(), [&](const InternetAddress& each) {
      return each.family() != at->family();
    });
    if (other == addresses.end()) break;
    std::rotate(at + 1, other, other + 1);
  }
  return addresses;
}

}  // namespace

AddressRace::AddressRace(Loop& loop, std::vector<InternetAddress> addresses,
                         std::chrono::nanoseconds within, std::function<void(Outcome)> on_outcome)
    : loop_(loop),
      left_(alternating(std::move(addresses))),
      within_(within),
      on_outcome_(std::move(on_outcome)),
      next_timer_(loop, [this] { guarded([this] { try_next(); }); }),
      late_timer_(loop, [this] { guarded([this] { on_late(); }); }) {
  std::reverse(left_.begin(), left_.end());
}

template <typename Event>
void AddressRace::guarded(Event&& event) noexcept {
  guard_memory(event, [this]() noexcept {
    Outcome none;
    none.error = ENOMEM;
    end(std::move(none));
  });
}

void AddressRace::start() noexcept {
  guarded([this] { try_next(); });
}

// Those that are under way go on.
void AddressRace::try_next() {
  next_timer_.stop();
  while (!left_.empty()) {
    const InternetAddress address = left_.back();
    left_.pop_back();
    error_ = begin(address);
    if (error_ != 0) continue;
    late_timer_.start_once(within_);
    if (!left_.empty()) next_timer_.start_once(next_after);
    return;
  }
  if (!attempts_.empty()) return;
  Outcome none;
  none.error = error_;
  end(std::move(none));
}

// 0, or an errno.
int AddressRace::begin(const InternetAddress& address) {
  auto attempt = std::make_unique<Attempt>();
  attempt->address = address;
  attempt->socket = opened([&address] {
    return socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  });
  const int fd = attempt->socket.get();
  if (fd < 0) return errno;
  // The port that the system gives this connection stays free for a program that listens.
  const int on = 1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::connect(fd, address.get(), address.bytes) != 0 && errno != EINPROGRESS) return errno;
  if (meets_itself(fd)) return ECONNREFUSED;
  attempts_.reserve(attempts_.size() + 1);
  try {
    attempt->watch = std::make_unique<Watch>(
        loop_, fd, EPOLLOUT,
        [this, of = attempt.get()](std::uint32_t) { guarded([&] { look_at(*of); }); });
  } catch (const Error&) {
    return ENOBUFS;
  }
  attempts_.push_back(std::move(attempt));
  return 0;
}

// The system has an answer.
void AddressRace::look_at(Attempt& attempt) {
  int error = 0;
  socklen_t bytes = sizeof error;
  const int fd = attempt.socket.get();
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  if (error == 0 && meets_itself(fd)) error = ECONNREFUSED;
  if (error == 0) {
    return end({.connection = std::move(attempt.socket), .address = attempt.address, .error = 0});
  }
  std::erase_if(attempts_, [&](const auto& each) { return each.get() == &attempt; });
  error_ = error;
  if (!left_.empty() || attempts_.empty()) try_next();
}

// It may be this thread that is late: a connection that waits in the kernel came in time.
void AddressRace::on_late() {
  for (const auto& each : attempts_) {
    pollfd socket{each->socket.get(), POLLOUT, 0};
    if (::poll(&socket, 1, 0) == 1) {
      late_timer_.start_once(within_);
      return look_at(*each);
    }
  }
  if (!left_.empty()) return try_next();
  end({});
}

void AddressRace::end(Outcome outcome) {
  attempts_.clear();
  left_.clear();
  next_timer_.stop();
  late_timer_.stop();
  if (const auto call = std::exchange(on_outcome_, nullptr)) call(std::move(outcome));
}

}  // namespace netio::detail

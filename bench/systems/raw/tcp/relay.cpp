// Passes on what comes from one connection through another: read() into a buffer, write() of it.
// What messages there are in it, it does not look at.
#include <cerrno>
#include <unistd.h>
#include <utility>

#include "systems/raw/tcp/page_aligned.hpp"
#include "systems/raw/tcp/sockets.hpp"
#include "systems/raw/tcp/tcp.hpp"

namespace netio::bench::raw::tcp {

namespace {

class Relay {
 public:
  Relay(int from, int to) : from_(from), to_(to) {}

  // False at the end of the input.
  bool read() {
    const ssize_t got = ::read(from_, buffer_.data(), buffer_.size());
    if (got == 0) return false;
    if (got < 0 && errno != EAGAIN && errno != EINTR) fail("read");
    done_ = 0;
    have_ = got < 0 ? 0 : static_cast<std::size_t>(got);
    return true;
  }
  // False if the kernel takes no more, and something is left.
  bool write() {
    if (done_ == have_) return true;
    const ssize_t took = ::write(to_, buffer_.data() + done_, have_ - done_);
    if (took < 0 && errno != EAGAIN && errno != EINTR) fail("write");
    if (took > 0) done_ += static_cast<std::size_t>(took);
    return done_ == have_;
  }

 private:
  int from_;
  int to_;
  PageAligned buffer_{relay_bytes};
  std::size_t have_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

void relay(Worker& worker) {
  const Options& options = worker.options;
  const StopEvent stop;
  worker.on_stop([&stop] { stop.tell(); });
  const int to = connect_to(options.relay.host, options.relay.port);
  const int listener = listen_at(options.host, options.port);
  worker.ready(port_of(listener));
  const int from = accept_one(listener, stop.fd());
  if (from >= 0) {
    constexpr std::uint64_t from_key = 0;
    constexpr std::uint64_t to_key = 1;
    constexpr std::uint64_t stop_key = 2;
    Epoll epoll(options.wait);
    epoll.add(from, EPOLLIN, from_key);
    epoll.add(to, 0, to_key);
    epoll.add(stop.fd(), EPOLLIN, stop_key);
    Relay relay(from, to);
    bool open = true;   // the input
    bool full = false;  // the output: nothing is read meanwhile
    while (!worker.stopping()) {
      for (const epoll_event& event : epoll.wait()) {
        if (event.data.u64 == stop_key) continue;
        if (event.data.u64 == from_key && open && !full) {
          open = relay.read();
          if (!open) epoll.remove(from);
        }
        const bool was_full = std::exchange(full, !relay.write());
        if (full == was_full) continue;
        if (open) epoll.change(from, full ? 0U : EPOLLIN, from_key);
        epoll.change(to, full ? EPOLLOUT : 0U, to_key);
      }
    }
  }
  worker.join();
}

}  // namespace netio::bench::raw::tcp

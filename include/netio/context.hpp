// A Context owns a loop, its memory and its transports. It belongs to one thread; run one per
// core. Sockets live inside a context and must be destroyed before it; messages may outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include <netio/export.hpp>
#include <netio/loop.hpp>

namespace netio {

namespace detail {
class ContextCore;
}

// What can be chosen for a context. The defaults are meant to be right.
struct ContextOptions {
  IdlePolicy idle = IdlePolicy::sleep;  // what its loop does when there is nothing to do
  // One page: what buffered messages are gathered in, header included. 4 KiB to 16 MiB, a multiple
  // of 4 KiB.
  std::size_t page_bytes = 64U << 10U;
  // Taken and faulted in when the context is made, and never more: the pages messages leave from,
  // and the blocks they arrive in:
  std::size_t send_pool_bytes = 32U << 20U;
  std::size_t receive_pool_bytes = 32U << 20U;

  // Bound for messages larger than a page, both directions together; taken when they come.
  std::size_t large_bytes_max = std::size_t{4} << 30U;
  // How much of that is kept for the next large message instead of going back to the system.
  std::size_t large_kept_bytes_max = 256U << 20U;
  int cpu = -1;        // pins the constructing thread to this core; -1: leave it
  int numa_node = -1;  // prefers this node's memory for the pools; -1: leave it
};

// A loop, its memory and its transports; sockets are made in it, and destroyed before it: if not,
// the process ends with a word on stderr. One thread: the one that first runs it. Another core,
// another context.
//
// In every build, set-up calls throw Error on another thread: those that make, bind, connect,
// subscribe or close, run the loop, and make or start timers, watches and signals. Calls for each
// message do not look, and are undefined there; debug builds assert.
//
// In a child of fork() a context and all that is in it are copies. Set-up calls throw Error there,
// and send() and its like answer Status::closed. Destroying the copies closes the child's
// descriptors, and neither the parent nor its peers notice. Bodies of messages kept from shm and
// inproc addresses lie in memory of the peer's, which may use it again: do not read them there.
class NETIO_API Context {
 public:
  // Throws Error if the memory cannot be had or an option makes no sense.
  explicit Context(const ContextOptions& options = {});
  ~Context();  // of no sockets any more
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // For timers and the like, and for foreign loops.
  [[nodiscard]] Loop& loop() noexcept;
  // Short for loop().run() and loop().stop():
  void run();
  void stop() noexcept;

  // Closes every socket in this context (Socket::close), in the order in which they were made and
  // all at once: receivers deliver nothing more, senders deliver what they have taken, each within
  // `linger`. Once all are closed, each with its on_closed, or destroyed, calls `then`, once, from
  // the loop; without one it stops the loop, so that run() returns. No socket can be made in this
  // context afterwards. Never blocks. Again: `linger` is a new one, and so is `then` if there is
  // one. For Ctrl-C: PosixSignals(context.loop(), {SIGINT}, [&](int) { context.close(); }).
  void close(std::chrono::nanoseconds linger = std::chrono::seconds(5),
             std::function<void()> then = {});

  // For the library.
  [[nodiscard]] detail::ContextCore& core() noexcept { return *core_; }

 private:
  std::unique_ptr<detail::ContextCore> core_;
};

}  // namespace netio

// A Context owns a loop, its memory and its transports. One thread at a time uses it; run one per
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

// The options of a context. The defaults are meant to be right.
struct ContextOptions {
  IdlePolicy idle = IdlePolicy::sleep;  // what its loop does when there is nothing to do
  // The size of a page, its header included. Buffered messages are gathered in pages. 4 KiB to 16
  // MiB, a multiple of 4 KiB.
  std::size_t page_bytes = 64U << 10U;
  // The memory for pages that are sent, and for blocks that pages arrive in. Never more is taken.
  // The first 2 MiB of each are taken and faulted in when the context is made. More follows, 2 MiB
  // at a time, when all of it is in use: so an idle context costs little, and once its load was
  // there it neither asks the system nor faults. If memory is refused, the pool stays as it is,
  // send() answers `again`, and receivers hold their peers back; the context tries again ten times
  // a second. Huge pages that the machine has reserved are taken all at once, and so is what a
  // fabric registers:
  std::size_t send_pool_bytes = 32U << 20U;
  std::size_t receive_pool_bytes = 32U << 20U;

  // The bound for the memory of messages larger than a page, both directions together. That memory
  // is taken when such messages come, and if the control group of the process has room for it.
  std::size_t large_bytes_max = std::size_t{4} << 30U;
  // How much of that memory is kept for the next large message. The rest goes back to the system.
  std::size_t large_kept_bytes_max = 256U << 20U;
  // The core of this context; -1: any. The thread that makes the context is pinned to it until the
  // constructor returns, so that the memory is near it, and the thread that runs the context until
  // run() returns. Then the thread has its earlier cores again. Threads and processes that a
  // call-back starts begin on this core. Loop::run_once() pins nothing, and so a foreign loop that
  // calls it does not either: pin its thread yourself.
  int cpu = -1;
  int numa_node = -1;  // prefers this node's memory for the pools; -1: leave it

  // In a control group with a limit, as containers have one, the sizes above become smaller if they
  // are the defaults: the pools together up to half of the limit, large_bytes_max half of the rest.
  // Sizes that were set, and do not fit, are an Error. Context::options() has what became of them.
};

// A loop, its memory and its transports. Sockets are made in a context and must be destroyed before
// it; otherwise the process ends with a sentence on stderr. A context belongs to the thread that
// runs its loop, while it runs (see Loop). To use another core, make another context.
//
// While another thread runs the loop, these set-up calls throw Error, in every build: making,
// binding, connecting, subscribing or closing a socket, running the loop, and making or starting
// timers, watches and signals. The calls for each message do not look at the thread: while another
// thread runs the loop, their behaviour is undefined, and debug builds assert.
//
// While the loop does not run, the context belongs to nobody: any thread may use it, one at a time.
// After the thread that ran the loop was joined, another one may close the sockets, run the loop
// again, or destroy the context. Messages that were kept may be released on any thread at any time.
//
// In a child of fork() a context, and all that is in it, is a copy. Set-up calls throw Error there,
// and send() and similar calls answer Status::closed. The child keeps no connection and no address
// open: fork() replaces netio's descriptors there (but not those of libfabric). A copy may be
// destroyed; neither the parent nor its peers notice. A message that was kept from a shm or inproc
// address must not be read in the child, because it lies in memory of the peer, which may use it
// again.
class NETIO_API Context {
 public:
  // Throws Error if there is too little memory, here or in the control group, or if an option makes
  // no sense.
  explicit Context(const ContextOptions& options = {});
  ~Context();  // all sockets must have been destroyed
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The options in force: those that were given, fitted to the control group.
  [[nodiscard]] const ContextOptions& options() const noexcept;
  // The loop of this context: for timers, watches and signals, and for foreign loops.
  [[nodiscard]] Loop& loop() noexcept;
  // As loop().run(). If every socket of this context was closed before the call, and there is one,
  // it also returns when they have closed: `push.close(); context.run();` delivers the rest. But
  // if close() was given a `then`, that decides.
  void run();
  // The same as loop().stop().
  void stop() noexcept;

  // Closes every socket in this context (Socket::close), all at once, in the order in which they
  // were made. Receivers stop delivering. Senders deliver what they have taken, each within
  // `linger`. Each socket that closes has its on_closed. When all sockets are closed or destroyed,
  // calls `then` once, from the loop. If there is no `then`, it stops the loop, so that run()
  // returns. From this call on, no socket can be made in this context. Never blocks. A second call
  // may shorten `linger`, not prolong it, and sets a new `then` if it has one.
  //
  // Read-out units finish as by ReadoutUnit::finish(), within `linger`; say advance() first.
  // Builder units and event managers of this context close when they have. Events that are kept
  // with BuilderOptions::settle_released are not waited for: see BuilderUnit::pause(). What their
  // own finish() or close() was given as `then` is called all the same. For Ctrl-C:
  // PosixSignals(context.loop(), {SIGINT}, [&](int) { context.close(); }).
  void close(std::chrono::nanoseconds linger = std::chrono::seconds(5),
             std::function<void()> then = {});

  // For the library.
  [[nodiscard]] detail::ContextCore& core() noexcept { return *core_; }

 private:
  std::unique_ptr<detail::ContextCore> core_;
};

}  // namespace netio

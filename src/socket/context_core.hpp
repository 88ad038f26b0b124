// What a Context owns: the loop, the pools, the transports, and sockets and units that were
// destroyed inside their own call-backs, until the turn ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <netio/context.hpp>
#include <netio/loop.hpp>

#include "memory/large_pool.hpp"
#include "memory/memory_room.hpp"
#include "memory/pool.hpp"
#include "socket/buriable.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class SocketCore;

// Throws Error for a size that no pages have.
void require_page_bytes(std::size_t page);

class ContextCore final : private Deferred, private MemoryRoom::Waiter {
 public:
  explicit ContextCore(const ContextOptions& options);
  ~ContextCore() override;

  Loop loop;

  // As they are in force: fitted to the control group.
  [[nodiscard]] const ContextOptions& options() const noexcept { return options_; }
  [[nodiscard]] Pool& receive_pool() noexcept { return *receive_pool_; }
  // The same, a page and its head in a block: for wires that need a place for each page in advance.
  // Made at the first call; throws Error without memory.
  [[nodiscard]] Pool& receive_pages();
  [[nodiscard]] LargePool& large_pool() noexcept { return *large_pool_; }
  // Made at the first use of a scheme. Throws Error for an unknown one, quoting `address`.
  Transport& transport(std::string_view address);
  // The addresses of this host's devices that netio can use over verbs. They are asked for again
  // when the answer is ten seconds old, because that takes its time. Throws Error.
  [[nodiscard]] const std::vector<std::string>& verbs_hosts();
  // For simulations: addresses of this scheme, which has no transport yet, belong to the one that
  // `make` makes. They have the form scheme://host:port.
  using MakeTransport = std::function<std::unique_ptr<Transport>(const TransportResources&)>;
  void add_transport(const std::string& scheme, const MakeTransport& make);

  // Brings home what other threads released, and this one outside of a turn, unless somebody waits
  // for it.
  void collect() noexcept;
  // Who waits for memory, in whichever pool, is served from the loop. Any thread.
  void serve_waiters() noexcept { memory_came_home_.notify(); }
  // Every socket, from its construction to its destruction. Throws Error after close(), unless it
  // has an owner.
  void enter(SocketCore& socket);
  void leave(SocketCore& socket) noexcept;
  // In the same way every unit and event manager. Throws Error after close().
  void enter(SocketOwner& owner);
  void leave(SocketOwner& owner) noexcept { std::erase(owners_, &owner); }
  // As Context has them.
  void run();
  void close(std::chrono::nanoseconds linger, std::function<void()> then);
  // close() was called: nobody may make a socket any more.
  [[nodiscard]] bool closing() const noexcept { return closing_; }
  // How long a unit that ends may take, if the context is being closed as well: 0 or more.
  [[nodiscard]] std::chrono::nanoseconds bound(std::chrono::nanoseconds linger) const noexcept;
  // A socket has closed, or is about to be destroyed.
  void socket_closed() noexcept;
  // Abandons it and destroys it: within a turn at its end, because it may be on the stack.
  void bury(std::unique_ptr<Buriable> dead) noexcept;

 private:
  [[nodiscard]] TransportResources resources();
  // Faulted in as it is used.
  [[nodiscard]] Pool::Ptr make_pool(std::size_t block_bytes, std::size_t bytes);
  void on_room() noexcept override { serve_waiters(); }
  void run_deferred() noexcept override;
  [[nodiscard]] bool all_closed() const noexcept;
  void end_others() noexcept;
  [[nodiscard]] bool waited_for() const noexcept { return then_ || stops_when_closed_; }

  ContextOptions options_;
  Signal memory_came_home_;
  MemoryRoom room_;
  Timer ask_again_;
  Pool::Ptr send_pool_;
  Pool::Ptr receive_pool_;
  Pool::Ptr receive_pages_;
  LargePool::Ptr large_pool_;
  InquiryLine inquiries_;
  std::map<std::string, std::unique_ptr<Transport>, std::less<>> transports_;
  std::vector<std::string> verbs_hosts_;
  std::int64_t verbs_asked_ns_ = 0;   // 0: not yet
  std::vector<SocketCore*> sockets_;  // in the order in which they were made
  std::vector<SocketOwner*> owners_;
  std::unique_ptr<Buriable> buried_;  // the last of them, which owns the one before
  std::function<void()> then_;  // once all are closed; empty: close() was not called, or it is told
  bool closing_ = false;
  bool others_end_ = false;  // than those that end first
  std::chrono::nanoseconds close_until_ = std::chrono::nanoseconds::max();  // on the loop's clock
  bool stops_when_closed_ = false;  // run() is under way, and returns once all are closed
};

}  // namespace netio::detail

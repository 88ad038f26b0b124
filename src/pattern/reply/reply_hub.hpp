// The requests that a Reply socket has given to its user and that are not ended: found by requester
// and id. A hub outlives its socket as long as a ReplyTo is out. Owner thread only, but drop().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <netio/loop.hpp>

#include "base/fork_watch.hpp"

namespace netio::detail {

class ReplyCore;
class ReplyHub;
struct Requester;

// One of them. A ReplyTo has it until the user is done with it.
struct ReplyTicket {
  ReplyHub* hub = nullptr;
  Requester* from = nullptr;  // null: nobody waits for an answer
  std::uint64_t id = 0;
  std::int64_t until_ns = 0;    // the requester waits as long; 0: no limit
  ReplyTicket* next = nullptr;  // of the same requester; or of those that are free
  ReplyTicket* previous = nullptr;
  ReplyTicket* next_in_bucket = nullptr;
  ReplyTicket* next_dropped = nullptr;
};

class ReplyHub {
 public:
  ReplyHub(ReplyCore& core, Loop& loop);
  ReplyHub(const ReplyHub&) = delete;
  ReplyHub& operator=(const ReplyHub&) = delete;

  // Null once the socket is gone.
  [[nodiscard]] ReplyCore* core() const noexcept { return core_; }
  [[nodiscard]] ReplyTicket* find(const Requester& from, std::uint64_t id) const noexcept;
  // A new one, which is not found so far; null without memory.
  [[nodiscard]] ReplyTicket* issue(Requester& from, std::uint64_t id) noexcept {
    if (free_ == nullptr && !make_room()) [[unlikely]]
      return nullptr;
    ReplyTicket& ticket = *std::exchange(free_, free_->next);
    ++out_;
    ticket.from = &from;
    ticket.id = id;
    return &ticket;
  }
  // It is found from now on, and stands first in the list of the requester, who has no other one
  // with this id.
  void enter(ReplyTicket& ticket) noexcept;
  // Nobody waits for the answer any more; the ReplyTo may still be out. It was entered.
  void leave(ReplyTicket& ticket) noexcept;
  // How many are found.
  [[nodiscard]] std::size_t open_count() const noexcept { return open_count_; }
  // The user is done with it, and it is not found any more.
  void recycle(ReplyTicket& ticket) noexcept {
    --out_;
    ticket.next = std::exchange(free_, &ticket);
  }
  // A ReplyTo was destroyed without an answer. Any thread, also when the socket is gone.
  void drop(ReplyTicket& ticket) noexcept;
  // The socket goes. The hub destroys itself once no ReplyTo is out.
  void retire() noexcept;
  // False in a child of fork(), where all of it is a copy, and its lock may never be free.
  [[nodiscard]] bool is_own() const noexcept { return made_at_ == fork_depth(); }

 private:
  ~ReplyHub() = default;
  [[nodiscard]] std::size_t bucket_of(const Requester& from, std::uint64_t id) const noexcept {
    const std::uint64_t mixed = (id ^ reinterpret_cast<std::uintptr_t>(&from)) * multiplier_;
    return static_cast<std::size_t>(mixed >> bucket_shift_);
  }
  [[nodiscard]] bool make_room() noexcept;
  void add_ticket();
  void take_dropped() noexcept;

  ReplyCore* core_;
  Loop& loop_;
  std::deque<ReplyTicket> tickets_;
  ReplyTicket* free_ = nullptr;
  std::size_t out_ = 0;  // tickets that a ReplyTo has
  std::size_t open_count_ = 0;
  // Lists of the open ones; a power of two. A peer chooses ids, but not where they come to stand.
  std::vector<ReplyTicket*> buckets_;
  unsigned bucket_shift_;  // leaves as many bits as number the buckets
  std::uint64_t multiplier_;

  const unsigned made_at_ = fork_depth();
  std::mutex mutex_;                // of what follows
  ReplyTicket* dropped_ = nullptr;  // on other threads, and not known to the socket yet
  bool retired_ = false;
  std::unique_ptr<Signal> wake_;  // null once retired
};

}  // namespace netio::detail

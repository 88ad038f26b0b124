// How tickets are found, and how they come back from other threads.
#include "pattern/reply/reply_hub.hpp"

#include <bit>
#include <utility>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "pattern/reply/reply_core.hpp"

namespace netio::detail {

namespace {

unsigned shift_for(std::size_t buckets) noexcept {
  return 64U - static_cast<unsigned>(std::countr_zero(buckets));
}

}  // namespace

ReplyHub::ReplyHub(ReplyCore& core, Loop& loop)
    : core_(&core),
      loop_(loop),
      buckets_(64),
      bucket_shift_(shift_for(buckets_.size())),
      multiplier_(std::bit_cast<std::uint64_t>(random_bytes<sizeof(std::uint64_t)>()) | 1U),
      wake_(std::make_unique<Signal>(loop, [this] { take_dropped(); })) {}

ReplyTicket* ReplyHub::find(const Requester& from, std::uint64_t id) const noexcept {
  ReplyTicket* ticket = buckets_[bucket_of(from, id)];
  while (ticket != nullptr && (ticket->from != &from || ticket->id != id)) {
    ticket = ticket->next_in_bucket;
  }
  return ticket;
}

bool ReplyHub::make_room() noexcept {
  guard_memory([this] { add_ticket(); }, []() noexcept {});
  return free_ != nullptr;
}

// As many buckets as tickets.
void ReplyHub::add_ticket() {
  tickets_.emplace_back();
  ReplyTicket& ticket = tickets_.back();
  ticket.hub = this;
  ticket.next = std::exchange(free_, &ticket);
  if (tickets_.size() <= buckets_.size()) return;
  std::vector<ReplyTicket*> larger(2 * buckets_.size());
  buckets_.swap(larger);
  bucket_shift_ = shift_for(buckets_.size());
  for (ReplyTicket* first : larger) {
    while (first != nullptr) {
      ReplyTicket& moved = *std::exchange(first, first->next_in_bucket);
      ReplyTicket*& bucket = buckets_[bucket_of(*moved.from, moved.id)];
      moved.next_in_bucket = std::exchange(bucket, &moved);
    }
  }
}

void ReplyHub::enter(ReplyTicket& ticket) noexcept {
  Requester& from = *ticket.from;
  ReplyTicket*& bucket = buckets_[bucket_of(from, ticket.id)];
  ticket.next_in_bucket = std::exchange(bucket, &ticket);
  ticket.previous = nullptr;
  ticket.next = std::exchange(from.open, &ticket);
  if (ticket.next != nullptr) ticket.next->previous = &ticket;
  ++from.open_count;
  ++open_count_;
}

void ReplyHub::leave(ReplyTicket& ticket) noexcept {
  Requester& from = *ticket.from;
  ReplyTicket** place = &buckets_[bucket_of(from, ticket.id)];
  while (*place != &ticket) place = &(*place)->next_in_bucket;
  *place = ticket.next_in_bucket;
  (ticket.previous != nullptr ? ticket.previous->next : from.open) = ticket.next;
  if (ticket.next != nullptr) ticket.next->previous = ticket.previous;
  --from.open_count;
  --open_count_;
  ticket.from = nullptr;
}

void ReplyHub::drop(ReplyTicket& ticket) noexcept {
  if (!is_own()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!retired_ && !loop_.runs_here()) {
      ticket.next_dropped = std::exchange(dropped_, &ticket);
      wake_->notify();
      return;
    }
    if (retired_ && --out_ != 0) return;
  }
  if (core_ != nullptr) return core_->dropped(ticket);
  delete this;
}

void ReplyHub::take_dropped() noexcept {
  ReplyTicket* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    next = std::exchange(dropped_, nullptr);
  }
  while (next != nullptr) {
    ReplyTicket& ticket = *std::exchange(next, next->next_dropped);
    core_->dropped(ticket);
  }
}

void ReplyHub::retire() noexcept {
  if (!is_own()) return;
  {
    const std::lock_guard lock(mutex_);
    retired_ = true;
    core_ = nullptr;
    for (; dropped_ != nullptr; dropped_ = dropped_->next_dropped) --out_;
    wake_.reset();
    if (out_ != 0) return;
  }
  delete this;
}

}  // namespace netio::detail

// The requests of a Request socket that are under way, or that somebody is still to be told of:
// found by id. Records are used again, ids never are. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <netio/message.hpp>
#include <netio/request.hpp>

namespace netio::detail {

struct Replier;

// What every request touches comes first, and fills one cache line. The line behind it is only for
// those that are idempotent, or end without an answer: of a thousand under way each line counts.
struct alignas(64) PendingRequest {
  enum class State : std::uint8_t {
    free,
    under_way,  // sent to a peer, which is to answer
    repeating,  // it ended there, and waits for a peer that it may be sent to again
    failed,     // it ended, and the user is to be told
    ended,      // the user knows; the peer is still to be told that the answer is not wanted
  };
  State state = State::free;
  // How it ended, if it failed. If it is repeated, how it would have ended: in doubt if any of the
  // peers that it was sent to may have received it.
  Outcome outcome = Outcome::not_executed;
  bool owes_cancel = false;  // the peer is to be told
  bool in_owed = false;      // stands in the queue of those, needed or not
  bool idempotent = false;
  bool limited = false;  // by the user: the deadline is not only that of a repetition
  std::uint8_t attempts = 0;
  std::uint64_t id = 0;            // on the wire; another one each time that it is sent
  std::uint64_t user_id = 0;       // the first of these
  std::uint64_t position = 0;      // in the stream that it was sent on
  std::int64_t deadline_ns = 0;    // 0: none
  Replier* to = nullptr;           // while it stands in the list of that peer
  PendingRequest* next = nullptr;  // there, by position
  PendingRequest* previous = nullptr;

  PendingRequest* next_owed = nullptr;   // of the same peer
  PendingRequest* next_to_do = nullptr;  // of those that failed, or are repeated
  // If it is idempotent:
  std::uint64_t only_peer = 0;  // PeerInfo::id; 0: any
  Message copy;
};
static_assert(offsetof(PendingRequest, next_owed) == 64 && sizeof(PendingRequest) == 128);

// A queue of requests, linked through one of their pointers.
template <PendingRequest* PendingRequest::*next>
class RequestQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(PendingRequest& request) noexcept {
    request.*next = nullptr;
    (first_ == nullptr ? first_ : last_->*next) = &request;
    last_ = &request;
  }
  PendingRequest& pop() noexcept {
    PendingRequest& request = *first_;
    first_ = request.*next;
    return request;
  }
  [[nodiscard]] PendingRequest& front() const noexcept { return *first_; }
  void clear() noexcept { first_ = nullptr; }

 private:
  PendingRequest* first_ = nullptr;
  PendingRequest* last_ = nullptr;
};
using OwedQueue = RequestQueue<&PendingRequest::next_owed>;
using ToDoQueue = RequestQueue<&PendingRequest::next_to_do>;

class PendingRequests {
 public:
  // The record that the next request will have; null without memory. It is not taken yet.
  [[nodiscard]] PendingRequest* next_free() noexcept {
    return free_ != nullptr ? free_ : add_free();
  }
  // Whether the next `count` have theirs.
  [[nodiscard]] bool has_free(std::size_t count) noexcept;
  // Takes it, as one that is under way, without a limit and not idempotent. Its id is its own
  // already.
  void take(PendingRequest& request) noexcept {
    free_ = request.next;
    request.state = PendingRequest::State::under_way;
    request.outcome = Outcome::not_executed;
    request.owes_cancel = request.in_owed = false;
    request.idempotent = request.limited = false;
    request.attempts = 1;
    request.user_id = request.id;
    request.deadline_ns = 0;
  }
  void free(PendingRequest& request) noexcept {
    request.state = PendingRequest::State::free;
    if (request.idempotent) request.copy = Message();
    renew_id(request);
    if (request.id == 0) return;
    request.next = free_;
    free_ = &request;
  }
  // Another id for the next time that it is sent; 0 if there is none left.
  static void renew_id(PendingRequest& request) noexcept {
    request.id = request.id > UINT64_MAX - one_use ? 0 : request.id + one_use;
  }
  // The request with this id on the wire, or with this id for the user; null if there is none.
  [[nodiscard]] PendingRequest* find(std::uint64_t id) noexcept {
    PendingRequest* const request = at(id & index_mask);
    return request != nullptr && request->id == id && request->state != PendingRequest::State::free
               ? request
               : nullptr;
  }
  [[nodiscard]] PendingRequest* find_of_user(std::uint64_t user_id) noexcept;
  // Forgets all of them. No more may be asked for.
  void clear() noexcept {
    chunks_.clear();
    count_ = 0;
    free_ = nullptr;
  }

 private:
  // An id is the index of its record, and how often that was used. A record whose count is used up
  // is not used again.
  static constexpr unsigned index_bits = 24;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
  static constexpr std::uint64_t one_use = std::uint64_t{1} << index_bits;

  static constexpr std::uint64_t chunk_records = 64;

  [[nodiscard]] PendingRequest* at(std::uint64_t index) noexcept {
    if (index >= count_) return nullptr;
    return &chunks_[static_cast<std::size_t>(index / chunk_records)][index % chunk_records];
  }
  [[nodiscard]] PendingRequest* add_free() noexcept;
  void add_record();

  // Records never move. Each answer is looked up by index: shorter here than in a std::deque.
  std::vector<std::unique_ptr<PendingRequest[]>> chunks_;
  std::uint64_t count_ = 0;
  PendingRequest* free_ = nullptr;  // linked by `next`
};

}  // namespace netio::detail

// The messages for one peer that wait above its link, in order: parcels, control frames, and gaps
// where messages were dropped by the policy of the peer. Bounded in bytes. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include <netio/books.hpp>
#include <netio/subscription.hpp>

#include "memory/pool.hpp"
#include "pattern/publish/gap.hpp"
#include "pattern/publish/parcel.hpp"
#include "pattern/publish/samples.hpp"
#include "socket/open_page.hpp"
#include "socket/outgoing_stream.hpp"
#include "socket/supplies.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

// How many bytes the backlogs of all subscribers of a publisher copy. Each may copy as much as it
// leaves for the others. Shared memory is not counted here; its stores bound it.
struct BehindBudget {
  std::size_t bytes = 0;
  std::size_t bytes_max = SIZE_MAX;
};

class Backlog {
 public:
  static constexpr std::size_t control_bytes_max = 40;

  struct Item {
    enum class Kind : std::uint8_t { parcel, control, gap };
    Kind kind = Kind::parcel;
    Parcel parcel;
    ControlKind control = ControlKind::bye;
    std::array<std::byte, control_bytes_max> payload{};
    std::size_t payload_bytes = 0;
    Drops drops{};           // of a gap; never empty there
    std::size_t copied = 0;  // counted in a BehindBudget
  };

  // Drops are counted in the books of the stream.
  explicit Backlog(OutgoingStream& stream) : stream_(&stream) {}
  void move_to(OutgoingStream& stream) noexcept { stream_ = &stream; }

  void set_policy(Policy policy, std::size_t bytes_max) noexcept {
    if (policy != policy_) overrun_ = false;
    policy_ = policy;
    bytes_max_ = bytes_max;
  }
  // Counts its copies in this budget from now on; null: in none. The budget must outlive the
  // backlog, or be taken away first.
  void set_budget(BehindBudget* budget) noexcept;
  [[nodiscard]] Policy policy() const noexcept { return policy_; }
  // There was no memory for what had to wait: nothing more is taken, and nothing leaves. The
  // connection is to end.
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] bool empty() const noexcept {
    return !failed_ && items_.empty() && !tail_.is_open() && samples_.empty();
  }
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_ + samples_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_ + samples_.bytes(); }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  // With Policy::block: nothing may be added until some of it was posted. An empty backlog is never
  // full, so that with a bound of 0 one message at a time can wait.
  [[nodiscard]] bool full(Pool& pool) const noexcept;
  // How near the backlog is to full(), from 0 to 1; 1 exactly if it is full. The link holds
  // `link_bytes`, and takes `link_bytes_max` before messages wait here.
  [[nodiscard]] double fill(std::size_t link_bytes, std::size_t link_bytes_max,
                            Pool& pool) const noexcept;
  [[nodiscard]] std::size_t controls() const noexcept { return controls_; }
  // The bytes of waiting messages that lie in this memory. Walks all items.
  [[nodiscard]] std::size_t bytes_in(const StorePart& memory) const noexcept;
  // It copies as much as it leaves for the others.
  [[nodiscard]] bool has_its_share() const noexcept { return may_copy() == 0; }
  // Whether a message was dropped for lack of room since the last call.
  [[nodiscard]] bool take_overrun() noexcept { return std::exchange(overrun_, false); }

  // Adds a count to the parcel and keeps it, or drops it or older ones by the policy; with
  // Policy::block always keeps it. Small parcels are copied behind each other into pages with
  // bodies of up to `body_max`.
  void add(const Parcel& parcel, const Supplies& supplies, std::size_t body_max) noexcept;
  void add_control(ControlKind kind, std::span<const std::byte> payload, Pool& pool,
                   std::size_t body_max) noexcept;
  // At this point of the stream so many messages are missing.
  void add_gap(std::uint64_t messages, DropReason reason) noexcept;

  // The item to post next; null if there is none, or no memory to make a page of samples.
  [[nodiscard]] Item* front(Pool& pool, std::size_t body_max) noexcept;
  // front() was posted; of a gap, the first of its reasons.
  void pop_posted() noexcept;
  // Removes all items. The caller has counted messages() as dropped.
  void clear() noexcept;

 private:
  // What a parcel counts while it waits: an item of its own takes memory too.
  [[nodiscard]] static std::size_t cost(const Parcel& parcel) noexcept {
    return parcel.bytes + (parcel.framed ? 0 : sizeof(Item));
  }
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept {
    return bytes <= bytes_max_ && bytes_ <= bytes_max_ - bytes;
  }
  // How much it copies, as counted in a BehindBudget; and how much more it may copy.
  [[nodiscard]] std::size_t copied() const noexcept { return copied_ + samples_.copied(); }
  [[nodiscard]] std::size_t may_copy() const noexcept;
  [[nodiscard]] static std::size_t copy_cost(const Parcel& parcel) noexcept {
    if (parcel.framed) return 0;
    return sizeof(Item) + (parcel.lease ? 0 : parcel.bytes);
  }
  void update_budget() noexcept;
  void add_by_policy(const Parcel& parcel, const Supplies& supplies, std::size_t body_max) noexcept;
  void enqueue(const Parcel& parcel, const Supplies& supplies, std::size_t body_max) noexcept;
  bool append_to_tail(const Parcel& parcel, Pool& pool, std::size_t body_max) noexcept;
  void add_newest(const Parcel& parcel, const Supplies& supplies, std::size_t body_max) noexcept;
  // Whether the waiting messages hold at least `bytes` of large memory.
  [[nodiscard]] bool takes_large(std::size_t bytes, const Supplies& supplies) const noexcept;
  void sample(const Parcel& parcel, const Supplies& supplies) noexcept;
  // True if it waits now; one that has no lease was copied then.
  bool sample_one(Label label, std::span<const std::byte> message, const Lease& lease) noexcept;
  // The lease of the message that was dropped; empty if none waits.
  Lease drop_oldest() noexcept;
  void pop() noexcept;
  void join_gaps(std::size_t at) noexcept;
  void drop(std::uint64_t messages, DropReason reason) noexcept;
  void seal_tail() noexcept;
  bool push(Item item) noexcept;  // counts what it copies
  bool pack_samples(Pool& pool, std::size_t body_max) noexcept;

  OutgoingStream* stream_;
  Policy policy_ = Policy::block;
  std::size_t bytes_max_ = SIZE_MAX;
  std::deque<Item> items_;
  OpenPage tail_;  // copies, behind all items
  Samples samples_;
  std::size_t bytes_ = 0;  // of items and tail
  std::uint64_t messages_ = 0;
  std::size_t controls_ = 0;
  BehindBudget* budget_ = nullptr;
  std::size_t copied_ = 0;   // of items
  std::size_t counted_ = 0;  // in the budget
  bool failed_ = false;
  bool overrun_ = false;
};

}  // namespace netio::detail

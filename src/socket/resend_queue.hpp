// The messages of a stream that were posted and that the peer has not acknowledged. When the
// connection breaks, they are posted again on the next one. Pages and large messages stay where
// they lie, with one more count on their memory; what is small is copied behind each other into a
// page of its own, so that it does not hold one that is nearly empty. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/growing_ring.hpp"
#include "memory/pool.hpp"
#include "memory/quota.hpp"
#include "socket/open_page.hpp"
#include "transport/link.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

// What a subscriber was told before a message, beside messages.
struct Told {
  std::uint64_t dropped = 0;   // so many messages of the stream
  std::uint64_t revision = 0;  // of its set; 0: none

  bool operator==(const Told&) const = default;
};

class ResendQueue final : public Reserve {
 public:
  struct Item {
    std::uint64_t position = 0;  // in the stream, of its first message
    std::uint32_t messages = 0;  // 0: this is no item
    bool framed = false;         // whole frames; else the payload of one message
    Label label;                 // of one message
    Lease lease;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    PostBody front;  // of one message: what stands before its payload here
    Told told{};     // before it

    [[nodiscard]] std::uint64_t end() const noexcept { return position + messages; }
  };

  ResendQueue() = default;
  // The other one keeps nothing afterwards.
  ResendQueue(ResendQueue&& other) noexcept { *this = std::move(other); }
  ResendQueue& operator=(ResendQueue&& other) noexcept;

  // The send pool: which copies go to, and which others need too. What lies in the one before stays
  // there. Not while idle.
  void use(Pool& pool) noexcept;
  // 0: nothing is kept.
  void set_bytes_max(std::size_t bytes_max) noexcept { bytes_max_ = bytes_max; }
  [[nodiscard]] bool on() const noexcept { return bytes_max_ != 0; }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  // The memory that the items hold: blocks with all of their capacity.
  [[nodiscard]] std::size_t bytes_held() const noexcept { return bytes_held_; }
  // An item in this memory may be added. If nothing else is kept, it may be larger than the bound.
  [[nodiscard]] bool takes(const Block& memory) const noexcept { return takes(memory.capacity()); }
  [[nodiscard]] bool takes_copy(std::size_t bytes) const noexcept {
    if (copies_.messages() != 0 && has_room_to_copy(bytes)) return true;
    return takes(pool_->block_bytes());
  }
  // Nothing more may be posted until something is acknowledged.
  [[nodiscard]] bool full() const noexcept { return bytes_held_ >= bytes_max_ && !empty(); }
  // No more of the pool may be taken either: more of it is kept here than is left for others.
  [[nodiscard]] bool has_its_share() const noexcept {
    return !empty() && pages_held_ > pool_->blocks_free();
  }
  // The position of the oldest message here, if all messages from there up to `next` are here. Else
  // `next`: a connection between kept nothing, and what was kept before it is of no use.
  [[nodiscard]] std::uint64_t oldest(std::uint64_t next) const noexcept {
    return !empty() && items_[items_.size() - 1].end() == next ? items_[0].position : next;
  }

  // Before a post: makes room for what follows it. False if there is no memory: for a piece that is
  // to be copied, no page.
  [[nodiscard]] bool make_room() noexcept { return items_.make_room(); }
  [[nodiscard]] bool make_room_to_copy(std::size_t bytes) noexcept;
  // That would take no page.
  [[nodiscard]] bool has_room_to_copy(std::size_t bytes) const noexcept {
    return copies_.is_open() && copies_.room() >= bytes;
  }
  // After it. Positions follow each other.
  void add_page(std::uint64_t position, std::uint32_t messages, const Lease& lease,
                std::span<const std::byte> frames) noexcept;
  void add_message(std::uint64_t position, const Lease& lease, std::span<const std::byte> message,
                   Label label, const PostBody& front = {}) noexcept;
  void copy_page(std::uint64_t position, std::uint32_t messages,
                 std::span<const std::byte> frames) noexcept;
  void copy_message(std::uint64_t position, std::span<const std::byte> message,
                    Label label) noexcept;

  // The peer has been told this before the next message to be added.
  void mark(const Told& told) noexcept {
    if (told != told_) seal();
    told_ = told;
  }
  [[nodiscard]] const Told& told() const noexcept { return told_; }

  // The peer has everything before this position.
  void release(std::uint64_t position) noexcept {
    released_ = position;
    while (!empty() && items_[0].end() <= position) pop();
  }
  void clear() noexcept;
  // What is copied from now on makes a new item: those here are posted again, and do not change.
  void seal() noexcept { copies_.close(); }
  // The item with this position, or null.
  [[nodiscard]] const Item* find(std::uint64_t position) const noexcept;

  // Changes what the frames of requests say (wire/request.hpp), whose memory nobody reads. All of
  // them in one walk, if they are in the order of their positions.
  class RequestFields {
   public:
    explicit RequestFields(ResendQueue& queue) noexcept : queue_(queue) {}
    void set(std::uint64_t position, std::uint16_t field) noexcept;

   private:
    ResendQueue& queue_;
    Item* item_ = nullptr;
    FrameWalker walker_{nullptr, 0, ability::every_frame};
    std::uint64_t next_ = 0;  // the position that the walker is at
  };

  // There is no connection: whoever finds the pool empty takes what is kept here. Until work().
  void lie_idle() noexcept;
  // The same for now, though there is one.
  void offer() noexcept;
  void work() noexcept { leave(); }
  // Reserve: forgets everything. The stream learns it when it looks for the oldest position.
  void give_up() noexcept override;
  // Forgets the oldest item, if there is one.
  void give_up_oldest() noexcept;
  // Forgets as many of the oldest as it takes to let go of some of this memory; none if it has
  // none.
  void give_up_some(const StorePart& memory) noexcept;
  // So many messages so far, as counted here and by who had them before.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

 private:
  [[nodiscard]] bool takes(std::size_t capacity) const noexcept {
    return empty() || bytes_held_ + sizeof(Item) + capacity <= bytes_max_;
  }
  [[nodiscard]] static std::size_t cost(const Item& item) noexcept;
  // It lies in another page of fronts than its neighbour.
  [[nodiscard]] bool own_front_page(const Item& item, std::size_t neighbour) const noexcept {
    const Block* const page = item.front.lease.get();
    return page != nullptr &&
           (neighbour >= items_.size() || items_[neighbour].front.lease.get() != page);
  }
  Item& push(Item item) noexcept;
  Item& item_of_copies(std::uint64_t position) noexcept;
  void pop() noexcept;

  std::size_t bytes_max_ = 0;
  GrowingRing<Item> items_;
  std::size_t bytes_held_ = 0;
  std::size_t pages_held_ = 0;  // of the pool; those of fronts as often as they come in turn
  Pool* pool_ = nullptr;
  std::uint64_t released_ = 0;
  std::uint64_t given_up_ = 0;
  Told told_;
  OpenPage copies_;  // of the last item, while more is copied behind it
};

}  // namespace netio::detail

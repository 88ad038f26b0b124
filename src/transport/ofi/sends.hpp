// The send side of an ofi link: what was posted and is not done yet. Holds each page's lease until
// its completion, lent memory until the peer has fetched it, and copies of small posts for which
// the peer has no receive. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fabric/endpoint.hpp"
#include "transport/link.hpp"
#include "transport/ofi/device.hpp"

namespace netio::detail {

// What a link does when its operations end.
class OfiOperationsOwner {
 public:
  // Sends or fetches came to an end.
  virtual void on_progress() noexcept = 0;
  virtual void on_wire_failure(int error) noexcept = 0;

 protected:
  ~OfiOperationsOwner() = default;
};

class OfiSends final : private OperationOwner {
 public:
  static constexpr std::size_t entries_max = 64;
  static constexpr std::size_t lends_max = 64;
  static constexpr std::size_t held_max = 16;

  // Throws Error without memory for headers.
  OfiSends(OfiOperationsOwner& owner, Device& device, const TransportResources& resources,
           std::size_t inject_bytes_max);

  // 0, or a negative error: -FI_EAGAIN has taken nothing, and waits_for_memory() says if it is a
  // page to copy to that is missing. Takes the lease on success.
  long send(Endpoint& endpoint, const PageHeader& header, Post& post) noexcept;
  // The same for a body larger than a page: the peer is told where it lies, and fetches it.
  long lend(Endpoint& endpoint, PageHeader header, Post& post) noexcept;
  // Copies it behind others that wait; they leave together, as one message. -FI_EAGAIN without
  // room.
  long hold_back(const PageHeader& header, const Post& post) noexcept;
  [[nodiscard]] bool holds_back() const noexcept { return held_used_ != 0; }
  // Sends the oldest message that was held back. What its first page tells is set now.
  long send_held(Endpoint& endpoint, const PageHeader& tells) noexcept;
  // Bytes that are no page: a hello.
  long send_bytes(Endpoint& endpoint, std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] bool waits_for_memory() const noexcept { return waits_for_memory_; }

  // The peer has fetched so many of what was lent, in order. False if there were not that many.
  bool fetched(std::uint32_t count) noexcept;

  [[nodiscard]] bool full() const noexcept {
    return entries_used_ == entries_max || lends_used_ == lends_max;
  }
  // Nothing is on its way; lent memory may still be out.
  [[nodiscard]] bool sent() const noexcept { return entries_used_ == 0 && held_used_ == 0; }
  [[nodiscard]] bool idle() const noexcept { return sent() && lends_used_ == 0; }
  [[nodiscard]] std::size_t queued_bytes() const noexcept { return queued_bytes_; }

  // The endpoint is closed: nothing is read any more.
  void abandon(CompletionQueue& queue) noexcept;

 private:
  struct Entry {
    Lease lease;
    std::size_t bytes = 0;
    bool done = false;
  };
  struct Lend {
    Lease lease;
    std::size_t bytes = 0;
    std::optional<MemoryRegion> own;
  };
  struct Held {
    Lease page;
    std::size_t bytes = 0;
  };
  void on_completion(Operation& operation, std::size_t bytes) noexcept override;
  void on_failure(Operation& operation, int error) noexcept override;
  Lease take_page() noexcept;
  long send_page(Endpoint& endpoint, Lease& page, std::size_t bytes) noexcept;
  long send_copied(Endpoint& endpoint, const PageHeader& header, const Post& post) noexcept;
  long post_parts(Endpoint& endpoint, std::span<const iovec> parts, void** descriptors,
                  Lease& lease, std::size_t bytes) noexcept;

  OfiOperationsOwner& owner_;
  Device& device_;
  Pool& pool_;
  std::size_t inject_bytes_max_;
  Lease heads_;
  void* heads_descriptor_ = nullptr;
  std::unique_ptr<Operation[]> operations_;
  std::array<Entry, entries_max> entries_;
  std::size_t first_ = 0;
  std::size_t entries_used_ = 0;
  std::array<Lend, lends_max> lends_;
  std::size_t first_lend_ = 0;
  std::size_t lends_used_ = 0;
  std::array<Held, held_max> held_;
  std::size_t first_held_ = 0;
  std::size_t held_used_ = 0;
  std::size_t queued_bytes_ = 0;
  bool waits_for_memory_ = false;
};

}  // namespace netio::detail

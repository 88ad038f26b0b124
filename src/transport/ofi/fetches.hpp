// Messages that the peer has lent: read from its memory into ours, several at a time, told in
// order. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/endpoint.hpp"
#include "memory/large_pool.hpp"
#include "transport/link.hpp"
#include "transport/ofi/device.hpp"
#include "transport/ofi/fabric_message.hpp"
#include "transport/ofi/sends.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class OfiFetches final : private OfiOperations {
 public:
  static constexpr std::size_t reads_max = 16;
  static constexpr std::size_t fetches_max = OfiSends::lends_max;

  OfiFetches(OfiOperationsOwner& owner, CompletionQueue& queue, Device& device, LargePool& pool,
             const LinkOptions& options, std::size_t read_bytes_max);

  // A page came that says where its message lies. Why it cannot be fetched, or nothing. Memory is
  // taken for it only if go_on() is to follow. Throws std::bad_alloc.
  std::optional<Down> add(const PageHeader& header, std::span<const std::byte> body, bool goes_on);
  // Starts what can be started. 0, or a negative error.
  long go_on(Endpoint& endpoint) noexcept;
  // No memory for the next one: wait for the large pool.
  [[nodiscard]] bool starved() const noexcept { return starved_; }

  // The first of those that were added is here: its header is that of a page with the payload.
  [[nodiscard]] bool first_is_here() const noexcept;
  struct Page {
    PageHeader header;
    Lease block;
    std::span<const std::byte> body;
  };
  Page take_first() noexcept;
  // Taken and not told to the peer, which lends no more than fetches_max before it is.
  [[nodiscard]] std::uint32_t untold() const noexcept { return untold_; }
  void told(std::uint32_t count) noexcept {
    untold_ -= count;
    untold_bytes_ = 0;
  }
  // Worth a page of its own. While more is read, small ones are told of two at a time: the page
  // wakes the peer.
  [[nodiscard]] bool has_to_tell() const noexcept {
    constexpr std::uint64_t bytes_kept_most = 4U << 20U;
    return untold_ >= 2 || (untold_ != 0 && (!reading() || untold_bytes_ > bytes_kept_most));
  }

  [[nodiscard]] bool under_way() const noexcept { return used_ != 0; }
  // Reads were started that the peer has not served.
  [[nodiscard]] bool reading() const noexcept { return free_reads_count_ != reads_max; }
  // The size of the messages that memory was taken for and that are not complete.
  [[nodiscard]] std::uint64_t bytes_held() const noexcept;
  [[nodiscard]] std::uint64_t bytes_fetched() const noexcept { return bytes_fetched_; }

 private:
  struct Fetch {
    PageHeader header;
    LentMessage lent;
    std::size_t lent_bytes = 0;  // of the payload: what is to be read
    std::size_t asked = 0;
    std::size_t done = 0;
    Lease block;
    std::vector<std::byte> front;  // a copy, while there is no block for it
  };
  struct Read {
    std::uint32_t fetch = 0;
    std::uint32_t bytes = 0;
  };
  [[nodiscard]] Fetch& at(std::size_t index) noexcept {
    return fetches_[(first_ + index) % fetches_max];
  }
  [[nodiscard]] const Fetch& at(std::size_t index) const noexcept {
    return fetches_[(first_ + index) % fetches_max];
  }
  bool make_room(Fetch& fetch) noexcept;
  void on_completion(Operation& operation, std::size_t bytes) noexcept override;

  Device& device_;
  LargePool& large_pool_;
  Quota* large_quota_;
  std::uint64_t message_bytes_max_;
  std::size_t read_bytes_max_;
  std::array<Read, reads_max> reads_;
  std::array<std::uint8_t, reads_max> free_reads_{};
  std::size_t free_reads_count_ = reads_max;
  std::array<Fetch, fetches_max> fetches_;
  std::size_t first_ = 0;
  std::size_t used_ = 0;
  std::size_t complete_ = 0;  // of those used, from the first
  std::uint32_t untold_ = 0;
  std::uint64_t untold_bytes_ = 0;  // of these, of the peer's memory
  std::uint64_t bytes_fetched_ = 0;
  bool starved_ = false;
};

}  // namespace netio::detail

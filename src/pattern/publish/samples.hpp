// The latest message of each tag, for a peer that samples and is behind: in the order in which
// their tags began to wait. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/store.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

class OpenPage;
struct Parcel;

class Samples {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // The bytes of these that are copies.
  [[nodiscard]] std::size_t copied() const noexcept { return bytes_ - shared_bytes_; }
  // The bytes of shared messages that lie in this memory. Walks all entries.
  [[nodiscard]] std::size_t bytes_in(const StorePart& memory) const noexcept;

  enum class Put : std::uint8_t {
    added,     // the first of its tag
    replaced,  // another of its tag is superseded
    refused,   // more than `bytes_max` together, or no memory
  };
  // Copies the message; one that has a lease is shared instead.
  Put put(Label label, std::span<const std::byte> message, const Lease& lease,
          std::size_t bytes_max) noexcept;

  // The shared memory of the one of this tag; empty if it has none.
  [[nodiscard]] Lease shared(std::uint64_t tag) const noexcept {
    const auto found = by_tag_.find(tag);
    return found != by_tag_.end() ? found->second->lease : Lease();
  }
  // The oldest one, if it is shared memory, as a parcel; else false.
  bool take_shared(Parcel& parcel) noexcept;
  // Moves the oldest into the page, as long as they are copies and there is room.
  void pack(OpenPage& page) noexcept;
  void clear() noexcept;

 private:
  struct Entry {
    Label label;
    std::vector<std::byte> copy;  // the message, if `lease` is empty
    Lease lease;                  // else the memory of `shared`
    std::span<const std::byte> shared;

    [[nodiscard]] std::size_t shared_bytes() const noexcept { return lease ? shared.size() : 0; }
    [[nodiscard]] std::span<const std::byte> message() const noexcept {
      return lease ? shared : std::span<const std::byte>(copy);
    }
  };
  void pop() noexcept;

  std::deque<Entry> entries_;
  std::unordered_map<std::uint64_t, Entry*> by_tag_;
  std::size_t bytes_ = 0;
  std::size_t shared_bytes_ = 0;
};

}  // namespace netio::detail

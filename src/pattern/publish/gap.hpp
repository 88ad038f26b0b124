// How many messages were dropped one behind the other, for each reason: a gap in what a peer is
// sent. Takes no memory, however many are dropped and however often the reason changes.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

#include <netio/books.hpp>

namespace netio::detail {

class Drops {
 public:
  struct Part {
    std::uint64_t messages = 0;
    DropReason reason = DropReason::not_sent;
  };

  void add(const Part& part) noexcept {
    const auto at = std::find_if(parts_.begin(), parts_.end(), [&part](const Part& one) {
      return one.messages == 0 || one.reason == part.reason;
    });
    assert(at != parts_.end());
    at->messages += part.messages;
    at->reason = part.reason;
  }
  void add(const Drops& later) noexcept {
    for (const Part& part : later.parts_) {
      if (part.messages != 0) add(part);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return parts_.front().messages == 0; }
  // Of the reason that came first.
  [[nodiscard]] const Part& front() const noexcept { return parts_.front(); }
  void pop_front() noexcept {
    std::move(parts_.begin() + 1, parts_.end(), parts_.begin());
    parts_.back() = {};
  }

 private:
  // Dropped as new, as old, superseded, not sent. Those in use come first.
  std::array<Part, 4> parts_{};
};

}  // namespace netio::detail

// A page of the send pool for the fronts of messages: what stands before a last segment that is
// posted from where it lies. They lie behind each other, each with room around it for its link. The
// page is held as long as one of them is out. Owner thread only.
#pragma once

#include <cstddef>
#include <utility>

#include "memory/block.hpp"
#include "transport/link.hpp"

namespace netio::detail {

class FrontPage {
 public:
  [[nodiscard]] static constexpr std::size_t room_for(std::size_t bytes) noexcept {
    return front_room_before + wire_padded(bytes) + front_room_behind;
  }
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return page_ && room_for(bytes) <= page_->capacity() - used_;
  }
  void open(Lease page) noexcept {
    page_ = std::move(page);
    used_ = 0;
  }
  void close() noexcept { page_.reset(); }
  // All fronts in it are back.
  [[nodiscard]] bool unused() const noexcept { return page_ && page_->sole(); }

  // There is room. The bytes are the caller's to write.
  [[nodiscard]] PostBody add(std::size_t bytes) noexcept {
    const std::byte* const begin = page_->data() + used_ + front_room_before;
    used_ += room_for(bytes);
    return {page_, begin, bytes};
  }
  // The last one was not posted.
  void take_back(std::size_t bytes) noexcept { used_ -= room_for(bytes); }

 private:
  Lease page_;
  std::size_t used_ = 0;
};

}  // namespace netio::detail

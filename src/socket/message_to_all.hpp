// A message that every peer is to get, and the copies of it that peers share: one in each store
// that their wires send from. A copy is a page with the message in its frame or, of a message that
// is larger than a page, its bytes in large memory. Where each peer has a label of its own, such as
// the number of a request, nothing is shared: a wire may write the label next to the bytes. On the
// stack of one call.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <netio/options.hpp>

#include "memory/block.hpp"
#include "memory/store.hpp"
#include "socket/open_page.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

class MessageToAll {
 public:
  // With one label for all peers, or one for each, as long as this one.
  enum class Labels : bool { one, each };
  MessageToAll(std::span<const std::byte> bytes, Label label, Mode mode,
               Labels labels = Labels::one) noexcept
      : bytes_(bytes), label_(label), mode_(mode), labels_(labels) {}

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] Label label() const noexcept { return label_; }
  [[nodiscard]] bool one_label() const noexcept { return labels_ == Labels::one; }
  [[nodiscard]] bool buffered() const noexcept { return mode_ == Mode::buffered; }
  // What it takes in a page, if it is not too big for its peer.
  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return OpenPage::frame_bytes(bytes_.size(), label_);
  }

  // The copy in memory of this store; empty if there is none.
  [[nodiscard]] Lease copy_in(const Store& store) const noexcept {
    for (const Copy& copy : copies_) {
      if (copy.store == &store) return copy.lease;
    }
    return {};
  }
  // The next peers of the store share it. Of more stores than there are places, the copy that was
  // added last makes room: the peers that have it keep it.
  void add(const Store& store, const Lease& lease) noexcept {
    const std::size_t place = copies_added_ < copies_.size() ? copies_added_++ : copies_.size() - 1;
    copies_[place] = {&store, lease};
  }

 private:
  struct Copy {
    const Store* store = nullptr;
    Lease lease;
  };

  std::span<const std::byte> bytes_;
  Label label_;
  Mode mode_;
  Labels labels_;
  std::array<Copy, 8> copies_;
  std::size_t copies_added_ = 0;
};

}  // namespace netio::detail

// Subscribers with the same set of tags and the same kind of wire: what is published for them is
// encoded once, and its pages are shared. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <netio/status.hpp>

#include "base/tag_set.hpp"
#include "memory/block.hpp"
#include "pattern/publish/parcel.hpp"
#include "pattern/publish/staging.hpp"
#include "pattern/publish/subscriber.hpp"
#include "socket/open_page.hpp"
#include "transport/fit.hpp"
#include "wire/hello.hpp"

namespace netio::detail {

// In what wires must agree to carry the same bytes.
struct GroupKind {
  WireMode mode = WireMode::buffered;
  Fit fit;
  std::size_t body_max = 0;             // of a page
  std::uint64_t message_bytes_max = 0;  // what they take
  bool takes_segments = false;
  // Messages are kept until they are acknowledged; those in memory of this store are copied first,
  // because acknowledgements are read into it.
  bool kept = false;
  const Store* received = nullptr;

  bool operator==(const GroupKind&) const = default;
};

// A message on its way to all groups of an audience.
struct Outgoing {
  std::span<const std::byte> bytes;
  Label label;
  const Lease* lease = nullptr;  // the memory they lie in; null: they are only borrowed
  bool alone = false;            // as a post of its own everywhere: there are not pages for all
};

class Group {
 public:
  Group(const GroupKind& kind, const TagSet& tags, std::uint64_t message_bytes_max);

  [[nodiscard]] const GroupKind& kind() const noexcept { return kind_; }
  // Into the open page, if it has room: nearly always.
  bool gather_at_once(std::span<const std::byte> message, std::uint64_t tag) noexcept {
    constexpr std::size_t prefix = frame_word_bytes + sizeof tag;
    if (message.size() > gather_bytes_max_ || wire_padded(message.size()) + prefix > page_.room() ||
        tag == 0) [[unlikely]]
      return false;
    page_.append<true>(message, tag);
    return true;
  }

  // In two steps, so that all groups of an audience take a message or none: what could refuse it,
  // then what cannot. On `again`, `short_of` is where memory lacks, or null if a member blocks.
  Status prepare(const Outgoing& message, Staging& staging, Store*& short_of) noexcept;
  void write(const Outgoing& message, Staging& staging, Copies& copies) noexcept;
  // It takes a page of this pool for the message, or has just taken one.
  [[nodiscard]] bool wants_page(const Outgoing& message, const Pool& pages) const noexcept;

  // Hands the open page to the members.
  void close_page() noexcept;
  // Whether one is open; and if no member that keeps up has anything else on its wire, closes it.
  [[nodiscard]] bool holds_messages() const noexcept { return page_.messages() != 0; }
  void close_page_if_idle() noexcept;
  // A page that was opened and not written to goes back.
  void end_turn() noexcept;
  [[nodiscard]] std::uint32_t open_messages() const noexcept { return page_.messages(); }
  [[nodiscard]] std::size_t open_bytes() const noexcept {
    return page_.is_open() ? page_.bytes() : 0;
  }
  [[nodiscard]] std::uint64_t bodies_encoded() const noexcept {
    return bodies_encoded_ + page_.messages();
  }

  // A page is closed before members change.
  std::vector<Subscriber*> members;
  TagSet tags;
  bool active = false;  // listed as such by the publisher

  // Of an AudienceTable.
  static constexpr std::size_t no_slot = SIZE_MAX;
  std::size_t slot = no_slot;
  std::uint64_t key = 0;

 private:
  // How a message leaves.
  enum class Way : std::uint8_t {
    gathered,  // in the open page
    borrowed,  // as a post of its own, from where it lies
    shared,    // the same, by a count on its memory
    staged,    // the same, from a copy
    dropped,   // larger than these peers take
  };
  [[nodiscard]] Way way_of(const Outgoing& message) const noexcept;
  Status open_page(Store*& short_of) noexcept;
  [[nodiscard]] bool blocked() const noexcept;
  void share(Parcel parcel) noexcept;

  OpenPage page_;
  std::size_t gather_bytes_max_;
  GroupKind kind_;
  std::uint64_t bodies_encoded_ = 0;
};

}  // namespace netio::detail

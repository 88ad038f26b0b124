// The slow paths of a Group: pages that are full, messages that go alone.
#include "pattern/publish/group.hpp"

#include <algorithm>
#include <utility>

#include "memory/copy_thresholds.hpp"
#include "memory/pool.hpp"
#include "socket/peer.hpp"

namespace netio::detail {

Group::Group(const GroupKind& kind, const TagSet& its_tags, std::uint64_t message_bytes_max)
    : tags(its_tags), kind_(kind) {
  const std::size_t frame_max = kind.body_max - frame_word_bytes - sizeof(std::uint64_t);
  gather_bytes_max_ =
      kind.mode == WireMode::buffered
          ? std::min<std::uint64_t>({frame_max, message_bytes_max, kind.message_bytes_max})
          : 0;
}

Group::Way Group::way_of(const Outgoing& message) const noexcept {
  const std::size_t bytes = message.bytes.size();
  if (bytes > kind_.message_bytes_max) return Way::dropped;
  const bool segmented = (message.label.flags & frame_flag::segmented) != 0;
  if (segmented && !kind_.takes_segments) return Way::dropped;
  const bool buffered = kind_.mode == WireMode::buffered && !message.alone;
  const bool fits = buffered && bytes <= gather_bytes_max_;
  if (message.lease != nullptr) {
    if (fits && bytes <= kind_.body_max / gathered_page_part) return Way::gathered;
    const Fit::Answer answer = kind_.fit.of(*message.lease->get(), message.bytes, message.label);
    // Also a subscriber that is behind copies it: short messages must not hold large memory.
    if (kind_.fit.in_slots(answer)) return Way::borrowed;
    if (kind_.kept && message.lease->get()->owner() == kind_.received) return Way::staged;
    return kind_.fit.one_copy_serves_all(answer) ? Way::staged : Way::shared;
  }
  if (fits) return Way::gathered;
  const Fit::Answer answer = kind_.fit.of_borrowed(bytes, message.label);
  if (buffered || kind_.fit.before_post(answer)) return Way::staged;
  const bool one_copy = (members.size() > 1 && kind_.fit.one_copy_serves_all(answer)) ||
                        (kind_.kept && bytes > kind_.body_max / gathered_page_part);
  return one_copy ? Way::staged : Way::borrowed;
}

Status Group::prepare(const Outgoing& message, Staging& staging, Store*& short_of) noexcept {
  short_of = nullptr;
  const Way way = way_of(message);
  if (way == Way::gathered) {
    if (OpenPage::frame_bytes(message.bytes.size(), message.label) <= page_.room()) {
      return Status::ok;
    }
    if (blocked()) return Status::again;
    close_page();
    return open_page(short_of);
  }
  if (blocked()) return Status::again;
  if (way != Way::staged) return Status::ok;
  const Status status = staging.take(kind_.fit, message.bytes.size());
  if (status == Status::again) short_of = &staging.waited_in();
  return status;
}

bool Group::wants_page(const Outgoing& message, const Pool& pages) const noexcept {
  if (kind_.fit.pages != &pages || way_of(message) != Way::gathered) return false;
  return page_.messages() == 0 ||
         OpenPage::frame_bytes(message.bytes.size(), message.label) > page_.room();
}

Status Group::open_page(Store*& short_of) noexcept {
  Lease page = kind_.fit.pages->take();
  if (!page) {
    short_of = kind_.fit.pages;
    return Status::again;
  }
  page_.open(std::move(page), kind_.body_max);
  return Status::ok;
}

bool Group::blocked() const noexcept {
  bool blocked = false;
  for (Subscriber* const member : members) {
    if (!member->feed.blocked()) continue;
    member->blocking = blocked = true;
  }
  return blocked;
}

void Group::write(const Outgoing& message, Staging& staging, Copies& copies) noexcept {
  const Way way = way_of(message);
  if (way == Way::gathered) {
    if (message.lease != nullptr) copies.add(message.bytes.size());
    return page_.append(message.bytes, message.label);
  }
  close_page();
  if (way == Way::dropped) {
    for (Subscriber* const member : members) member->feed.skip(1);
    return;
  }
  Parcel parcel{{}, message.bytes.data(), message.bytes.size(), 1, false, message.label};
  if (way == Way::shared) parcel.lease = *message.lease;
  if (way == Way::borrowed && message.lease != nullptr) {
    for (std::size_t i = 0; i < members.size(); ++i) copies.add(message.bytes.size());
  }
  if (way == Way::staged) {
    const Staging::Copy& copy =
        staging.copy(kind_.fit, message.bytes, message.lease != nullptr ? &copies : nullptr);
    parcel.lease = copy.lease;
    parcel.data = copy.data;
  }
  ++bodies_encoded_;
  share(std::move(parcel));
}

void Group::close_page() noexcept {
  if (page_.messages() == 0) return;
  Parcel parcel{{}, page_.data(), page_.bytes(), page_.messages(), true, {}};
  bodies_encoded_ += parcel.messages;
  parcel.lease = page_.take();
  share(std::move(parcel));
}

void Group::share(Parcel parcel) noexcept {
  parcel.shared = members.size() > 1;
  const bool at_once = kind_.mode == WireMode::unbuffered;
  for (Subscriber* const member : members) {
    member->feed.share(parcel);
    if (at_once && !member->feed.away) member->peer->link()->flush();
  }
}

// Who is behind, or away, has no say: its page waits above the link in any case.
void Group::close_page_if_idle() noexcept {
  const bool busy = std::any_of(members.begin(), members.end(), [](const Subscriber* member) {
    return !member->feed.away && member->feed.empty() && !member->peer->link()->idle();
  });
  if (!busy) close_page();
}

void Group::end_turn() noexcept {
  if (page_.is_open() && page_.messages() == 0) page_.close();
}

}  // namespace netio::detail

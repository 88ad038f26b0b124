// How subscribers join and leave groups, and rows their audiences.
#include "pattern/publish/groups.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/publish/subscriber.hpp"

namespace netio::detail {

namespace {

// What takes longer than to walk over a range (about 3 ns), and how many times as long. So a host
// whose changes move rows all the time takes some hundredths of the publisher's time too.
constexpr std::size_t row_cost = 16;        // to find a row and to move it
constexpr std::size_t audience_cost = 128;  // to find an audience, or make it
constexpr std::size_t word_cost = 4;        // of its bits

auto order_of(const GroupKind& kind) noexcept {
  return std::make_tuple(
      kind.mode, kind.takes_segments, reinterpret_cast<std::uintptr_t>(kind.fit.pages),
      reinterpret_cast<std::uintptr_t>(kind.fit.loans),
      reinterpret_cast<std::uintptr_t>(kind.fit.received), kind.fit.short_body_bytes_max,
      kind.fit.borrowed_bytes_max, kind.fit.reads_borrowed, kind.body_max, kind.message_bytes_max,
      kind.kept, reinterpret_cast<std::uintptr_t>(kind.received));
}

}  // namespace

bool Groups::Order::before(const Key& a, const Key& b) noexcept {
  const std::span<const TagRange> these = a.tags.ranges();
  const std::span<const TagRange> those = b.tags.ranges();
  if (these.size() != those.size()) return these.size() < those.size();
  const auto [one, other] = std::mismatch(these.begin(), these.end(), those.begin());
  if (one == these.end()) return order_of(a.kind) < order_of(b.kind);
  return one->first != other->first ? one->first < other->first : one->last < other->last;
}

Groups::ByTags::iterator Groups::find(const GroupKind& kind, const TagSet& tags) noexcept {
  cost_ += static_cast<double>(tags.size() * std::bit_width(groups_.size()));
  return by_tags_.find(Key{kind, tags});
}

// Messages so far are for the old set: what is open is closed before anything changes.
void Groups::change(Subscriber& subscriber, const GroupKind& kind, const TagSet& added,
                    const TagSet& removed) {
  Group* const now = subscriber.group;
  if (now != nullptr) now->close_page();
  if (added.empty() && removed.empty()) {
    subscriber.next.clear();
    return;
  }
  const bool alone = now != nullptr && now->members.size() == 1 && !subscriber.next.empty();
  if (alone && find(kind, subscriber.next) == by_tags_.end()) {
    TagSet tags = subscriber.next;
    move_rows(*now, removed, Move::out);
    move_rows(*now, added, Move::in);
    auto node = by_tags_.extract(find(now->kind(), now->tags));
    now->tags = std::move(tags);
    by_tags_.insert(std::move(node));
  } else {
    leave(subscriber);
  }
  subscriber.set = std::exchange(subscriber.next, TagSet());
  if (subscriber.group == nullptr) enter(subscriber, kind);
}

void Groups::enter(Subscriber& subscriber, const GroupKind& kind) {
  if (subscriber.set.empty()) return;
  const auto found = find(kind, subscriber.set);
  Group* group = nullptr;
  if (found != by_tags_.end()) {
    group = *found;
  } else {
    groups_.push_back(std::make_unique<Group>(kind, subscriber.set, message_bytes_max_));
    group = groups_.back().get();
    audiences_.enter(*group);
    by_tags_.insert(group);
    move_rows(*group, group->tags, Move::in);
  }
  group->close_page();
  group->members.push_back(&subscriber);
  subscriber.group = group;
}

void Groups::leave(Subscriber& subscriber) noexcept {
  Group* const group = std::exchange(subscriber.group, nullptr);
  if (group == nullptr) return;
  group->close_page();
  std::erase(group->members, &subscriber);
  if (!group->members.empty()) return;
  guard_memory([&] { move_rows(*group, group->tags, Move::out); },
               [this]() noexcept { begin_again(); });
  bodies_before_ += group->bodies_encoded();
  remove(*group);
}

// No row has it.
void Groups::remove(Group& group) noexcept {
  const auto found = find(group.kind(), group.tags);
  if (found != by_tags_.end() && *found == &group) by_tags_.erase(found);
  audiences_.leave(group);
  on_group_gone(group);
  std::erase_if(groups_, [&group](const auto& entry) { return entry.get() == &group; });
}

// Neighbours mostly have the same audience: each is looked up once.
void Groups::move_rows(Group& group, const TagSet& tags, Move move) {
  if (incomplete_ || over_ != nullptr) return;
  Audience* from = nullptr;
  Audience* to = nullptr;
  std::size_t rows = 0;
  std::size_t audiences = 0;
  const std::size_t walked = tags_.for_each_in(tags, [&](TagTable::Row& row) {
    if (rows == 0 || row.own != from) {
      audiences_.move(from, to, std::exchange(rows, 0));
      from = row.own;
      to = move == Move::in ? audiences_.with(from, group) : audiences_.without(from, group);
      ++audiences;
    }
    row.own = to;
    if (all_ == nullptr) row.audience = to;
    ++rows;
  });
  audiences_.move(from, to, rows);
  cost_ += static_cast<double>(walked * row_cost +
                               audiences * (audience_cost + word_cost * audiences_.words()));
}

TagRow& Groups::add_row(std::uint64_t tag, bool resolved) {
  if (!resolved && tags_.full()) {
    tags_.forget_unresolved([this](TagTable::Row& row) { audiences_.move(row.own, nullptr, 1); });
  }
  Audience* const own = audience_of(tag);
  audiences_.move(nullptr, own, 1);
  try {
    TagTable::Row& row = tags_.add(tag, resolved);
    row.own = own;
    row.audience = all_ != nullptr ? all_ : own;
    return row;
  } catch (...) {
    audiences_.move(own, nullptr, 1);
    throw;
  }
}

Audience* Groups::audience_of(std::uint64_t tag) {
  if (incomplete_ || over_ != nullptr) return nullptr;
  audiences_.begin(nullptr);
  for (const auto& group : groups_) {
    if (group->tags.contains(tag)) audiences_.add(*group);
  }
  return audiences_.end();
}

std::uint64_t Groups::bodies_encoded() const noexcept {
  std::uint64_t bodies = bodies_before_;
  for (const auto& group : groups_) bodies += group->bodies_encoded();
  return bodies;
}

void Groups::show() noexcept {
  Audience* const missed = held_ || incomplete_ ? &missed_ : nullptr;
  Audience* const all = over_ != nullptr ? over_ : missed;
  if (std::exchange(all_, all) == all) return;
  tags_.for_each([all](TagTable::Row& row) { row.audience = all != nullptr ? all : row.own; });
}

void Groups::hold(bool held) noexcept {
  if (held && all_ == nullptr) {
    for (const auto& group : groups_) group->close_page();
  }
  held_ = held;
  show();
}

void Groups::end_with(Audience& audience) noexcept {
  hold(true);
  answer_with(audience);
}

void Groups::answer_with(Audience& audience) noexcept {
  over_ = &audience;
  show();
}

void Groups::forget_rows() noexcept {
  tags_.for_each([](TagTable::Row& row) { row.own = nullptr; });
  audiences_.clear();
}

void Groups::begin_again() noexcept {
  if (over_ != nullptr) return;
  if (all_ == nullptr) {
    for (const auto& group : groups_) group->close_page();
  }
  incomplete_ = true;
  show();
  forget_rows();
}

bool Groups::complete_again() noexcept {
  // Those that somebody was about to enter.
  for (std::size_t i = groups_.size(); i-- > 0;) {
    if (groups_[i]->members.empty()) remove(*groups_[i]);
  }
  incomplete_ = false;
  guard_memory(
      [this] {
        tags_.for_each([this](TagTable::Row& row) {
          row.own = audience_of(row.tag);
          audiences_.move(nullptr, row.own, 1);
        });
      },
      [this]() noexcept {
        incomplete_ = true;
        forget_rows();
      });
  show();
  return !incomplete_;
}

}  // namespace netio::detail

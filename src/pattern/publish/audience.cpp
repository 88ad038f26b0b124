// The audiences there are.
#include "pattern/publish/audience.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/random.hpp"
#include "pattern/publish/group.hpp"

namespace netio::detail {

namespace {

constexpr std::size_t word_bits = 64;

// So that no subscriber can make many audiences with the same hash (splitmix64, from a random
// start).
std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

bool by_slot(const Group* a, const Group* b) noexcept { return a->slot < b->slot; }

void set_bit(std::vector<std::uint64_t>& words, std::size_t slot) {
  if (slot / word_bits >= words.size()) words.resize(slot / word_bits + 1);
  words[slot / word_bits] |= std::uint64_t{1} << slot % word_bits;
}

}  // namespace

void AudienceTable::enter(Group& group) {
  if (free_.empty()) {
    // Neither leaving nor listing must fail.
    const std::size_t most = by_slot_.size() + 1;
    if (free_.capacity() < most) free_.reserve(2 * most);
    if (listed_.capacity() < most) listed_.reserve(2 * most);
    by_slot_.push_back(nullptr);
    free_.push_back(by_slot_.size() - 1);
  }
  if (next_key_ == 0) {
    const auto bytes = random_bytes<sizeof next_key_>();
    std::memcpy(&next_key_, bytes.data(), sizeof next_key_);
  }
  group.slot = free_.back();
  free_.pop_back();
  by_slot_[group.slot] = &group;
  group.key = mixed(next_key_ += 0x9e3779b97f4a7c15U);
}

void AudienceTable::leave(Group& group) noexcept {
  if (group.slot == Group::no_slot) return;
  by_slot_[group.slot] = nullptr;
  free_.push_back(std::exchange(group.slot, Group::no_slot));
}

void AudienceTable::begin(const Audience* audience) {
  static const Audience nobody;
  const Audience& from = audience != nullptr ? *audience : nobody;
  made_.groups = from.groups;
  made_.slots = from.slots;
  made_.count = from.count;
  made_.hash = from.hash;
}

void AudienceTable::add(Group& group) {
  std::vector<Group*>& groups = made_.groups;
  if (made_.count < Audience::listed_max) {
    groups.insert(std::upper_bound(groups.begin(), groups.end(), &group, by_slot), &group);
  } else {
    for (const Group* const listed : groups) set_bit(made_.slots, listed->slot);
    groups.clear();
    set_bit(made_.slots, group.slot);
  }
  ++made_.count;
  made_.hash ^= group.key;
}

void AudienceTable::remove(Group& group) {
  std::vector<std::uint64_t>& slots = made_.slots;
  if (slots.empty()) {
    std::erase(made_.groups, &group);
  } else {
    slots[group.slot / word_bits] &= ~(std::uint64_t{1} << group.slot % word_bits);
    while (slots.back() == 0) slots.pop_back();
  }
  made_.hash ^= group.key;
  if (--made_.count == Audience::listed_max) {
    made_.groups = list(made_);
    slots.clear();
  }
}

Audience* AudienceTable::end() {
  if (made_.count == 0) return nullptr;
  if (const auto found = audiences_.find(made_); found != audiences_.end()) return found->get();
  auto audience = std::make_unique<Audience>(made_);
  if (audience->count == 1) audience->only = audience->groups.front();
  return audiences_.insert(std::move(audience)).first->get();
}

Audience* AudienceTable::with(const Audience* audience, Group& group) {
  begin(audience);
  add(group);
  return end();
}

Audience* AudienceTable::without(const Audience* audience, Group& group) {
  if (audience == nullptr) return nullptr;
  begin(audience);
  remove(group);
  return end();
}

void AudienceTable::move(Audience* from, Audience* to, std::size_t rows) noexcept {
  if (to != nullptr) to->rows += rows;
  if (from == nullptr) return;
  from->rows -= rows;
  if (from->rows == 0) audiences_.erase(audiences_.find(*from));
}

const std::vector<Group*>& AudienceTable::list(const Audience& audience) noexcept {
  listed_.clear();
  for (std::size_t i = 0; i < audience.slots.size(); ++i) {
    for (std::uint64_t word = audience.slots[i]; word != 0; word &= word - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(word));
      listed_.push_back(by_slot_[i * word_bits + bit]);
    }
  }
  assert(listed_.size() == audience.count || &audience == &made_);
  return listed_;
}

}  // namespace netio::detail

// See unit_store.hpp.
#include "units/unit_store.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/out_of_memory.hpp"

namespace netio::detail {

std::uint32_t UnitStore::take_slot() noexcept {
  if (free_ != none) return std::exchange(free_, slots_[free_].next_free);
  try {
    slots_.emplace_back();
  } catch (const std::bad_alloc&) {
    return none;
  }
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

bool UnitStore::open(std::uint32_t builder, Lease page, std::size_t bytes,
                     std::size_t from) noexcept {
  const std::uint32_t index = take_slot();
  if (index == none) return false;
  close(open_[builder]);
  Slot& slot = slots_[index];
  slot.page = std::move(page);
  slot.fragments = 1;
  open_[builder] = {index, from, bytes};
  return true;
}

bool UnitStore::open(std::uint32_t builder) noexcept {
  Message memory = message(page_bytes, 0);
  return memory && open(builder, Lease::adopt(memory.release_block()), page_bytes);
}

Message UnitStore::message(std::size_t bytes, std::uint64_t tag, std::size_t room) noexcept {
  Lease memory = pool_.plenty() ? pool_.take(room + bytes) : Lease();
  std::byte* data = nullptr;
  if (memory) {
    data = memory->data();
  } else {
    Message own;
    guard_memory([&] { own = Message::of_size(room + bytes, tag); }, []() noexcept {});
    if (!own) return own;
    data = own.writable_bytes().data();
    memory = Lease::adopt(own.release_block());
  }
  Message message = Message::writable(memory.release(), {data + room, bytes}, tag);
  message.set_head_room(room);
  return message;
}

UnitStore::Name UnitStore::add(Message& message) noexcept {
  const std::uint32_t index = take_slot();
  if (index == none) return 0;
  slots_[index].message = std::move(message);
  slots_[index].fragments = 1;
  return name_of(index, 0);
}

Message UnitStore::take_back(Name name) noexcept {
  Message message = std::move(slots_[slot_of(name)].message);
  forget(name);
  return message;
}

void UnitStore::take_back(std::uint32_t builder, Name name) noexcept {
  open_[builder].used = offset_of(name);
  forget(name);
}

void UnitStore::close(OpenPage& open) noexcept {
  if (open.slot != none) drop(open.slot, 1);
  open = {};
}

void UnitStore::free_slot(std::uint32_t index) noexcept {
  Slot& slot = slots_[index];
  last_name_ = 0;
  slot.page.reset();
  slot.message = Message();
  slot.next_free = std::exchange(free_, index);
}

}  // namespace netio::detail

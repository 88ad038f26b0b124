// The slow path of a sampling peer that is behind: it may allocate, and takes no for an answer.
#include "pattern/publish/samples.hpp"

#include <new>
#include <utility>

#include "pattern/publish/parcel.hpp"
#include "socket/open_page.hpp"

namespace netio::detail {

namespace {
// What an entry takes beside its bytes: itself, its place among the tags, two heads of the heap's.
constexpr std::size_t entry_bytes = 160;
}  // namespace

Samples::Put Samples::put(Label label, std::span<const std::byte> message, const Lease& lease,
                          std::size_t bytes_max) noexcept try {
  const auto found = by_tag_.find(label.number);
  const std::size_t before =
      found != by_tag_.end() ? entry_bytes + found->second->message().size() : 0;
  const std::size_t after = entry_bytes + message.size();
  if (bytes_ - before + after > bytes_max) return Put::refused;
  Entry fresh;
  fresh.label = label;
  fresh.lease = lease;
  fresh.shared = message;
  if (!lease) fresh.copy.assign(message.begin(), message.end());
  bytes_ += after - before;
  shared_bytes_ += fresh.shared_bytes();
  if (found != by_tag_.end()) {
    shared_bytes_ -= found->second->shared_bytes();
    *found->second = std::move(fresh);
    return Put::replaced;
  }
  try {
    entries_.push_back(std::move(fresh));
  } catch (const std::bad_alloc&) {
    bytes_ -= after;
    shared_bytes_ -= fresh.shared_bytes();
    return Put::refused;
  }
  try {
    by_tag_.emplace(label.number, &entries_.back());
  } catch (const std::bad_alloc&) {
    bytes_ -= after;
    shared_bytes_ -= entries_.back().shared_bytes();
    entries_.pop_back();
    return Put::refused;
  }
  return Put::added;
} catch (const std::bad_alloc&) {
  return Put::refused;
}

std::size_t Samples::bytes_in(const StorePart& memory) const noexcept {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) {
    if (memory.has(entry.lease)) bytes += entry.shared.size();
  }
  return bytes;
}

bool Samples::take_shared(Parcel& parcel) noexcept {
  Entry& first = entries_.front();
  if (!first.lease) return false;
  parcel = {first.lease, first.shared.data(), first.shared.size(), 1, false, first.label};
  pop();
  return true;
}

void Samples::pack(OpenPage& page) noexcept {
  while (!entries_.empty()) {
    const Entry& first = entries_.front();
    if (first.lease || OpenPage::frame_bytes(first.copy.size(), first.label) > page.room()) return;
    page.append(first.copy, first.label);
    pop();
  }
}

void Samples::pop() noexcept {
  const Entry& first = entries_.front();
  bytes_ -= entry_bytes + first.message().size();
  shared_bytes_ -= first.shared_bytes();
  by_tag_.erase(first.label.number);
  entries_.pop_front();
}

void Samples::clear() noexcept {
  entries_.clear();
  by_tag_.clear();
  bytes_ = shared_bytes_ = 0;
}

}  // namespace netio::detail

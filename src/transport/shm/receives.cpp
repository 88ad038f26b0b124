// Every word of the peer's is read once, and checked.
#include "transport/shm/receives.hpp"

#include <utility>

namespace netio::detail {

namespace {
std::uint64_t read_once(const std::uint64_t& word) noexcept {
  return load_once(reinterpret_cast<const std::byte*>(&word));
}
}  // namespace

Lease ShmReceives::starve(Store& store) noexcept {
  starved_store_ = &store;
  return {};
}

Lease ShmReceives::copy_out(const ShmSlot& slot, std::size_t bytes,
                            std::span<const std::byte>& body) noexcept {
  if (copies_ && copies_.get()->sole()) copied_bytes_ = 0;
  if (!copies_ || copies_->capacity() - copied_bytes_ < bytes) {
    copies_.reset();
    copies_ = pool_.take(quota_);
    copied_bytes_ = 0;
    if (!copies_) return starve(pool_);
  }
  std::byte* const to = copies_->data() + copied_bytes_;
  for (std::size_t at = 0; at < bytes; at += wire_align) {
    store_u64(to + at, load_once(slot.body.data() + at));
  }
  copied_bytes_ += bytes;
  body = {to, bytes};
  return copies_;
}

// The page's memory; without, defect_ or starved_store_ says why.
Lease ShmReceives::fetch(const ShmSlot& slot, const PageHeader& header,
                         std::span<const std::byte>& body) noexcept {
  const std::uint64_t place = read_once(slot.place);
  const std::uint64_t page = read_once(slot.page);
  defect_ = netio::detail::defect(header);
  if (defect_ != nullptr) return {};
  if (place == ShmSlot::inline_body) {
    if (header.bytes <= slot.body.size()) return copy_out(slot, header.bytes, body);
    defect_ = "a page that is longer than its slot";
    return {};
  }
  if (quota_ != nullptr && !quota_->fits(header.bytes)) return starve(memory_);
  Lease lease = memory_.take(page, place, header.bytes, quota_, defect_);
  if (lease) body = {lease->data(), header.bytes};
  return lease;
}

ShmReceives::Result ShmReceives::take(LinkEvents& events, const bool& paused,
                                      int budget) noexcept {
  Result result = Result::more;
  const std::uint64_t before = taken_;
  while (budget-- > 0) {
    if (paused) {
      result = Result::paused;
      break;
    }
    if (!waiting()) {
      result = Result::empty;
      break;
    }
    const ShmSlot& slot = next_slot();
    const PageHeader header = load_page_header(slot.header.data());
    std::span<const std::byte> body;
    Lease lease = fetch(slot, header, body);
    if (!lease) {
      result = defect_ != nullptr ? Result::bad : Result::starved;
      break;
    }
    ++taken_;
    bytes_ += page_header_bytes + header.bytes;
    events.on_page(header, *lease.get(), body);
  }
  if (taken_ != before) ours_.consumed.store(taken_, std::memory_order_release);
  return result;
}

void ShmReceives::discard() noexcept {
  while (waiting()) ++taken_;
  ours_.consumed.store(taken_, std::memory_order_release);
}

}  // namespace netio::detail

// What a wire does with a message, from what its links have said once.
#include "transport/fit.hpp"

#include "wire/page.hpp"

namespace netio::detail {

namespace {

std::size_t body_bytes(std::size_t message_bytes, Label label) noexcept {
  return label.bytes() + wire_padded(message_bytes);
}

bool holds(const Pool& pool, const std::byte* data) noexcept {
  const std::span<std::byte> region = pool.region();
  return data >= region.data() && data < region.data() + region.size();
}

}  // namespace

bool Fit::reads(const Block& memory, const std::byte* data) const noexcept {
  return received == nullptr || holds(*pages, data) || holds(*received, data) ||
         large->owns(memory);
}

Fit::Answer Fit::of(const Block& memory, std::span<const std::byte> message, Label label,
                    std::size_t front_bytes) const noexcept {
  const std::size_t bytes = front_bytes + message.size();
  const bool whole = bytes <= whole_page_bytes_max - page_header_bytes - frame_prefix_bytes_max;
  if (body_bytes(bytes, label) <= short_body_bytes_max) return {Way::copied, nullptr};
  if (loans != nullptr) {
    if (peer_reads(memory, bytes)) return {Way::in_place};
    return {Way::copied, whole ? static_cast<const Store*>(pages) : loans};
  }
  if (!whole) return {Way::in_parts};
  // What is larger is registered for as long as the peer reads it.
  const bool fits_page = page_header_bytes + body_bytes(bytes, label) <= pages->block_bytes();
  if (fits_page && !reads(memory, message.data())) return {Way::copied, pages};
  return {Way::in_place};
}

bool Fit::sends_page_from(const Block& memory, std::span<const std::byte> frames) const noexcept {
  if (frames.size() <= short_body_bytes_max) return false;
  if (loans == nullptr) return reads(memory, frames.data());
  return memory.owner() == pages || peer_reads(memory, frames.size());
}

Fit::Answer Fit::of_borrowed(std::size_t bytes, Label label) const noexcept {
  if (bytes > borrowed_bytes_max) return {Way::copied, &large_store()};
  if (body_bytes(bytes, label) <= short_body_bytes_max) return {Way::copied, nullptr};
  if (reads_borrowed) return {Way::in_place};
  return {Way::copied, pages};
}

Fit::Taken Fit::take_shared(std::size_t bytes) const noexcept {
  return with_large([this, bytes](auto& store) {
    Taken taken{pages != nullptr ? pages->take_from(store, bytes) : store.take(bytes), nullptr};
    if (!taken.lease && store.could_ever_take(bytes)) taken.short_of = &store;
    return taken;
  });
}

Fit::Taken Fit::take_to_write(std::size_t bytes) const noexcept {
  if (loans != nullptr || bytes > pages->block_bytes()) return take_shared(bytes);
  Taken taken{pages->take(), nullptr};
  if (!taken.lease) taken.short_of = pages;
  return taken;
}

}  // namespace netio::detail

#include "transport/ofi/sends.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include <rdma/fi_errno.h>

namespace netio::detail {

namespace {

// A header, the longest prefix, and the zeros that pad a body, in one slot per entry.
constexpr std::size_t head_bytes = 64;
constexpr std::size_t zeros_at = page_header_bytes + frame_prefix_bytes_max;
static_assert(zeros_at + wire_align == head_bytes);
static_assert(OfiSends::entries_max * head_bytes == Device::heads_bytes);

// What a provider injects beyond this is copied into a page like anything else.
constexpr std::size_t inject_bytes_most = 512;

// Writes the whole of the longest prefix: what follows is put behind the part that is used.
std::size_t put_head(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  store(to, header);
  std::memcpy(to + page_header_bytes, post.prefix.data(), post.prefix.size());
  return page_header_bytes + post.prefix_bytes;
}

// The page as one piece, padded; its bytes.
std::size_t copy_page(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  const std::size_t head = put_head(to, header, post);
  const std::size_t bytes = page_header_bytes + header.bytes;
  if (post.body.bytes != 0) std::memcpy(to + head, post.body.data, post.body.bytes);
  std::memset(to + head + post.body.bytes, 0, bytes - head - post.body.bytes);
  return bytes;
}

iovec part(const std::byte* data, std::size_t bytes) noexcept {
  return {const_cast<std::byte*>(data), bytes};
}

}  // namespace

OfiSends::OfiSends(OfiOperationsOwner& owner, Device& device, const TransportResources& resources,
                   std::size_t inject_bytes_max)
    : owner_(owner),
      device_(device),
      pool_(resources.send_pool),
      inject_bytes_max_(std::min(inject_bytes_max, inject_bytes_most)),
      heads_(device.take_heads(heads_descriptor_)),
      operations_(std::make_unique<Operation[]>(entries_max)) {
  for (std::size_t i = 0; i < entries_max; ++i) {
    operations_[i].owner = this;
    store_u64(heads_->data() + i * head_bytes + zeros_at, 0);
  }
}

long OfiSends::send(Endpoint& endpoint, const PageHeader& header, Post& post) noexcept {
  waits_for_memory_ = false;
  const std::size_t bytes = page_header_bytes + header.bytes;
  const bool control = (header.flags & page_flag::control) != 0;  // is waited for before closing
  if (bytes <= inject_bytes_max_ && !control) {
    std::array<std::byte, inject_bytes_most> packed;
    (void)copy_page(packed.data(), header, post);
    const long answer = endpoint.inject({packed.data(), bytes});
    if (answer == 0) post.body.lease.reset();
    return answer;
  }
  if (full()) return -FI_EAGAIN;
  const Device::Local memory =
      post.body.lease ? device_.local(post.body.lease.get(), {post.body.data, post.body.bytes})
                      : Device::Local{};
  if (!memory.usable && post.body.bytes != 0) return send_copied(endpoint, header, post);
  std::byte* const head = heads_->data() + (first_ + entries_used_) % entries_max * head_bytes;
  const std::size_t pad = wire_padded(post.body.bytes) - post.body.bytes;
  std::array<iovec, 3> parts{part(head, put_head(head, header, post)),
                             part(post.body.data, post.body.bytes), part(head + zeros_at, pad)};
  store_u64(head + zeros_at, 0);
  std::array<void*, 3> descriptors{heads_descriptor_, memory.descriptor, heads_descriptor_};
  const std::size_t used = post.body.bytes == 0 ? 1 : pad == 0 ? 2 : 3;
  return post_parts(endpoint, {parts.data(), used}, descriptors.data(), post.body.lease, bytes);
}

// Empty when others should have what is left.
Lease OfiSends::take_page() noexcept {
  Lease page;
  if (idle() || pool_.plenty()) page = pool_.take();
  waits_for_memory_ = !page;
  return page;
}

// Takes the page on success.
long OfiSends::send_page(Endpoint& endpoint, Lease& page, std::size_t bytes) noexcept {
  void* descriptor = device_.local(page.get(), {page->data(), bytes}).descriptor;
  const iovec whole = part(page->data(), bytes);
  return post_parts(endpoint, {&whole, 1}, &descriptor, page, bytes);
}

// The body is only borrowed, or lies where the device cannot read it.
long OfiSends::send_copied(Endpoint& endpoint, const PageHeader& header,
                           const Post& post) noexcept {
  Lease page = take_page();
  if (!page) return -FI_EAGAIN;
  return send_page(endpoint, page, copy_page(page->data(), header, post));
}

long OfiSends::send_bytes(Endpoint& endpoint, std::span<const std::byte> bytes) noexcept {
  Lease page = take_page();
  if (!page) return -FI_EAGAIN;
  std::memcpy(page->data(), bytes.data(), bytes.size());
  return send_page(endpoint, page, bytes.size());
}

long OfiSends::hold_back(const PageHeader& header, const Post& post) noexcept {
  waits_for_memory_ = false;
  const std::size_t bytes = page_header_bytes + header.bytes;
  Held* last = held_used_ == 0 ? nullptr : &held_[(first_held_ + held_used_ - 1) % held_max];
  if (last == nullptr || last->page->capacity() - last->bytes < bytes) {
    if (held_used_ == held_max) return -FI_EAGAIN;
    Lease page = take_page();
    if (!page) return -FI_EAGAIN;
    last = &held_[(first_held_ + held_used_++) % held_max];
    *last = {std::move(page), 0};
  }
  last->bytes += copy_page(last->page->data() + last->bytes, header, post);
  queued_bytes_ += bytes;
  return 0;
}

long OfiSends::send_held(Endpoint& endpoint, const PageHeader& tells) noexcept {
  if (full()) return -FI_EAGAIN;
  Held& held = held_[first_held_];
  PageHeader header = load_page_header(held.page->data());
  header.credits = tells.credits;
  header.fetched = tells.fetched;
  header.acknowledged = tells.acknowledged;
  store(held.page->data(), header);
  const long answer = send_page(endpoint, held.page, held.bytes);
  if (answer != 0) return answer;
  queued_bytes_ -= held.bytes;  // it is counted among the entries now
  first_held_ = (first_held_ + 1) % held_max;
  --held_used_;
  return 0;
}

// Takes the lease on success.
long OfiSends::post_parts(Endpoint& endpoint, std::span<const iovec> parts, void** descriptors,
                          Lease& lease, std::size_t bytes) noexcept {
  const std::size_t index = (first_ + entries_used_) % entries_max;
  const long answer = endpoint.send(parts, descriptors, true, &operations_[index]);
  if (answer != 0) return answer;
  entries_[index] = {std::move(lease), bytes, false};
  ++entries_used_;
  queued_bytes_ += bytes;
  return 0;
}

long OfiSends::lend(Endpoint& endpoint, PageHeader header, Post& post) noexcept {
  waits_for_memory_ = false;
  if (full()) return -FI_EAGAIN;
  Lend& entry = lends_[(first_lend_ + lends_used_) % lends_max];
  const MemoryRegion* const region =
      device_.lend(*post.body.lease.get(), {post.body.data, post.body.bytes}, entry.own);
  if (region == nullptr) return -FI_ENOMEM;
  header.flags |= page_flag::lent;
  header.bytes = static_cast<std::uint32_t>(post.prefix_bytes + sizeof(std::uint64_t) * 2);
  std::array<std::byte, head_bytes> packed;
  std::byte* to = packed.data() + put_head(packed.data(), header, post);
  store_u64(to, region->remote_address(post.body.data));
  store_u64(to + sizeof(std::uint64_t), region->key());
  const std::size_t bytes = page_header_bytes + header.bytes;
  long answer = 0;
  if (bytes <= inject_bytes_max_) {
    answer = endpoint.inject({packed.data(), bytes});
  } else {
    std::byte* const head = heads_->data() + (first_ + entries_used_) % entries_max * head_bytes;
    std::memcpy(head, packed.data(), bytes);
    const iovec whole = part(head, bytes);
    Lease none;
    answer = post_parts(endpoint, {&whole, 1}, &heads_descriptor_, none, 0);
  }
  if (answer != 0) {
    entry.own.reset();
    return answer;
  }
  entry.bytes = post.body.bytes;
  entry.lease = std::move(post.body.lease);
  ++lends_used_;
  queued_bytes_ += entry.bytes;
  return 0;
}

bool OfiSends::fetched(std::uint32_t count) noexcept {
  if (count > lends_used_) return false;
  for (; count != 0; --count) {
    Lend& entry = lends_[first_lend_];
    queued_bytes_ -= entry.bytes;
    entry.own.reset();
    entry.lease.reset();
    first_lend_ = (first_lend_ + 1) % lends_max;
    --lends_used_;
  }
  return true;
}

void OfiSends::on_completion(Operation& operation, std::size_t) noexcept {
  entries_[static_cast<std::size_t>(&operation - operations_.get())].done = true;
  while (entries_used_ != 0 && entries_[first_].done) {
    queued_bytes_ -= entries_[first_].bytes;
    entries_[first_].lease.reset();
    first_ = (first_ + 1) % entries_max;
    --entries_used_;
  }
  owner_.on_progress();
}

void OfiSends::on_failure(Operation&, int error) noexcept { owner_.on_wire_failure(error); }

void OfiSends::abandon(CompletionQueue& queue) noexcept {
  for (std::size_t i = 0; i < entries_max; ++i) {
    operations_[i].owner = nullptr;
    entries_[i].lease.reset();
  }
  queue.bury(std::move(operations_));
  (void)fetched(static_cast<std::uint32_t>(lends_used_));
  for (Held& held : held_) held.page.reset();
  entries_used_ = held_used_ = queued_bytes_ = 0;
  heads_.reset();
}

}  // namespace netio::detail

// A ring of entries, each one message; heads lie in registered memory of their own.
#include "transport/ofi/sends.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/point.hpp"
#include "memory/copy_thresholds.hpp"
#include "transport/ofi/fabric_message.hpp"

namespace netio::detail {

namespace {

// A header, the longest prefix, and the zeros that pad a body, in one slot per entry.
constexpr std::size_t head_slot_bytes = 64;
constexpr std::size_t zeros_at = page_header_bytes + frame_prefix_bytes_max;
static_assert(zeros_at + wire_align == head_slot_bytes);
static_assert(OfiSends::entries_max * head_slot_bytes == Device::heads_bytes);

// A body that is not in one of our pages counts with no more than this among what is queued: it
// takes no memory here, and several have to be on their way for the wire to be busy all the time.
constexpr std::size_t lend_bytes_most = 128U << 10U;

// Writes the whole of the longest prefix: what follows is put behind the part that is used.
std::size_t put_head(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  store(to, header);
  std::memcpy(to + page_header_bytes, post.prefix.data(), post.prefix.size());
  return page_header_bytes + post.prefix_bytes;
}

// The page as one piece, padded; its bytes. `to` has room for a whole head.
std::size_t copy_page(std::byte* to, const PageHeader& header, const Post& post) noexcept {
  std::size_t head = put_head(to, header, post);
  const std::size_t bytes = page_header_bytes + header.bytes;
  if (post.front != nullptr) std::memcpy(to + head, post.front->data, post.front->bytes);
  head += post.front_bytes();
  if (post.body.bytes != 0) std::memcpy(to + head, post.body.data, post.body.bytes);
  std::memset(to + head + post.body.bytes, 0, bytes - head - post.body.bytes);
  return bytes;
}

iovec part(const std::byte* data, std::size_t bytes) noexcept {
  return {const_cast<std::byte*>(data), bytes};
}

}  // namespace

OfiSends::OfiSends(OfiOperationsOwner& owner, CompletionQueue& queue, Device& device, Pool& pool,
                   std::size_t inject_bytes_max, Copies* copies)
    : OfiOperations(owner, queue, entries_max),
      device_(device),
      pool_(pool),
      copied_(copies),
      inject_bytes_max_(std::min(inject_bytes_max, put_together_bytes_max)),
      heads_(device.take_heads(heads_descriptor_)) {}

void OfiSends::describe(Fit& fit) const noexcept {
  fit.received = device_.registered_receive_pages();
  fit.short_body_bytes_max = inject_bytes_max_ - std::min(inject_bytes_max_, page_header_bytes);
}

std::size_t OfiSends::Entry::queued_bytes() const noexcept {
  const std::size_t body = bytes + pad();
  return head_bytes + (elsewhere ? std::min(body, lend_bytes_most) : body);
}

std::byte* OfiSends::slot(std::size_t index) const noexcept {
  return heads_->data() + index * head_slot_bytes;
}

long OfiSends::inject(Endpoint& endpoint, const PageHeader& header, const Post& post,
                      const RemoteWrite* write) noexcept {
  std::array<std::byte, put_together_bytes_max + head_slot_bytes> packed;
  const std::span<const std::byte> page(packed.data(), copy_page(packed.data(), header, post));
  NETIO_POINT(write);
  const long answer =
      write == nullptr ? endpoint.inject(page) : endpoint.inject_write(page, *write);
  NETIO_POINT(written);
  if (answer == 0) count_copy(post);
  return answer;
}

OfiSends::Entry& OfiSends::append(Entry entry) noexcept {
  Entry& place = entries_[past_last()];
  place = std::move(entry);
  ++used_;
  ++unsent_;
  return place;
}

bool OfiSends::is_large(const PageHeader& header, const Post& post) noexcept {
  const std::size_t bytes = page_header_bytes + header.bytes;
  if (bytes <= pool_.block_bytes()) return bytes > message_bytes_max_;
  return bytes > message_bytes_max_ ||
         !device_.local(post.body.lease.get(), {post.body.data, post.body.bytes}).usable;
}

bool OfiSends::add(PageHeader header, Post& post) noexcept {
  assert(used_ < entries_max);
  header.credits = header.fetched = 0;  // only the first page of a message tells, and when it goes
  Device::Local memory{true, nullptr};
  if (post.body.bytes != 0) {
    if (!post.body.lease) return add_copy(header, post);
    memory = device_.local(post.body.lease.get(), {post.body.data, post.body.bytes});
    if (!memory.usable) return add_copy(header, post);
  }
  const std::size_t index = past_last();
  Entry& entry = append({});
  (void)write_head(entry, header, post);
  store_u64(slot(index) + zeros_at, 0);
  entry.data = post.body.data;
  entry.bytes = post.body.bytes;
  entry.descriptor = memory.descriptor;
  entry.bye = says_bye(header);
  entry.elsewhere = post.body.bytes > pool_.block_bytes();
  entry.lease = std::move(post.body.lease);
  posted_bytes_ += entry.queued_bytes();
  return true;
}

// In the slot of the entry, which is the last one; or in the room before the front, with which it
// is one piece. The answer is its end.
std::byte* OfiSends::write_head(Entry& entry, const PageHeader& header, const Post& post) noexcept {
  const PostBody* const front = post.front;
  const std::size_t before_front = page_header_bytes + post.prefix_bytes;
  if (front == nullptr) {
    entry.head = slot(last());
    entry.head_descriptor = heads_descriptor_;
    entry.head_bytes = put_head(entry.head, header, post);
  } else {
    entry.head = const_cast<std::byte*>(front->data) - before_front;
    entry.head_bytes = before_front + front->bytes;
    entry.head_descriptor =
        device_.local(front->lease.get(), {entry.head, entry.head_bytes}).descriptor;
    entry.front_lease = front->lease;
    store(entry.head, header);
    std::memcpy(entry.head + page_header_bytes, post.prefix.data(), post.prefix_bytes);
  }
  return entry.head + entry.head_bytes;
}

// Behind the copies that wait already, or on a page of its own.
bool OfiSends::add_copy(const PageHeader& header, const Post& post) noexcept {
  const std::size_t bytes = page_header_bytes + header.bytes;
  Entry* entry = nullptr;
  if (unsent_ != 0) {
    Entry& before = entries_[last()];
    const bool fits = before.head_bytes == 0 && before.lease &&
                      before.bytes + bytes <= pages_bytes_max_ &&
                      before.lease->capacity() - before.bytes >= std::max(bytes, head_slot_bytes);
    if (fits) entry = &before;
  }
  if (entry == nullptr) {
    Lease page;
    if (unsent_ == 0 || pool_.plenty()) page = pool_.take();
    if (!page) return false;
    std::byte* const data = page->data();
    void* const descriptor = device_.local(page.get(), {page->data(), page->capacity()}).descriptor;
    entry =
        &append({.lease = std::move(page), .data = data, .descriptor = descriptor, .head = data});
  }
  entry->bytes += copy_page(entry->lease->data() + entry->bytes, header, post);
  count_copy(post);
  posted_bytes_ += bytes;
  return true;
}

long OfiSends::send_next(Endpoint& endpoint, const PageHeader& tells,
                         const RemoteWrite* write) noexcept {
  const std::size_t index = first_unsent();
  Entry& entry = entries_[index];
  PageHeader header = load_page_header(entry.head);
  header.credits = tells.credits;
  header.fetched = tells.fetched;
  header.acknowledged = tells.acknowledged;
  store(entry.head, header);
  std::array<iovec, 3> parts;
  std::array<void*, 3> descriptors;
  std::size_t used = 0;
  const auto add_part = [&](const std::byte* data, std::size_t bytes, void* descriptor) {
    if (bytes == 0) return;
    parts[used] = part(data, bytes);
    descriptors[used++] = descriptor;
  };
  add_part(entry.head, entry.head_bytes, entry.head_descriptor);
  add_part(entry.data, entry.bytes, entry.descriptor);
  add_part(slot(index) + zeros_at, entry.pad(), heads_descriptor_);
  const std::span<const iovec> all(parts.data(), used);
  Operation& operation = operations_[index];
  NETIO_POINT(write);
  const long answer = write == nullptr
                          ? endpoint.send(all, descriptors.data(), true, &operation)
                          : endpoint.write(all, descriptors.data(), *write, &operation);
  NETIO_POINT(written);
  if (answer == 0) {
    --unsent_;
    if (entry.lent) --lends_unsent_;
  }
  return answer;
}

long OfiSends::send_bytes(Endpoint& endpoint, std::span<const std::byte> bytes) noexcept {
  Lease page = pool_.take();
  if (!page) return -ENOMEM;
  std::memcpy(page->data(), bytes.data(), bytes.size());
  const std::size_t index = past_last();
  void* descriptor = device_.local(page.get(), {page->data(), bytes.size()}).descriptor;
  const iovec whole = part(page->data(), bytes.size());
  const long answer = endpoint.send({&whole, 1}, &descriptor, true, &operations_[index]);
  if (answer != 0) return answer;
  append({.lease = std::move(page)});
  --unsent_;
  return 0;
}

bool OfiSends::lend(PageHeader header, Post& post) noexcept {
  Lend& entry = lends_[(first_lend_ + lends_used_) % lends_max];
  const MemoryRegion* const region =
      device_.lend(*post.body.lease.get(), {post.body.data, post.body.bytes}, entry.own);
  if (region == nullptr) return false;
  static_assert(page_header_bytes + 2 * sizeof(std::uint64_t) + place_bytes == head_slot_bytes,
                "a word, a tag and the place fill a slot");
  static_assert(front_room_behind >= place_bytes);
  header.flags |= page_flag::lent;
  header.bytes = static_cast<std::uint32_t>(post.prefix_bytes + post.front_bytes() + place_bytes);
  Entry& tells = append({});
  std::byte* const place = write_head(tells, header, post);
  store_u64(place, region->remote_address(post.body.data));
  store_u64(place + sizeof(std::uint64_t), region->key());
  tells.head_bytes = page_header_bytes + header.bytes;
  tells.lent = true;
  entry.all_bytes = post.body.bytes;
  entry.bytes = std::min(post.body.bytes, lend_bytes_most);
  entry.lease = std::move(post.body.lease);
  ++lends_used_;
  ++lends_unsent_;
  posted_bytes_ += page_header_bytes + header.bytes + entry.bytes;
  return true;
}

void OfiSends::drop_memory(Entry& entry) noexcept {
  entry.lease.reset();
  entry.front_lease.reset();
}

void OfiSends::end_lend(Lend& lend) noexcept {
  done_bytes_ += lend.bytes;
  lend.own.reset();
  lend.lease.reset();
}

bool OfiSends::fetched(std::uint32_t count) noexcept {
  if (count > lends_used_ - lends_unsent_) return false;
  for (; count != 0; --count) {
    fetched_bytes_ += lends_[first_lend_].all_bytes;
    end_lend(lends_[first_lend_]);
    first_lend_ = (first_lend_ + 1) % lends_max;
    --lends_used_;
    owner_.on_progress();
  }
  return true;
}

std::size_t OfiSends::taken_of(std::size_t bytes_max) const noexcept {
  return std::max(
      {queued_bytes(), bytes_max / entries_max * used_, bytes_max / lends_max * lends_used_});
}

// If the peer holds lent messages, only its fetches count, because it can take other pages
// meanwhile. Entries complete in order: the memory is free once the last entry that lies in it is
// done.
Holding OfiSends::holding(const StorePart& of) const noexcept {
  Holding lent{0, fetched_bytes_};
  for (std::size_t i = 0; i < lends_used_; ++i) {
    const Lend& lend = lends_[(first_lend_ + i) % lends_max];
    if (of.has(lend.lease)) lent.left += lend.all_bytes;
  }
  if (lent.left != 0) return lent;
  Holding posted{0, done_bytes_};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    const Entry& entry = entries_[(first_ + i) % entries_max];
    bytes += entry.queued_bytes();
    if (of.has(entry.lease) || of.has(entry.front_lease)) posted.left = bytes;
  }
  return posted;
}

void OfiSends::drop_unsent() noexcept {
  for (; unsent_ != 0; --unsent_) {
    --used_;
    Entry& entry = entries_[past_last()];
    done_bytes_ += entry.queued_bytes();
    drop_memory(entry);
    if (!entry.lent) continue;
    --lends_unsent_;
    end_lend(lends_[(first_lend_ + --lends_used_) % lends_max]);
  }
}

void OfiSends::drop_before_bye() noexcept {
  if (unsent_ == 0) return;
  assert(entries_[last()].bye && !entries_[last()].lent);
  std::array<std::byte, head_slot_bytes> bye_head;
  std::memcpy(bye_head.data(), slot(last()), bye_head.size());
  Entry bye = std::move(entries_[last()]);
  drop_unsent();
  bye.head = slot(past_last());
  std::memcpy(bye.head, bye_head.data(), bye_head.size());
  posted_bytes_ += bye.head_bytes;
  append(std::move(bye));
}

void OfiSends::on_completion(Operation& operation, std::size_t) noexcept {
  entries_[index_of(operation)].done = true;
  while (used_ != 0 && entries_[first_].done) {
    Entry& entry = entries_[first_];
    done_bytes_ += entry.queued_bytes();
    drop_memory(entry);
    entry.done = false;
    first_ = (first_ + 1) % entries_max;
    --used_;
  }
  owner_.on_progress();
}

}  // namespace netio::detail

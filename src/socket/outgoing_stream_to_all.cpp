// A message to all peers, within one call: each stream makes way first, and then takes a copy of
// the message, or none if the message has room in the open page. Only put_to_all() gives the
// message to the peer, and it cannot fail: so all streams take the message, or none.
#include <utility>

#include "socket/message_to_all.hpp"
#include "socket/outgoing_stream.hpp"

namespace netio::detail {

// An unbuffered stream posts each message by itself: nothing may wait in front of it.
Status OutgoingStream::make_way_for(const MessageToAll& message) noexcept {
  reserved_at_ = nullptr;
  if (message.buffered() ? message.frame_bytes() <= page_.room() : !pending()) return Status::ok;
  return post_pending();
}

// A copy is not taken for what has room in the open page. Peers share a copy where they can: each
// peer with a page of its own could need more pages than there are, and would wait for ever.
Status OutgoingStream::take_copy(MessageToAll& message, Lease& copy) noexcept {
  if (message.frame_bytes() <= page_.room()) return Status::ok;
  if (message.frame_bytes() > body_max()) return take_large_copy(message, copy);
  Pool& pool = link_->pool();
  copy = message.copy_in(pool);
  leaves_pages_ = false;
  if (copy) return resends_ ? share_to_resend() : Status::ok;
  if (const Status status = take_page(copy); status != Status::ok) return status;
  if (!message.one_label()) return Status::ok;
  OpenPage page;
  page.open(copy, message.frame_bytes());
  page.append(message.bytes(), message.label());
  message.add(pool, copy);
  return Status::ok;
}

// Memory that peers share is charged to the quota of strangers if one of them is one.
Status OutgoingStream::take_large_copy(MessageToAll& message, Lease& copy) noexcept {
  return link_->fit().with_large([&](auto& store) {
    copy = message.copy_in(store);
    if (!copy) {
      std::span<const std::byte> bytes = message.bytes();
      const Status status = copy_large(bytes, copy);
      if (status == Status::ok && message.one_label()) message.add(store, copy);
      return status;
    }
    if (const Status status = may_begin_large(); status != Status::ok) return status;
    Quota& strangers = store.strangers();
    const std::size_t bytes = copy->capacity();
    if (!stranger() || copy->quota == &strangers || bytes > strangers.bytes_max()) {
      return Status::ok;
    }
    if (!strangers.fits(bytes)) return keep_from_stranger(store);
    Store::charge(*copy.get(), strangers);
    return Status::ok;
  });
}

void OutgoingStream::put_to_all(const MessageToAll& message, Label label, Lease copy) noexcept {
  if (!copy) return page_.append(message.bytes(), label);
  if (message.frame_bytes() > body_max()) {
    const std::byte* const data = copy->data() + link_->fit().headroom();
    (void)begin_large({std::move(copy), data, message.bytes().size(), 0, label, {}});
    return;
  }
  if (message.one_label()) {
    page_.open_shared(std::move(copy), message.frame_bytes());
  } else {
    page_.open(std::move(copy), body_max());
    page_.append(message.bytes(), label);
  }
  owner_.on_page_opened();
  if (!message.buffered()) flush();
}

}  // namespace netio::detail

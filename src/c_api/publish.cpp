// netio_publish_socket, and the cache of who has subscribed a tag.
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <netio/publish.hpp>

#include "c_api/call_backs.hpp"
#include "c_api/error.hpp"
#include "c_api/socket.hpp"

namespace netio::c_api {
namespace {

static_assert(sizeof(netio_tags) == sizeof(TagRange) && std::is_standard_layout_v<TagRange>);
static_assert(offsetof(netio_tags, last) == offsetof(TagRange, last));
const netio_tags* tags_in_c(std::span<const TagRange> ranges) noexcept {
  return reinterpret_cast<const netio_tags*>(ranges.data());
}

void set_call_backs(Publish& publish, netio_publish_socket* own) {
  publish.on_subscribe([own](const PeerInfo& info, std::span<const TagRange> tags) {
    call_back_about(info, own, own->cb_subscribed, tags_in_c(tags), tags.size());
  });
  publish.on_unsubscribe([own](const PeerInfo& info, std::span<const TagRange> tags) {
    call_back_about(info, own, own->cb_unsubscribed, tags_in_c(tags), tags.size());
  });
  publish.on_behind([own](const PeerSnapshot& snapshot) {
    if (own->cb_behind == nullptr) return;
    const netio_peer_snapshot peer = to_c(snapshot);
    own->cb_behind(own, &peer);
  });
  publish.on_caught_up([own](const PeerSnapshot& snapshot) {
    if (own->cb_caught_up == nullptr) return;
    const netio_peer_snapshot peer = to_c(snapshot);
    own->cb_caught_up(own, &peer);
  });
  publish.on_policy_changed([own](const PeerSnapshot& snapshot) {
    if (own->cb_policy_changed == nullptr) return;
    const netio_peer_snapshot peer = to_c(snapshot);
    own->cb_policy_changed(own, &peer);
  });
}

// A PublishTag is two pointers. What tells sockets apart is their number, as one may be made where
// another was.
static_assert(sizeof(netio_subscription_cache::entry) == sizeof(PublishTag));
static_assert(std::is_trivially_copyable_v<PublishTag>);

PublishTag looked_up(SocketObject& object, std::uint64_t tag, netio_subscription_cache& cache) {
  if (cache.owner != object.number || cache.tag != tag) [[unlikely]] {
    const PublishTag found = object.publishing->tag(tag);
    std::memcpy(cache.entry, &found, sizeof found);
    cache.owner = object.number;
    cache.tag = tag;
  }
  PublishTag entry;
  std::memcpy(static_cast<void*>(&entry), cache.entry, sizeof entry);
  return entry;
}

}  // namespace

extern "C" {

NETIO_API int netio_publish_socket_init(netio_context* context, netio_publish_socket* socket,
                                        const netio_socket_options* options) {
  return init_in(__func__, context, socket, [=](ContextObject& home) {
    const netio_socket_options c = checked(options);
    auto object =
        make_socket<Publish>(home, socket, publish_options(c), socket_options(c, Mode::buffered));
    set_call_backs(*object->publishing, socket);
    return object;
  });
}

NETIO_API int netio_publish(netio_publish_socket* socket, uint64_t tag, const void* data,
                            size_t bytes, netio_subscription_cache* cache) {
  if (socket == nullptr || (data == nullptr && bytes != 0)) [[unlikely]]
    return fail_null(__func__);
  if (!usable(__func__, &socket->socket)) [[unlikely]]
    return last_code();
  SocketObject& object = object_in(socket->socket);
  if (object.publishing == nullptr) [[unlikely]]
    return fail(NETIO_INVALID, __func__, "this is no publish socket");
  const std::span message(static_cast<const std::byte*>(data), bytes);
  if (cache == nullptr) return result(__func__, object.publishing->send(message, tag));
  return guarded(__func__, [&] {
    return result("netio_publish", looked_up(object, tag, *cache).send(message));
  });
}

}  // extern "C"
}  // namespace netio::c_api

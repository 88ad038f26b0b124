// Publish and Subscribe: thin fronts of their cores. A message goes to all who subscribed its tag.
#include <memory>
#include <utility>

#include <netio/publish.hpp>
#include <netio/subscribe.hpp>

#include "pattern/publish/publish_core.hpp"
#include "pattern/subscribe/subscribe_core.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio {

using detail::Pattern;
using detail::PublishCore;
using detail::SocketCore;
using detail::SubscribeCore;
using detail::WirePattern;

static constexpr Pattern publish_facts{WirePattern::publish, WirePattern::subscribe, true, false,
                                       SIZE_MAX};
static constexpr Pattern subscribe_facts{WirePattern::subscribe, WirePattern::publish, false, true,
                                         SIZE_MAX};

Publish::Publish(Context& context, const PublishOptions& publishing, const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, publish_facts)) {
  auto core = std::make_unique<PublishCore>(*core_, publishing);
  publish_core_ = core.get();
  core_->distribute_by(std::move(core));
}

Status Publish::send(std::span<const std::byte> message, std::uint64_t tag) noexcept {
  return publish_core_->send(message, tag);
}
Status Publish::send(Message&& message) noexcept { return publish_core_->send(message); }
Status Publish::send(KeptBatch&& batch) noexcept {
  detail::MessageCursor left = batch.cursor();
  std::uint64_t bytes = 0;
  const Status status = publish_core_->send(left, bytes);
  batch.reduce_to(left);
  return status;
}
Status Publish::lend(std::span<const std::byte> message, std::uint64_t token,
                     std::uint64_t tag) noexcept {
  return publish_core_->lend(message, token, tag);
}
void Publish::on_released(std::function<void(std::uint64_t)> call) {
  core_->sending.on_released(std::move(call));
}
Status Publish::send_segments(std::span<const Segment> segments, std::uint64_t tag) noexcept {
  return publish_core_->send(detail::SegmentList(segments), tag);
}
Status Publish::lend_segments(std::span<const Segment> segments, std::uint64_t token,
                              std::uint64_t tag) noexcept {
  return publish_core_->lend(segments, token, tag);
}
Message Publish::allocate(std::size_t bytes, Status& status, std::uint64_t tag,
                          std::size_t head_bytes) noexcept {
  return publish_core_->allocate(bytes, status, tag, head_bytes);
}
PublishTag Publish::tag(std::uint64_t tag) { return publish_core_->tag(tag); }
void Publish::flush() noexcept { publish_core_->flush(); }
void Publish::on_writable(std::function<void()> call) {
  publish_core_->writable.set(std::move(call));
}
void Publish::on_subscribe(std::function<void(const PeerInfo&, std::span<const TagRange>)> call) {
  publish_core_->subscribers.on_subscribe = std::move(call);
}
void Publish::on_unsubscribe(std::function<void(const PeerInfo&, std::span<const TagRange>)> call) {
  publish_core_->subscribers.on_unsubscribe = std::move(call);
}
void Publish::on_behind(std::function<void(const PeerSnapshot&)> call) {
  publish_core_->behind_watch.on_behind = std::move(call);
}
void Publish::on_caught_up(std::function<void(const PeerSnapshot&)> call) {
  publish_core_->behind_watch.on_caught_up = std::move(call);
}
void Publish::on_policy_changed(std::function<void(const PeerSnapshot&)> call) {
  publish_core_->hold_ups.on_policy_changed = std::move(call);
}

Status PublishTag::send_wanted(std::span<const std::byte> message) const noexcept {
  return core_->send_wanted(*row_, message);
}

Subscribe::Subscribe(Context& context, const SubscribeOptions& subscription,
                     const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, subscribe_facts)),
      Receiving(core_->receiving) {
  auto core = std::make_unique<SubscribeCore>(*core_, subscription);
  subscribe_core_ = core.get();
  core_->distribute_by(std::move(core));
}

void Subscribe::subscribe(std::span<const TagRange> ranges) {
  core_->context().loop.require_owner("subscribe");
  subscribe_core_->add(ranges);
}
void Subscribe::unsubscribe(std::span<const TagRange> ranges) {
  core_->context().loop.require_owner("unsubscribe");
  subscribe_core_->remove(ranges);
}
std::span<const TagRange> Subscribe::subscribed() const noexcept {
  return subscribe_core_->set().ranges();
}
void Subscribe::on_subscribed(std::function<void(const PeerInfo&, const Subscribed&)> call) {
  subscribe_core_->on_subscribed = std::move(call);
}

}  // namespace netio

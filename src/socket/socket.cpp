// The public Socket, Sending and Receiving: thin fronts of the cores.
#include <utility>

#include <netio/receiving.hpp>
#include <netio/sending.hpp>
#include <netio/socket.hpp>

#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio {

Socket::Socket(std::unique_ptr<detail::SocketCore> core) noexcept : core_(std::move(core)) {}

Socket::~Socket() { core_->context().bury(std::move(core_)); }

std::string Socket::bind(std::string_view address) { return core_->bind(address); }
void Socket::connect(std::string_view address) { core_->connect(address); }
bool Socket::unbind(std::string_view address) { return core_->unbind(address); }
bool Socket::disconnect(std::uint64_t peer, std::chrono::nanoseconds linger) {
  return core_->disconnect(peer, linger);
}
std::size_t Socket::disconnect(std::string_view address, std::chrono::nanoseconds linger) {
  return core_->disconnect(address, linger);
}
void Socket::on_up(std::function<void(const PeerInfo&)> call) { core_->on_up = std::move(call); }
void Socket::on_down(std::function<void(const PeerInfo&, const Down&)> call) {
  core_->on_down = std::move(call);
}
void Socket::close(std::chrono::nanoseconds linger) { core_->close(linger); }
void Socket::on_closed(std::function<void(const Books&)> call) {
  core_->on_closed = std::move(call);
}
bool Socket::closed() const noexcept { return core_->closed(); }
std::array<std::uint8_t, 16> Socket::run() const noexcept { return core_->run(); }
std::size_t Socket::peers_connected() const noexcept { return core_->peers_connected(); }
std::vector<PeerSnapshot> Socket::peers() const { return core_->snapshots(); }
Books Socket::books() const noexcept { return core_->books(); }
Counters Socket::counters() const noexcept { return core_->counters(); }
double Socket::fill() const noexcept { return core_->fill(); }
std::uint64_t Socket::kept_bytes() const noexcept { return core_->kept_bytes(); }
void Socket::on_high_watermark(std::function<void()> call) {
  core_->watermarks.on_high = std::move(call);
  core_->fill_changed();  // it may be full from the start
}
void Socket::on_low_watermark(std::function<void()> call) {
  core_->watermarks.on_low = std::move(call);
}

Status Sending::send(std::span<const std::byte> message, std::uint64_t tag) noexcept {
  return send_core_->send(message, tag);
}
Status Sending::send(Message&& message) noexcept { return send_core_->send(message); }
Status Sending::send(KeptBatch&& batch) noexcept {
  detail::MessageCursor left = batch.cursor();
  const Status status = send_core_->send(left, {});
  batch.reduce_to(left);
  return status;
}
Status Sending::send_to(std::uint64_t peer, std::span<const std::byte> message,
                        std::uint64_t tag) noexcept {
  return send_core_->send_to(peer, message, tag);
}
Status Sending::send_to(std::uint64_t peer, Message&& message) noexcept {
  return send_core_->send_to(peer, message);
}
ToAll Sending::send_to_all(std::span<const std::byte> message, std::uint64_t tag) noexcept {
  return send_core_->send_to_all(message, tag);
}
Status Sending::lend_to(std::uint64_t peer, std::span<const std::byte> message, std::uint64_t token,
                        std::uint64_t tag) noexcept {
  return send_core_->lend_to(peer, message, token, tag);
}
Message Sending::allocate_for(std::uint64_t peer, std::size_t bytes, Status& status,
                              std::uint64_t tag, std::size_t head_bytes) noexcept {
  return send_core_->allocate_for(peer, bytes, tag, status, head_bytes);
}
Status Sending::lend(std::span<const std::byte> message, std::uint64_t token,
                     std::uint64_t tag) noexcept {
  return send_core_->lend(message, token, tag);
}
void Sending::on_released(std::function<void(std::uint64_t)> call) {
  send_core_->on_released(std::move(call));
}
Status Sending::send_segments(std::span<const Segment> segments, std::uint64_t tag) noexcept {
  return send_core_->send(detail::SegmentList(segments), tag);
}
Status Sending::lend_segments(std::span<const Segment> segments, std::uint64_t token,
                              std::uint64_t tag) noexcept {
  return send_core_->lend(segments, token, tag);
}
Status Sending::send_segments_to(std::uint64_t peer, std::span<const Segment> segments,
                                 std::uint64_t tag) noexcept {
  return send_core_->send_to(peer, detail::SegmentList(segments), tag);
}
Message Sending::allocate(std::size_t bytes, Status& status, std::uint64_t tag,
                          std::size_t head_bytes) noexcept {
  return send_core_->allocate(bytes, tag, status, head_bytes);
}
std::span<std::byte> Sending::reserve(std::size_t bytes, Status& status) noexcept {
  return send_core_->reserve(bytes, status);
}
Status Sending::commit(std::size_t bytes, std::uint64_t tag) noexcept {
  return send_core_->commit(bytes, tag);
}
void Sending::flush() noexcept { send_core_->flush(); }
void Sending::on_writable(std::function<void()> call) { send_core_->writable.set(std::move(call)); }

void Receiving::on_message(std::function<void(const MessageView&)> call) {
  receive_core_->on_message(std::move(call));
}
void Receiving::on_batch(std::function<void(const Batch&)> call) {
  receive_core_->on_batch(std::move(call));
}
void Receiving::on_gap(std::function<void(const PeerInfo&, const Gap&)> call) {
  receive_core_->on_gap = std::move(call);
}
void Receiving::pause() noexcept { receive_core_->pause(true); }
void Receiving::resume() noexcept { receive_core_->pause(false); }
bool Receiving::paused() const noexcept { return receive_core_->paused(); }
Status Receiving::pause_peer(std::uint64_t id) noexcept {
  return receive_core_->pause_peer(id, true);
}
Status Receiving::resume_peer(std::uint64_t id) noexcept {
  return receive_core_->pause_peer(id, false);
}
std::uint64_t Receiving::sender_id() const noexcept { return receive_core_->sender_id; }
void Receiving::acknowledge_when_taken(std::function<bool()> look) {
  receive_core_->acknowledge_when_taken(std::move(look));
}
BatchPlace Receiving::place() const noexcept { return receive_core_->place(); }
void Receiving::taken(const BatchPlace& place) noexcept { receive_core_->taken(place); }
void Receiving::acknowledge() noexcept { receive_core_->acknowledge(); }

}  // namespace netio

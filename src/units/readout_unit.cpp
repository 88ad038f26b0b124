// ReadoutUnit: a thin front of its core.
#include <utility>

#include <netio/readout_unit.hpp>

#include "socket/context_core.hpp"
#include "units/readout_core.hpp"

namespace netio {

ReadoutUnit::ReadoutUnit(Context& context, const ReadoutOptions& options)
    : core_(std::make_unique<detail::ReadoutCore>(context, options)) {}
ReadoutUnit::~ReadoutUnit() { core_->context().bury(std::move(core_)); }

void ReadoutUnit::connect(std::uint32_t builder, std::string_view address) {
  core_->connect(builder, address);
}

void ReadoutUnit::connect(std::uint32_t builder, const std::vector<std::string>& addresses) {
  core_->connect(builder, addresses);
}
void ReadoutUnit::join(std::string_view manager) { core_->join(manager); }
void ReadoutUnit::on_manager_up(std::function<void(const PeerInfo&)> call) {
  if (core_->membership() != nullptr) core_->membership()->on_up = std::move(call);
}
void ReadoutUnit::on_manager_down(std::function<void(const PeerInfo&, const Down&)> call) {
  if (core_->membership() != nullptr) core_->membership()->on_down = std::move(call);
}
void ReadoutUnit::on_manager_refused(std::function<void(std::string_view)> call) {
  if (core_->membership() != nullptr) core_->membership()->on_refused = std::move(call);
}
void ReadoutUnit::on_begin(std::function<void(EventId)> call) { core_->on_begin = std::move(call); }
void ReadoutUnit::on_stop(std::function<void(EventId)> call) {
  core_->on_stop_call = std::move(call);
}
Status ReadoutUnit::send(EventId event, std::span<const std::byte> fragment,
                         FragmentStatus status) noexcept {
  return core_->send(event, fragment, status);
}
Status ReadoutUnit::send(EventId event, Message&& fragment, FragmentStatus status) noexcept {
  return core_->send(event, fragment, status);
}
Status ReadoutUnit::send_segments(EventId event, std::span<const Segment> segments,
                                  FragmentStatus status) noexcept {
  return core_->send_segments(event, segments, status);
}
Status ReadoutUnit::lend(EventId event, std::span<const std::byte> fragment, std::uint64_t token,
                         FragmentStatus status) noexcept {
  return core_->lend(event, fragment, token, status);
}
Message ReadoutUnit::allocate(EventId event, std::size_t bytes, Status& status,
                              std::size_t head_bytes) noexcept {
  return core_->allocate(event, bytes, status, head_bytes);
}
void ReadoutUnit::on_released(std::function<void(std::uint64_t)> call) {
  core_->on_released(std::move(call));
}
void ReadoutUnit::advance(EventId below) noexcept { core_->advance(below); }
void ReadoutUnit::flush() noexcept { core_->flush(); }
void ReadoutUnit::on_high_watermark(std::function<void()> call) {
  core_->watermarks.on_high = std::move(call);
  core_->note_change();
}
void ReadoutUnit::on_low_watermark(std::function<void()> call) {
  core_->watermarks.on_low = std::move(call);
  core_->note_change();
}
void ReadoutUnit::on_room(std::function<void()> call) { core_->on_room_call = std::move(call); }
void ReadoutUnit::on_settled(std::function<void(EventId)> call) {
  core_->on_settled_call = std::move(call);
}
void ReadoutUnit::on_up(std::function<void(std::uint32_t, const PeerInfo&)> call) {
  core_->on_up = std::move(call);
}
void ReadoutUnit::on_down(std::function<void(std::uint32_t, const PeerInfo&, const Down&)> call) {
  core_->on_down = std::move(call);
}
void ReadoutUnit::on_refused(std::function<void(std::uint32_t, std::string_view)> call) {
  core_->on_refused = std::move(call);
}
void ReadoutUnit::finish(std::chrono::nanoseconds linger, std::function<void()> then) {
  core_->finish(linger, std::move(then));
}
void ReadoutUnit::on_finished(std::function<void()> call) { core_->on_finished = std::move(call); }
ReadoutBooks ReadoutUnit::books() const noexcept { return core_->books(); }

double ReadoutUnit::fill() const noexcept { return core_->fill(); }
std::vector<HeldForBuilder> ReadoutUnit::held_for_builders() const {
  return core_->held_for_builders();
}
std::size_t ReadoutUnit::builders_connected() const noexcept { return core_->builders_connected(); }
EventId ReadoutUnit::advanced() const noexcept { return core_->advanced(); }
EventId ReadoutUnit::settled() const noexcept { return core_->settled(); }
std::vector<PeerSnapshot> ReadoutUnit::peers() const { return core_->peers(); }
std::vector<Counters> ReadoutUnit::counters() const { return core_->counters(); }

}  // namespace netio

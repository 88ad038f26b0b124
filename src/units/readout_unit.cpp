// ReadoutUnit: a thin front of its core.
#include <utility>

#include <netio/readout_unit.hpp>

#include "units/readout_core.hpp"

namespace netio {

ReadoutUnit::ReadoutUnit(Context& context, const ReadoutOptions& options)
    : core_(std::make_unique<detail::ReadoutCore>(context, options)) {}
ReadoutUnit::~ReadoutUnit() = default;

void ReadoutUnit::connect(std::uint32_t builder, std::string_view address) {
  core_->connect(builder, address);
}
Status ReadoutUnit::send(EventId event, std::span<const std::byte> fragment,
                         FragmentStatus status) noexcept {
  return core_->send(event, fragment, status);
}
Status ReadoutUnit::send(EventId event, Message&& fragment, FragmentStatus status) noexcept {
  return core_->send(event, fragment, status);
}
void ReadoutUnit::advance(EventId below) noexcept { core_->advance(below); }
void ReadoutUnit::flush() noexcept { core_->flush(); }
void ReadoutUnit::on_room(std::function<void()> call) { core_->on_room_call = std::move(call); }
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
ReadoutBooks ReadoutUnit::books() const noexcept { return core_->books(); }
std::size_t ReadoutUnit::builders_connected() const noexcept { return core_->builders_connected(); }
EventId ReadoutUnit::advanced() const noexcept { return core_->advanced(); }

}  // namespace netio

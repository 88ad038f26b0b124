// BuilderUnit, Event and KeptEvent: thin fronts of the core.
#include <utility>

#include <netio/builder_unit.hpp>

#include "socket/context_core.hpp"
#include "units/builder_core.hpp"
#include "units/builder_memory.hpp"

namespace netio {

BuilderUnit::BuilderUnit(Context& context, const BuilderOptions& options)
    : core_(std::make_unique<detail::BuilderCore>(context, options)) {}
BuilderUnit::~BuilderUnit() { core_->context().bury(std::move(core_)); }

ContextOptions BuilderUnit::with_memory(const BuilderOptions& options, ContextOptions context) {
  return detail::with_memory_for(options, context);
}
std::string BuilderUnit::bind(std::string_view address) { return core_->bind(address); }
void BuilderUnit::join(std::string_view manager) { core_->join(manager); }
void BuilderUnit::on_manager_up(std::function<void(const PeerInfo&)> call) {
  if (core_->membership() != nullptr) core_->membership()->on_up = std::move(call);
}
void BuilderUnit::on_manager_down(std::function<void(const PeerInfo&, const Down&)> call) {
  if (core_->membership() != nullptr) core_->membership()->on_down = std::move(call);
}
void BuilderUnit::on_manager_refused(std::function<void(std::string_view)> call) {
  if (core_->membership() != nullptr) core_->membership()->on_refused = std::move(call);
}
void BuilderUnit::on_event(std::function<void(const Event&)> call) {
  core_->on_event(std::move(call));
}
void BuilderUnit::on_range(std::function<void(const EventRange&)> call) {
  core_->on_range(std::move(call));
}
void BuilderUnit::on_run_end(std::function<void(const RunBooks&)> call) {
  core_->on_run_end(std::move(call));
}
void BuilderUnit::on_up(std::function<void(std::uint32_t, const PeerInfo&)> call) {
  core_->on_up = std::move(call);
}
void BuilderUnit::on_down(std::function<void(std::uint32_t, const PeerInfo&, const Down&)> call) {
  core_->on_down = std::move(call);
}
void BuilderUnit::on_refused(std::function<void(const PeerInfo&, std::string_view)> call) {
  core_->on_refused = std::move(call);
}
void BuilderUnit::pause() noexcept { core_->pause(); }
void BuilderUnit::resume() noexcept { core_->resume(); }
void BuilderUnit::close(std::chrono::nanoseconds linger, std::function<void()> then) {
  core_->close(linger, std::move(then));
}
void BuilderUnit::on_closed(std::function<void()> call) { core_->on_closed = std::move(call); }
BuilderBooks BuilderUnit::books() const { return core_->books(); }
double BuilderUnit::fill() const noexcept { return core_->fill(); }
void BuilderUnit::on_high_watermark(std::function<void()> call) {
  core_->watermarks.on_high = std::move(call);
  core_->note_fill();
}
void BuilderUnit::on_low_watermark(std::function<void()> call) {
  core_->watermarks.on_low = std::move(call);
  core_->note_fill();
}
std::vector<PeerSnapshot> BuilderUnit::peers() const { return core_->peers(); }
Counters BuilderUnit::counters() const { return core_->counters(); }
EventId BuilderUnit::settled() const noexcept { return core_->settled(); }

EventId Event::id() const noexcept { return event_->id; }
bool Event::complete() const noexcept { return event_->complete; }
bool Event::again() const noexcept { return event_->again; }
std::size_t Event::size() const noexcept { return event_->fragments.size(); }
EventFragment Event::operator[](std::size_t source) const noexcept {
  return core_->fragment(*event_, source);
}
std::uint64_t Event::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const detail::OpenFragment& fragment : event_->fragments) {
    if (fragment.here) bytes += fragment.bytes;
  }
  return bytes;
}
KeptEvent Event::keep() const { return core_->keep(*event_); }

std::span<const EventRange::Entry> EventRange::events() const noexcept { return part_->events(); }
std::size_t EventRange::sources() const noexcept { return part_->sources(); }
std::span<const EventFragment> EventRange::of(std::size_t source) const noexcept {
  return part_->of(source);
}
std::uint64_t EventRange::bytes() const noexcept { return part_->bytes(); }

KeptEvent& KeptEvent::operator=(KeptEvent&& other) noexcept {
  if (this == &other) return *this;
  release();
  id_ = other.id_;
  position_ = other.position_;
  complete_ = other.complete_;
  again_ = other.again_;
  fragments_ = std::move(other.fragments_);
  releases_ = std::move(other.releases_);
  return *this;
}

void KeptEvent::release() noexcept {
  fragments_.clear();
  const std::shared_ptr<detail::EventReleases> releases = std::exchange(releases_, nullptr);
  if (releases) releases->release(position_);
}

}  // namespace netio

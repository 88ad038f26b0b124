// A read-out unit with an event manager or without one, as its plan says. Owner thread only.
#pragma once

#include <cstdint>
#include <optional>

#include "build/managed_unit.hpp"
#include "build/unit_protocol.hpp"

namespace netio::detail {

class EitherUnit {
 public:
  // Throws std::bad_alloc.
  EitherUnit(const UnitSettings& settings, ManagedUnitOutput& output) {
    if (settings.plan.managed) {
      managed_.emplace(settings, output);
    } else {
      plain_.emplace(settings, output);
    }
  }

  // As of UnitProtocol, or of ManagedUnit.
  Status send(EventId event, std::uint64_t bytes, std::uint64_t memory,
              FragmentStatus status) noexcept {
    return plain_ ? plain_->send(event, bytes, memory, status)
                  : managed_->send(event, bytes, memory, status);
  }
  // Without a manager; nothing flows with one.
  [[nodiscard]] UnitProtocol::Flow flow() noexcept {
    return plain_ ? plain_->flow() : UnitProtocol::Flow();
  }
  void send(const StoredRun& run) noexcept { plain_->send(run); }
  void advance(EventId below) noexcept {
    plain_ ? plain_->advance(below) : managed_->advance(below);
  }
  void ask_settled() noexcept {
    if (plain_) plain_->ask_settled();
  }
  void connected(std::uint32_t builder) {
    plain_ ? plain_->connected(builder) : managed_->connected(builder);
  }
  void received(std::uint32_t builder, const BuilderMessage& message) {
    plain_ ? plain_->received(builder, message) : managed_->received(builder, message);
  }
  void disconnected(std::uint32_t builder) noexcept {
    plain_ ? plain_->disconnected(builder) : managed_->disconnected(builder);
  }
  void writable(std::uint32_t builder) noexcept {
    plain_ ? plain_->writable(builder) : managed_->writable(builder);
  }
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    return plain_ ? plain_->has_room(bytes) : managed_->has_room(bytes);
  }
  [[nodiscard]] bool idle() const noexcept { return plain_ ? plain_->idle() : managed_->idle(); }
  [[nodiscard]] const UnitBooks& books() const noexcept {
    return plain_ ? plain_->books() : managed_->books();
  }
  [[nodiscard]] HeldForOne held_for(std::uint32_t builder) const noexcept {
    return plain_ ? plain_->held_for(builder) : managed_->held_for(builder);
  }
  [[nodiscard]] EventId advanced() const noexcept {
    return plain_ ? plain_->advanced() : managed_->advanced();
  }
  [[nodiscard]] EventId settled() const noexcept {
    return plain_ ? plain_->settled() : managed_->settled();
  }
  // The builder of this event. 0 with an event manager, which has not said it yet.
  [[nodiscard]] std::uint32_t builder_of(EventId event) noexcept {
    return plain_ ? plain_->builder_of(event) : 0;
  }
  // Null without a manager.
  [[nodiscard]] ManagedUnit* managed() noexcept { return managed_ ? &*managed_ : nullptr; }
  // Null with a manager.
  [[nodiscard]] UnitProtocol* plain() noexcept { return plain_ ? &*plain_ : nullptr; }

 private:
  std::optional<UnitProtocol> plain_;
  std::optional<ManagedUnit> managed_;
};

}  // namespace netio::detail

// A builder unit with an event manager or without one, as its plan says. Owner thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "build/builder_protocol.hpp"
#include "build/managed_builder.hpp"

namespace netio::detail {

class EitherBuilder {
 public:
  // One of the outputs is used. Throws std::bad_alloc.
  EitherBuilder(const ManagedBuilderSettings& settings, BuilderOutput& plain,
                ManagedBuilderOutput& managed) {
    if (settings.building.plan.managed) {
      managed_.emplace(settings, managed);
    } else {
      plain_.emplace(settings.building, plain);
    }
  }

  // As of BuilderProtocol, or of ManagedBuilder.
  [[nodiscard]] Objection connected(const UnitHello& hello) {
    return managed_ ? managed_->connected(hello) : plain_->connected(hello);
  }
  void disconnected(std::uint32_t source) noexcept {
    managed_ ? managed_->disconnected(source) : plain_->disconnected(source);
  }
  void received(std::uint32_t source, const UnitMessage& message) {
    managed_ ? managed_->received(source, message) : plain_->received(source, message);
  }
  void add(std::uint32_t source, const Fragment& fragment, std::uint64_t memory) {
    managed_ ? managed_->add(source, fragment, memory) : plain_->add(source, fragment, memory);
  }
  [[nodiscard]] bool add(std::uint32_t source, const FragmentRun& run) {
    return managed_ ? managed_->add(source, run) : plain_->add(source, run);
  }
  void added(std::uint32_t source) noexcept {
    managed_ ? managed_->added(source) : plain_->added(source);
  }
  void writable(std::uint32_t source) noexcept {
    managed_ ? managed_->writable(source) : plain_->writable(source);
  }
  bool release(EventId position) noexcept {
    return managed_ ? managed_->release(position) : plain_->release(position);
  }
  void retry() noexcept { managed_ ? managed_->retry() : plain_->retry(); }
  void settle_together(std::uint32_t events) noexcept {
    managed_ ? managed_->settle_together(events) : plain_->settle_together(events);
  }
  void tell_settled() noexcept { managed_ ? managed_->tell_settled() : plain_->tell_settled(); }
  void at(std::int64_t now_ns) noexcept { managed_ ? managed_->at(now_ns) : plain_->at(now_ns); }
  [[nodiscard]] std::int64_t next_ns() const noexcept {
    return managed_ ? managed_->next_ns() : plain_->next_ns();
  }
  // What both have.
  [[nodiscard]] const BuilderProtocol& building() const noexcept {
    return managed_ ? managed_->building() : *plain_;
  }
  // Null without a manager.
  [[nodiscard]] ManagedBuilder* managed() noexcept { return managed_ ? &*managed_ : nullptr; }
  [[nodiscard]] bool is_managed() const noexcept { return managed_.has_value(); }

 private:
  std::optional<BuilderProtocol> plain_;
  std::optional<ManagedBuilder> managed_;
};

}  // namespace netio::detail

// A unit or a builder of a schedule: with a manager or without one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "build/builder_protocol.hpp"
#include "build/managed_builder.hpp"
#include "build/managed_unit.hpp"
#include "build/unit_protocol.hpp"

namespace netio::test {

class EitherUnit {
 public:
  void begin(const detail::UnitSettings& settings, detail::ManagedUnitOutput& output) {
    if (settings.plan.managed) {
      managed.emplace(settings, output);
    } else {
      plain.emplace(settings, output);
    }
  }
  void reset() {
    plain.reset();
    managed.reset();
  }
  [[nodiscard]] bool lives() const { return plain.has_value() || managed.has_value(); }
  EitherUnit* operator->() { return this; }
  const EitherUnit* operator->() const { return this; }

  Status send(detail::EventId event, std::uint64_t bytes, std::uint64_t memory,
              detail::FragmentStatus status) {
    return managed ? managed->send(event, bytes, memory, status)
                   : plain->send(event, bytes, memory, status);
  }
  void advance(detail::EventId below) { managed ? managed->advance(below) : plain->advance(below); }
  void connected(std::uint32_t builder) {
    managed ? managed->connected(builder) : plain->connected(builder);
  }
  void received(std::uint32_t builder, const detail::BuilderMessage& message) {
    managed ? managed->received(builder, message) : plain->received(builder, message);
  }
  void disconnected(std::uint32_t builder) {
    managed ? managed->disconnected(builder) : plain->disconnected(builder);
  }
  void writable(std::uint32_t builder) {
    managed ? managed->writable(builder) : plain->writable(builder);
  }
  [[nodiscard]] bool idle() const { return managed ? managed->idle() : plain->idle(); }
  [[nodiscard]] const detail::UnitBooks& books() const {
    return managed ? managed->books() : plain->books();
  }

  std::optional<detail::UnitProtocol> plain;
  std::optional<detail::ManagedUnit> managed;
};

class EitherBuilder {
 public:
  template <typename Output>
  void begin(const detail::ManagedBuilderSettings& settings, Output& output) {
    if (settings.building.plan.managed) {
      managed.emplace(settings, output);
    } else {
      plain.emplace(settings.building, output);
    }
  }
  void reset() {
    plain.reset();
    managed.reset();
  }
  [[nodiscard]] bool lives() const { return plain.has_value() || managed.has_value(); }
  EitherBuilder* operator->() { return this; }
  const EitherBuilder* operator->() const { return this; }

  [[nodiscard]] std::string connected(const detail::UnitHello& hello) {
    return managed ? managed->connected(hello) : plain->connected(hello);
  }
  void disconnected(std::uint32_t source) {
    managed ? managed->disconnected(source) : plain->disconnected(source);
  }
  void received(std::uint32_t source, const detail::UnitMessage& message) {
    managed ? managed->received(source, message) : plain->received(source, message);
  }
  void received(std::uint32_t source, const detail::Fragment& fragment, std::uint64_t memory) {
    managed ? managed->received(source, fragment, memory)
            : plain->received(source, fragment, memory);
  }
  void writable(std::uint32_t source) {
    managed ? managed->writable(source) : plain->writable(source);
  }
  bool release(detail::EventId position) {
    return managed ? managed->release(position) : plain->release(position);
  }
  void at(std::int64_t now_ns) { managed ? managed->at(now_ns) : plain->at(now_ns); }
  [[nodiscard]] std::int64_t next_ns() const {
    return managed ? managed->next_ns() : plain->next_ns();
  }
  // What both have.
  [[nodiscard]] const detail::BuilderProtocol& building() const {
    return managed ? managed->building() : *plain;
  }

  std::optional<detail::BuilderProtocol> plain;
  std::optional<detail::ManagedBuilder> managed;
};

}  // namespace netio::test

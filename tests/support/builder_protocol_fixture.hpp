// A BuilderProtocol for its unit tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "build/builder_protocol.hpp"

namespace netio::detail {

inline constexpr std::int64_t deadline = 1'000'000;
inline const BuildPlan one_builder{2, 1, 4};

struct HandedOver {
  std::uint64_t number = 0;
  bool complete = false;
  bool again = false;
  std::vector<Missing> missing;
};

// A builder with two units whose words the test says, and a wire that notes everything.
class BuilderProtocolTest : public testing::Test, public BuilderOutput {
 protected:
  bool say(std::uint32_t source, const BuilderMessage& message) noexcept override {
    if (source == 0) said.push_back(message);
    return true;
  }
  bool hand_over(const BuiltEvent& event) noexcept override {
    events.push_back({event.id.number, event.complete, event.again,
                      std::vector<Missing>(event.missing.begin(), event.missing.end())});
    return keep;
  }
  void drop(std::uint32_t, EventId, std::uint64_t memory) noexcept override {
    dropped.push_back(memory);
  }
  void refuse(std::uint32_t, std::string why) override { refused = std::move(why); }

  void make(std::uint64_t window = 1000, std::uint32_t turns = 0) {
    BuilderSettings settings;
    settings.plan = one_builder;
    settings.builder_run = 77;
    settings.window_bytes = window;
    settings.deadline_ns = deadline;
    settings.meet_within_ns = meet_within;
    settings.keep_bytes_max = keep_max;
    settings.done_with_release = true;
    settings.turns = turns;
    builder.emplace(settings, *this);
    builder->at(0);
  }
  void meet(std::uint32_t source, UnitHello hello = {}) {
    hello.plan = one_builder;
    hello.source = source;
    if (hello.unit_run == 0) hello.unit_run = source + 1;
    ASSERT_EQ(builder->connected(hello).why, "");
    fragments[source] = 0;
  }
  void give(std::uint32_t source, std::uint64_t number, std::uint64_t bytes = 36) {
    const Fragment fragment{{0, number}, bytes, fragments[source]++, FragmentStatus::good};
    builder->received(source, fragment, 100 * number + source);
  }
  // Time passes in small steps, as it does where at() is called when it should be.
  void pass(std::int64_t time) {
    for (const std::int64_t end = now + time; now < end;) {
      now = std::min(end, now + deadline / 16);
      builder->at(now);
    }
  }
  template <typename Message>
  [[nodiscard]] std::size_t count() const {
    std::size_t number = 0;
    for (const BuilderMessage& each : said)
      number += std::holds_alternative<Message>(each) ? 1U : 0U;
    return number;
  }

  std::optional<BuilderProtocol> builder;
  std::int64_t now = 0;
  std::int64_t meet_within = deadline;
  std::uint64_t keep_max = UINT64_MAX;
  bool keep = false;
  std::uint64_t fragments[2]{};
  std::vector<BuilderMessage> said;
  std::vector<HandedOver> events;
  std::vector<std::uint64_t> dropped;
  std::string refused;
};

}  // namespace netio::detail

// A UnitProtocol with builders whose words the test says, and a wire that notes everything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "build/unit_protocol.hpp"

namespace netio::detail {

inline const BuildPlan plan_of_two{1, 2, 4};

class UnitProtocolTest : public testing::Test, public UnitOutput {
 protected:
  bool say(std::uint32_t builder, const UnitMessage& message) noexcept override {
    if (!open) return false;
    if (builder == 0) said.push_back(message);
    if (const auto* is = std::get_if<UnitBusy>(&message)) busy.at(builder) = is->busy;
    return true;
  }
  bool send(std::uint32_t builder, const Fragment& fragment, std::uint64_t) noexcept override {
    if (!open) return false;
    if (builder == 0) sent.push_back(fragment.event.number);
    return true;
  }
  std::uint64_t behind(std::uint64_t memory, std::uint64_t) const noexcept override {
    return memory + 1;
  }
  void forget(std::uint64_t memory, std::uint64_t fragments) noexcept override {
    for (; fragments != 0; --fragments) forgotten.push_back(memory++);
  }
  void refuse(std::uint32_t, std::string why) override { refused = std::move(why); }
  void on_room() noexcept override { ++rooms; }

  Status give(std::uint64_t number, std::uint64_t bytes = 36) {
    return unit.send({0, number}, bytes, number, FragmentStatus::good);
  }
  void greet(std::uint64_t run, std::uint64_t wanted, std::uint64_t window = 1000,
             bool turns = false) {
    unit.connected(0);
    unit.received(0, BuilderHello{plan_of_two, 0, run, {0, wanted}, {}, window, turns});
  }
  // Run 8 of builder 0 has greeted the unit, and is sent so many fragments.
  void send_to_run_8(std::uint64_t fragments) {
    unit.advance({0, 0});
    greet(8, 0);
    for (std::uint64_t number = 0; number < fragments; ++number) {
      ASSERT_EQ(give(number), Status::ok);
    }
  }
  // On another connection: what is settled, and what was used of that.
  void greet_again(std::uint64_t run, std::uint64_t settled, const UsedFragments& used = {}) {
    unit.disconnected(0);
    unit.connected(0);
    unit.received(0,
                  BuilderHello{plan_of_two, 0, run, {0, settled}, {0, settled}, 1000, false, used});
  }
  template <typename Message>
  [[nodiscard]] std::size_t count() const {
    std::size_t number = 0;
    for (const UnitMessage& each : said) number += std::holds_alternative<Message>(each) ? 1U : 0U;
    return number;
  }

  UnitSettings settings{plan_of_two, 0, 5, 500, WhenFull::again};
  UnitProtocol unit{settings, *this};
  bool open = true;
  std::vector<UnitMessage> said;
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> forgotten;
  std::string refused;
  std::array<bool, 2> busy{};  // as each builder was told
  int rooms = 0;
};

}  // namespace netio::detail

// An event manager against any messages of two units and two builders, in any order: it keeps its
// own rules, whatever they say. The input is a list of steps: a byte that says what happens, and
// for a message its length and its bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "build/manager_protocol.hpp"
#include "require.hpp"
#include "units/manager_codec.hpp"

using namespace netio::detail;

namespace {

constexpr std::uint32_t each = 2;  // units, and builders
constexpr std::int64_t lease = 1000;

ManagerSettings settings() { return {{each, each, 4, true}, 7, 1, lease, lease}; }

class Played final : public ManagerOutput {
 public:
  void step(std::uint8_t what, std::span<const std::byte> message) {
    const std::uint32_t member = what & 3U;
    switch (what >> 2U & 7U) {
      case 0:
        return to(member, message);
      case 1:
        return disconnect(member);
      case 2:
        now_ += lease / 8 * (member + 1);
        return manager_.at(now_);
      case 3:
        writable_ = !writable_;
        if (!writable_) return;
        for (std::uint32_t i = 0; i < each; ++i) manager_.unit_writable(i);
        for (std::uint32_t i = 0; i < each; ++i) manager_.builder_writable(i);
        return;
      case 4:
        return manager_.stop({member, member * 3});
      default:
        return;
    }
  }
  void check() {
    std::size_t open = 0;
    for (std::uint32_t i = 0; i < each; ++i) open += manager_.builder_state(i).open;
    const ManagerBooks& books = manager_.books();
    require(books.assigned + books.again == open + books.settled + books.revoked);
    require(manager_.idle() == (manager_.term() != 0 && open == 0 && manager_.waiting() == 0));
  }

 private:
  void to(std::uint32_t member, std::span<const std::byte> message) {
    SaidToManager said;
    if (decode(message, said) != nullptr) return;
    const std::uint32_t number = member % each;
    const bool is_unit = member < each;
    bool& connected = is_unit ? units_[number] : builders_[number];
    if (auto* const hello = std::get_if<UnitJoins>(&said); hello != nullptr && is_unit) {
      hello->source = number;
      if (!connected) connected = !manager_.unit_connected(*hello);
    } else if (auto* const joins = std::get_if<BuilderJoins>(&said); joins != nullptr && !is_unit) {
      joins->builder = number;
      if (!connected) connected = !manager_.builder_connected(*joins);
    } else if (const auto* const produced = std::get_if<UnitProduced>(&said);
               produced != nullptr && is_unit && connected) {
      manager_.received(number, *produced);
    } else if (const auto* const report = std::get_if<BuilderReports>(&said);
               report != nullptr && !is_unit && connected) {
      manager_.received(number, *report);
    }
  }
  void disconnect(std::uint32_t member) {
    const std::uint32_t number = member % each;
    if (!std::exchange(member < each ? units_[number] : builders_[number], false)) return;
    member < each ? manager_.unit_disconnected(number) : manager_.builder_disconnected(number);
  }

  bool say_to_unit(std::uint32_t source, const ManagerToUnit& message) noexcept override {
    require(source < each);
    if (const auto* const given = std::get_if<UnitAssigned>(&message); given != nullptr) {
      check_given(given->assignment);
    }
    return writable_;
  }
  bool say_to_builder(std::uint32_t builder, const ManagerToBuilder& message) noexcept override {
    require(builder < each);
    if (const auto* const given = std::get_if<BuilderExpects>(&message); given != nullptr) {
      check_given(given->assignment);
      require(given->assignment.builder == builder);
    }
    return writable_;
  }
  void check_given(const Assignment& given) const noexcept {
    require(given.builder < each && !given.span.empty());
    require(given.span.from.run == given.span.below.run);
    require(term_of(given.number) == manager_.term());
  }
  void refuse_unit(std::uint32_t source, std::string) override { units_[source] = false; }
  void refuse_builder(std::uint32_t builder, std::string) override { builders_[builder] = false; }
  void on_superseded(std::uint64_t term) noexcept override { require(term >= manager_.term()); }
  void on_stopped(EventId) noexcept override {}
  std::int64_t clock_ns() noexcept override { return now_; }

  std::int64_t now_ = 1;
  bool writable_ = true;
  std::array<bool, each> units_{};
  std::array<bool, each> builders_{};
  ManagerProtocol manager_{settings(), *this};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Played played;
  std::size_t at = 0;
  for (int steps = 0; at < size && steps < 500; ++steps) {
    const std::uint8_t what = data[at++];
    std::size_t bytes = 0;
    if ((what >> 2U & 7U) == 0 && at < size) {
      bytes = std::min<std::size_t>(data[at] * word_bytes, size - at - 1);
      ++at;
    }
    const ExactCopy message(data + at, bytes);
    played.step(what, message.bytes());
    played.check();
    at += bytes;
  }
  return 0;
}

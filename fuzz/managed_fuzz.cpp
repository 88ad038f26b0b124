// A unit and a builder of a system with an event manager, against any manager and any peers: each
// keeps its own rules, and each piece of memory comes back once. The input is a list of steps: a
// byte that says what happens, and for a message its length and its bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "build/managed_builder.hpp"
#include "build/managed_unit.hpp"
#include "require.hpp"
#include "units/build_codec.hpp"
#include "units/manager_codec.hpp"

using namespace netio::detail;

namespace {

constexpr std::uint32_t count = 2;  // units, and builders
constexpr std::int64_t millisecond = 1'000'000;
const BuildPlan managed_plan{count, count, 4, true};

// Memory that a protocol has.
class Memory {
 public:
  std::uint64_t take() {
    held_.insert(++last_);
    return last_;
  }
  void give_back(std::uint64_t memory) noexcept { require(held_.erase(memory) == 1); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  std::uint64_t last_ = 0;
  std::set<std::uint64_t> held_;
};

class PlayedUnit final : public ManagedUnitOutput {
 public:
  void step(std::uint32_t what, std::uint32_t number, std::span<const std::byte> message) {
    const std::uint32_t builder = number % count;
    switch (what) {
      case 0:
        return from_manager(message);
      case 1:
        return from_builder(builder, message);
      case 2:
        return send(number);
      case 3:
        next_.number += number;
        return unit_.advance(next_);
      case 4:
        manager_ = !manager_;
        return manager_ ? unit_.manager_connected() : unit_.manager_disconnected();
      case 5:
        builders_[builder] = !builders_[builder];
        return builders_[builder] ? unit_.connected(builder) : unit_.disconnected(builder);
      case 6:
        writable_ = !writable_;
        if (!writable_) return;
        unit_.manager_writable();
        for (std::uint32_t each = 0; each < count; ++each) unit_.writable(each);
        return;
      default:
        next_ = {next_.run + 1, 0};
        return;
    }
  }
  void check() const {
    const UnitBooks& books = unit_.books();
    require(books.sent == books.settled + books.dropped + books.late + books.held);
    require(books.held == memory_.held());
  }

 private:
  void send(std::uint32_t number) {
    const std::uint64_t memory = memory_.take();
    const netio::Status status =
        unit_.send(next_, 100 * number, memory, netio::FragmentStatus::good);
    if (status != netio::Status::ok) return memory_.give_back(memory);
    next_ = next_.next();
  }
  void from_manager(std::span<const std::byte> message) {
    SaidToUnit said;
    if (!manager_ || decode(message, said) != nullptr) return;
    std::visit(
        [this]<typename Message>(const Message& each) {
          if constexpr (std::is_constructible_v<ManagerToUnit, Message>) {
            unit_.manager_received(each);
          }
        },
        said);
  }
  void from_builder(std::uint32_t builder, std::span<const std::byte> message) {
    BuilderSaid said;
    if (!builders_[builder] || decode(message, said) != nullptr) return;
    std::visit(
        [&]<typename Message>(const Message& each) {
          if constexpr (std::is_constructible_v<BuilderMessage, Message>) {
            unit_.received(builder, each);
          }
        },
        said);
  }

  bool say(std::uint32_t builder, const UnitMessage&) noexcept override {
    require(builder < count);
    return writable_;
  }
  bool send(std::uint32_t builder, const Fragment&, std::uint64_t) noexcept override {
    require(builder < count);
    return writable_;
  }
  // One may be stored behind the other: each has the number that follows.
  std::uint64_t behind(std::uint64_t memory, std::uint64_t) const noexcept override {
    return memory + 1;
  }
  void forget(std::uint64_t memory, std::uint64_t fragments) noexcept override {
    for (; fragments != 0; --fragments) memory_.give_back(memory++);
  }
  void refuse(std::uint32_t builder, std::string) override { builders_[builder] = false; }
  void on_room() noexcept override {}
  bool tell_manager(const UnitToManager&) noexcept override { return writable_; }
  void refuse_manager(std::string) override { manager_ = false; }
  void on_stop(EventId) noexcept override {}

  EventId next_;
  bool manager_ = false;
  bool writable_ = true;
  std::array<bool, count> builders_{};
  Memory memory_;
  ManagedUnit unit_{{managed_plan, 0, 3, 2000, netio::WhenFull::again}, *this};
};

class PlayedBuilder final : public ManagedBuilderOutput {
 public:
  void step(std::uint32_t what, std::uint32_t number, std::span<const std::byte> message) {
    const std::uint32_t source = number % count;
    switch (what) {
      case 0:
        return from_manager(message);
      case 1:
        return from_unit(source, message);
      case 2:
        return from_unit(source, message, 100);
      case 3:
        now_ += number * number * millisecond;
        return builder_.at(now_);
      case 4:
        manager_ = !manager_;
        return manager_ ? builder_.manager_connected() : builder_.manager_disconnected();
      case 5:
        if (std::exchange(units_[source], false)) builder_.disconnected(source);
        return;
      case 6:
        writable_ = !writable_;
        if (!writable_) return;
        builder_.manager_writable();
        for (std::uint32_t each = 0; each < count; ++each) builder_.writable(each);
        return;
      default:
        if (kept_.empty()) return;
        (void)builder_.release(kept_.front());
        kept_.pop_front();
        return;
    }
  }
  void check() const {}

 private:
  void from_manager(std::span<const std::byte> message) {
    SaidToBuilder said;
    if (!manager_ || decode(message, said) != nullptr) return;
    std::visit(
        [this]<typename Message>(const Message& each) {
          if constexpr (std::is_constructible_v<ManagerToBuilder, Message>) {
            builder_.manager_received(each);
          }
        },
        said);
  }
  void from_unit(std::uint32_t source, std::span<const std::byte> message) {
    UnitSaid said;
    if (decode(message, said) != nullptr) return;
    std::visit(
        [&]<typename Message>(Message& each) {
          if constexpr (std::is_same_v<Message, UnitHello>) {
            each.source = source;
            if (units_[source]) return;
            units_[source] = true;
            fragments_[source] = 0;
            if (builder_.connected(each)) units_[source] = false;
          } else if constexpr (std::is_constructible_v<UnitMessage, Message>) {
            if (units_[source]) builder_.received(source, each);
          }
        },
        said);
  }
  // The message is the position.
  void from_unit(std::uint32_t source, std::span<const std::byte> message, std::uint64_t bytes) {
    if (!units_[source] || message.size() < 2 * word_bytes) return;
    Fragment fragment{{}, bytes, fragments_[source]++, netio::FragmentStatus::good};
    std::memcpy(&fragment.event.run, message.data(), word_bytes);
    std::memcpy(&fragment.event.number, message.data() + word_bytes, word_bytes);
    if (fragment.event.number > netio::event_number_max) return;
    builder_.add(source, fragment, memory_.take());
    builder_.added(source);
  }

  bool say(std::uint32_t source, const BuilderMessage&) noexcept override {
    require(source < count);
    return writable_;
  }
  bool hand_over(const BuiltEvent& event, EventId position) noexcept override {
    require(builder_.has_lease());
    for (const OpenFragment& each : event.fragments) {
      if (each.here) memory_.give_back(each.memory);
    }
    if (event.id.number % 3 != 0) return false;
    kept_.push_back(position);
    return true;
  }
  void drop(std::uint32_t, EventId, std::uint64_t memory) noexcept override {
    memory_.give_back(memory);
  }
  void refuse(std::uint32_t source, std::string) override { units_[source] = false; }
  bool tell_manager(const BuilderToManager&) noexcept override { return writable_; }
  void refuse_manager(std::string) override { manager_ = false; }
  std::int64_t clock_ns() noexcept override { return now_; }

  std::int64_t now_ = 1;
  bool manager_ = false;
  bool writable_ = true;
  std::array<bool, count> units_{};
  std::array<std::uint64_t, count> fragments_{};
  std::deque<EventId> kept_;
  Memory memory_;
  ManagedBuilder builder_{
      {{managed_plan, 0, 9, 1000, 10 * millisecond, 10 * millisecond, 500, true, 0}, 1, 4}, *this};
};

template <typename Played>
void play(const std::uint8_t* data, std::size_t size) {
  Played played;
  std::size_t at = 0;
  for (int steps = 0; at < size && steps < 500; ++steps) {
    const std::uint8_t what = data[at++];
    std::size_t bytes = 0;
    if ((what >> 2U & 7U) < 3 && at < size) {
      bytes = std::min<std::size_t>(data[at] * word_bytes, size - at - 1);
      ++at;
    }
    const ExactCopy message(data + at, bytes);
    played.step(what >> 2U & 7U, what & 3U, message.bytes());
    played.check();
    at += bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  (data[0] & 1U) == 0 ? play<PlayedUnit>(data + 1, size - 1)
                      : play<PlayedBuilder>(data + 1, size - 1);
  return 0;
}

// Units and builders that join an event manager, without fragments: they say what a test wants, and
// keep what they are told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "units/build_socket.hpp"
#include "units/manager_codec.hpp"

namespace netio::test {

// Its connection, which comes again.
template <typename Said>
class ScriptedMember {
 public:
  explicit ScriptedMember(Context& context) : socket_(context, options()) {
    socket_.on_up([this](const PeerInfo&) { joined(); });
    socket_.on_down([this](const PeerInfo& peer, const Down&) { downs += peer.was_up ? 1 : 0; });
    socket_.on_message([this](const MessageView& message) {
      Said said;
      ASSERT_EQ(decode(message.bytes(), said), nullptr);
      std::visit([this](const auto& each) { this->take_any(each); }, said);
    });
  }
  virtual ~ScriptedMember() = default;
  ScriptedMember(const ScriptedMember&) = delete;
  ScriptedMember& operator=(const ScriptedMember&) = delete;

  void connect(const std::string& address) { socket_.connect(address); }
  template <typename Message>
  void say(const Message& message) {
    say_bytes(bytes_.of(message));
  }
  // If the connection has just ended, it is said to nobody: what is told next shows it.
  void say_bytes(std::span<const std::byte> bytes) {
    static_cast<void>(socket_.send(bytes));
    socket_.flush();
  }
  [[nodiscard]] bool up() const { return socket_.peers_connected() == 1; }

  std::string refused;  // the last reason
  int downs = 0;

 protected:
  virtual void joined() = 0;
  virtual void take(const Said& said) = 0;

 private:
  static SocketOptions options() {
    SocketOptions options;
    options.reconnect_after_min = 1ms;
    options.reconnect_after_max = 20ms;
    return options;
  }
  template <typename Message>
  void take_any(const Message& message) {
    if constexpr (std::is_same_v<Message, detail::Refused>) {
      refused = message.why;
    } else {
      take(Said(message));
    }
  }

  detail::ManagerBytes bytes_;
  detail::MemberSocket socket_;
};

// It holds a fragment of each event from 0 on.
class ScriptedUnit final : public ScriptedMember<detail::SaidToUnit> {
 public:
  ScriptedUnit(Context& context, const detail::BuildPlan& plan, std::uint32_t source)
      : ScriptedMember(context) {
    hello.plan = plan;
    hello.source = source;
    hello.unit_run = 100 + source;
  }
  void produce(std::uint64_t below) {
    produced_ = {0, below};
    if (welcomes != 0) report();
  }
  [[nodiscard]] bool is_open(std::uint64_t from) const { return find(from) != nullptr; }
  // Null if no range that begins here is open.
  [[nodiscard]] const detail::Assignment* find(std::uint64_t from) const {
    for (const detail::Assignment& each : open) {
      if (each.span.from.number == from) return &each;
    }
    return nullptr;
  }

  detail::UnitJoins hello;
  bool says_hello = true;
  int welcomes = 0;
  detail::UnitWelcome welcome;           // the last one
  std::vector<detail::Assignment> open;  // as it knows it
  EventId assigned;
  int revocations = 0;
  std::vector<detail::EventSpan> settled;
  EventId stop = detail::end_of_all;
  std::map<std::uint32_t, detail::Addresses> builders;

 private:
  void joined() override {
    if (!says_hello) return;
    hello.assigned = assigned;
    hello.open.clear();
    for (const detail::Assignment& each : open) insert(hello.open, each.span);
    say(detail::UnitToManager(hello));
    report();
  }
  void report() {
    const EventId oldest = std::min(assigned, produced_);
    say(detail::UnitToManager(
        detail::UnitProduced{produced_, oldest, assigned, false, hello.term}));
  }
  void take(const detail::SaidToUnit& said) override {
    std::visit([this](const auto& each) { this->told(each); }, said);
  }
  void told(const detail::UnitWelcome& it) {
    ++welcomes;
    welcome = it;
    hello.term = it.term;
    hello.manager_run = it.manager_run;
    open = it.open;
    assigned = it.assigned;
    stop = it.stop;
    report();
  }
  void told(const detail::UnitAssigned& it) {
    std::erase_if(open, [&](const auto& each) { return each.span == it.assignment.span; });
    open.push_back(it.assignment);
    assigned = std::max(assigned, it.assignment.span.below);
  }
  void told(const detail::UnitRevoked& it) {
    ++revocations;
    for (detail::Assignment& each : open) {
      const bool lost = each.builder == it.builder && each.number < it.below;
      if (lost) each.builder = detail::no_builder;
    }
  }
  void told(const detail::UnitSettled& it) {
    settled.push_back(it.span);
    std::erase_if(open, [&](const auto& each) { return each.span == it.span; });
  }
  void told(const detail::UnitAsked&) { report(); }
  void told(const detail::UnitStops& it) { stop = it.at; }
  void told(const detail::UnitBuilder& it) { builders[it.builder] = it.addresses; }
  static void told(const detail::Refused&) {}

  EventId produced_;
};

// It reports often, and is done with what it is given when it is told to.
class ScriptedBuilder final : public ScriptedMember<detail::SaidToBuilder> {
 public:
  ScriptedBuilder(Context& context, const detail::BuildPlan& plan, std::uint32_t number)
      : ScriptedMember(context), timer_(context.loop(), [this] { report(); }) {
    hello.plan = plan;
    hello.builder = number;
    hello.builder_run = 200 + number;
    timer_.start_periodic(10ms);
  }
  void report() {
    if (!up() || hello_said_ == 0 || downs >= hello_said_) return;
    say(detail::BuilderToManager(detail::BuilderReports{++report_, done, credit}));
  }
  void finish_all() {
    for (const detail::Assignment& each : open) done = std::max(done, each.number + 1);
    open.clear();
    report();
  }
  [[nodiscard]] bool has_lease() const { return answered_ != 0; }

  detail::BuilderJoins hello;
  bool says_hello = true;
  detail::Addresses addresses;
  std::uint32_t credit = 4;
  std::uint64_t done = 0;
  bool finishes = false;  // it is done with each assignment at once
  int welcomes = 0;
  detail::BuilderWelcome welcome;  // the last one
  std::vector<detail::Assignment> open;
  std::vector<detail::Assignment> expected;  // all that it was ever given
  int revocations = 0;

 private:
  void joined() override {
    if (!says_hello) return;
    hello_said_ = downs + 1;
    report_ = answered_ = 0;
    say(detail::BuilderToManager(hello));
    say(detail::BuilderAt{addresses});
    report();
  }
  void take(const detail::SaidToBuilder& said) override {
    std::visit([this](const auto& each) { this->told(each); }, said);
  }
  void told(const detail::BuilderWelcome& it) {
    ++welcomes;
    welcome = it;
    hello.term = it.term;
    hello.manager_run = it.manager_run;
    open = it.open;
    finishes ? finish_all() : report();
  }
  void told(const detail::BuilderExpects& it) {
    open.push_back(it.assignment);
    expected.push_back(it.assignment);
    hello.expected = std::max(hello.expected, it.assignment.span.below);
    if (finishes) finish_all();
  }
  void told(const detail::BuilderRevoked& it) {
    ++revocations;
    std::erase_if(open, [&](const auto& each) { return each.number < it.below; });
  }
  void told(const detail::BuilderLease& it) { answered_ = it.number; }
  static void told(const detail::Refused&) {}

  Timer timer_;
  int hello_said_ = 0;  // on the connection of this number
  std::uint64_t report_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace netio::test

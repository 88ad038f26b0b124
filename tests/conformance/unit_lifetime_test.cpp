// Units, builders and event managers that are destroyed in their own call-backs, that are closed
// more than once, and that are closed without memory, over every transport.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/fragments.hpp"
#include "support/allocation_counter.hpp"
#include "units/build_socket.hpp"
#include "units/manager_codec.hpp"

namespace netio::test {
namespace {

// A call-back of any kind. It may destroy the unit that calls it. What it has captured has to last
// until it returns, and no call may come after it.
template <typename Unit>
struct Call {
  Call(std::unique_ptr<Unit>& calls, bool destroys_it) : unit(&calls), destroys(destroys_it) {}

  template <typename... Arguments>
  void operator()(const Arguments&...) const {
    EXPECT_TRUE(*unit) << "called after it was destroyed";
    if (!destroys) return;
    unit->reset();
    EXPECT_EQ(captured.back(), 7);
  }

  std::unique_ptr<Unit>* unit;
  bool destroys;
  std::vector<int> captured = std::vector<int>(1000, 7);
};

class UnitLifetime : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  static BuildPlan plan(bool managed = false, std::uint64_t range_events = 16) {
    return {1, 1, range_events, managed};
  }
  void make_builder(const BuildPlan& plan, const std::string& address) {
    BuilderOptions options;
    options.plan = plan;
    options.socket = hasty_socket();
    builder_ = std::make_unique<BuilderUnit>(there_, options);
    builder_->on_event([this](const Event& event) { ++built_[event.id().number]; });
    address_ = builder_->bind(address);
  }
  void make_unit(const BuildPlan& plan, std::size_t store_bytes_max = std::size_t{1} << 20U) {
    ReadoutOptions options;
    options.plan = plan;
    options.store_bytes_max = store_bytes_max;
    options.socket = hasty_socket();
    unit_ = std::make_unique<ReadoutUnit>(here_, options);
  }
  void make_manager(const BuildPlan& plan) {
    ManagerOptions options;
    options.plan = plan;
    options.lease = 10ms;
    options.socket = hasty_socket();
    manager_ = std::make_unique<EventManager>(there_, options);
    manager_address_ = manager_->bind(GetParam().address);
  }
  void send(std::uint64_t count) {
    for (std::uint64_t number = 0; number < count; ++number) {
      static_cast<void>(unit_->send({1, number}, bytes_));
    }
  }
  [[nodiscard]] auto ends(auto& unit) { return Call(unit, true); }

  // Each call looks whether the unit is there, and this one destroys it.
  void destroy_unit_in(const std::string& which) {
    const auto call = [&](const char* name) { return Call(unit_, which == name); };
    unit_->on_up(call("on_up"));
    unit_->on_down(call("on_down"));
    unit_->on_refused(call("on_refused"));
    unit_->on_room(call("on_room"));
    unit_->on_released(call("on_released"));
    unit_->on_begin(call("on_begin"));
    unit_->on_stop(call("on_stop"));
    unit_->on_manager_up(call("on_manager_up"));
    unit_->on_manager_down(call("on_manager_down"));
    unit_->on_manager_refused(call("on_manager_refused"));
  }
  void destroy_builder_in(const std::string& which) {
    const auto call = [&](const char* name) { return Call(builder_, which == name); };
    builder_->on_up(call("on_up"));
    builder_->on_down(call("on_down"));
    builder_->on_refused(call("on_refused"));
    if (which == "on_event") builder_->on_event(call("on_event"));
    if (which == "on_range") builder_->on_range(call("on_range"));
    builder_->on_manager_up(call("on_manager_up"));
    builder_->on_manager_down(call("on_manager_down"));
    builder_->on_manager_refused(call("on_manager_refused"));
  }
  void destroy_manager_in(const std::string& which) {
    const auto call = [&](const char* name) { return Call(manager_, which == name); };
    manager_->on_unit_up(call("on_unit_up"));
    manager_->on_builder_up(call("on_builder_up"));
    manager_->on_unit_down(call("on_unit_down"));
    manager_->on_builder_down(call("on_builder_down"));
    manager_->on_refused(call("on_refused"));
  }
  void expect_gone(const auto& unit) {
    ASSERT_SOON(pump_, !unit);
    pump_.turns(20);
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(1'000);
  std::string address_;
  std::string manager_address_;
  std::map<std::uint64_t, int> built_;
  std::unique_ptr<EventManager> manager_;
  std::unique_ptr<BuilderUnit> builder_;
  std::unique_ptr<ReadoutUnit> unit_;
};

TEST_P(UnitLifetime, a_unit_may_be_destroyed_in_each_of_its_call_backs) {
  for (const std::string which :
       {"on_up", "on_down", "on_refused", "on_room", "on_released", "finish"}) {
    SCOPED_TRACE(which);
    make_builder(plan(), GetParam().address);
    make_unit(plan(false, which == "on_refused" ? 32 : 16), which == "on_room" ? 4'000 : 1U << 20U);
    destroy_unit_in(which);
    unit_->connect(0, address_);
    if (which == "on_released") {
      for (std::uint64_t n = 0; n < 20; ++n) ASSERT_EQ(unit_->lend({1, n}, bytes_, n), Status::ok);
    } else {
      send(20);
    }
    if (which == "finish") unit_->finish(1h, ends(unit_));
    if (which == "on_down") {
      ASSERT_SOON(pump_, unit_->builders_connected() == 1);
      builder_.reset();
    }
    expect_gone(unit_);
    builder_.reset();
  }
}

TEST_P(UnitLifetime, what_is_lent_is_free_when_a_unit_was_destroyed_in_a_call_back) {
  make_builder(plan(), GetParam().address);
  make_unit(plan());
  auto lent = std::make_unique<std::vector<std::byte>>(200'000);
  unit_->on_released([](std::uint64_t) { FAIL() << "a loan of a unit that was destroyed"; });
  unit_->on_up([&](std::uint32_t, const PeerInfo&) {
    for (std::uint64_t n = 0; n < 4; ++n) ASSERT_EQ(unit_->lend({1, n}, *lent, n), Status::ok);
    unit_->flush();
    unit_.reset();
    lent.reset();
  });
  unit_->connect(0, address_);
  expect_gone(unit_);
}

TEST_P(UnitLifetime, a_unit_with_a_manager_may_be_destroyed_in_each_of_its_call_backs) {
  for (const std::string which : {"on_manager_up", "on_manager_down", "on_manager_refused",
                                  "on_begin", "on_stop", "on_up", "on_down", "finish"}) {
    SCOPED_TRACE(which);
    make_manager(plan(true));
    make_builder(plan(true), GetParam().address);
    builder_->join(manager_address_);
    make_unit(plan(true, which == "on_manager_refused" ? 32 : 16));
    destroy_unit_in(which);
    unit_->join(manager_address_);
    if (which != "on_begin") send(20);
    if (which == "finish") unit_->finish(100ms, ends(unit_));
    if (which == "on_stop") manager_->stop({1, 10}, {});
    if (which == "on_manager_down" || which == "on_down") {
      ASSERT_SOON(pump_, unit_->builders_connected() == 1);
      which == "on_down" ? builder_.reset() : manager_.reset();
    }
    expect_gone(unit_);
    builder_.reset();
    manager_.reset();
  }
}

TEST_P(UnitLifetime, a_unit_may_be_destroyed_when_it_is_told_that_a_builder_has_moved) {
  make_builder(plan(true), GetParam().address);
  const std::string second = builder_->bind(GetParam().address);
  detail::ManagerSocket manager(there_, hasty_socket());
  detail::ManagerBytes bytes;
  std::uint64_t unit = 0;
  const auto tell_address = [&](const std::string& address) {
    EXPECT_EQ(manager.send_to(unit, bytes.of(detail::UnitBuilder{0, {address}})), Status::ok);
  };
  manager.on_up([&](const PeerInfo& peer) {
    unit = peer.id;
    tell_address(address_);
  });
  manager_address_ = manager.bind(GetParam().address);
  make_unit(plan(true));
  unit_->on_down([&](std::uint32_t, const PeerInfo&, const Down& down) {
    EXPECT_NE(down.detail.find("moved"), std::string::npos) << down.detail;
    ends(unit_)();
  });
  unit_->join(manager_address_);
  ASSERT_SOON(pump_, unit_->builders_connected() == 1);
  tell_address(second);
  expect_gone(unit_);
}

// A manager of this test names a wire that does not exist.
TEST_P(UnitLifetime, a_unit_may_be_destroyed_when_an_address_makes_no_sense) {
  detail::ManagerSocket manager(there_, hasty_socket());
  detail::ManagerBytes bytes;
  manager.on_up([&](const PeerInfo& peer) {
    const detail::UnitBuilder at{0, {"nowhere://a", "nowhere://b"}};
    EXPECT_EQ(manager.send_to(peer.id, bytes.of(at)), Status::ok);
  });
  manager_address_ = manager.bind(GetParam().address);
  make_unit(plan(true));
  destroy_unit_in("on_refused");
  unit_->join(manager_address_);
  expect_gone(unit_);
}

TEST_P(UnitLifetime, a_builder_may_be_destroyed_in_each_of_its_call_backs) {
  for (const std::string which :
       {"on_up", "on_down", "on_refused", "on_event", "on_range", "close"}) {
    SCOPED_TRACE(which);
    make_builder(plan(), GetParam().address);
    destroy_builder_in(which);
    make_unit(plan(false, which == "on_refused" ? 32 : 16));
    unit_->connect(0, address_);
    send(40);
    if (which == "close") builder_->close(1h, ends(builder_));
    if (which == "on_down") {
      ASSERT_SOON(pump_, builder_->books().complete != 0);
      unit_.reset();
    }
    expect_gone(builder_);
    unit_.reset();
  }
}

TEST_P(UnitLifetime, a_builder_with_a_manager_may_be_destroyed_in_each_of_its_call_backs) {
  for (const std::string which : {"on_manager_up", "on_manager_down", "on_manager_refused",
                                  "on_event", "on_range", "close"}) {
    SCOPED_TRACE(which);
    make_manager(plan(true));
    make_builder(plan(true, which == "on_manager_refused" ? 32 : 16), GetParam().address);
    destroy_builder_in(which);
    make_unit(plan(true));
    unit_->join(manager_address_);
    builder_->join(manager_address_);
    send(40);
    if (which == "close") builder_->close(1h, ends(builder_));
    if (which == "on_manager_down") {
      ASSERT_SOON(pump_, builder_->books().complete != 0);
      manager_.reset();
    }
    expect_gone(builder_);
    unit_.reset();
    manager_.reset();
  }
}

TEST_P(UnitLifetime, an_event_may_be_kept_after_its_builder_was_destroyed) {
  make_builder(plan(), GetParam().address);
  KeptEvent kept;
  builder_->on_event([&](const Event& event) {
    builder_.reset();
    kept = event.keep();
  });
  make_unit(plan());
  bytes_ = payload(3, 1'000);
  unit_->connect(0, address_);
  send(40);
  expect_gone(builder_);
  EXPECT_EQ(kept.id(), (EventId{1, 0}));
  ASSERT_EQ(kept.fragments().size(), 1U);
  EXPECT_TRUE(std::ranges::equal(kept.fragments()[0].bytes(), bytes_));
  // The units are told of nothing, so the next one at this address is given all events.
  make_builder(plan(), address_);
  ASSERT_SOON(pump_, built_.size() == 40);
}

TEST_P(UnitLifetime, a_manager_may_be_destroyed_in_each_of_its_call_backs) {
  for (const std::string which : {"on_unit_up", "on_builder_up", "on_unit_down", "on_builder_down",
                                  "on_refused", "stop", "close"}) {
    SCOPED_TRACE(which);
    make_manager(plan(true));
    destroy_manager_in(which);
    make_builder(plan(true), GetParam().address);
    builder_->join(manager_address_);
    make_unit(plan(true, which == "on_refused" ? 32 : 16));
    unit_->join(manager_address_);
    send(20);
    unit_->advance({1, 20});
    if (which == "stop") manager_->stop({1, 20}, ends(manager_));
    if (which == "close") manager_->close(1h, ends(manager_));
    if (which == "on_unit_down" || which == "on_builder_down") {
      ASSERT_SOON(pump_, built_.size() == 20);
      built_.clear();
      which == "on_unit_down" ? unit_.reset() : builder_.reset();
    }
    expect_gone(manager_);
    builder_.reset();
    unit_.reset();
  }
}

TEST_P(UnitLifetime, a_second_close_calls_its_own_then) {
  for (const bool managed : {false, true}) {
    if (managed) make_manager(plan(true));
    make_builder(plan(managed), GetParam().address);
    make_unit(plan(managed));
    managed ? unit_->join(manager_address_) : unit_->connect(0, address_);
    if (managed) builder_->join(manager_address_);
    send(20);
    unit_->advance({1, 20});
    ASSERT_SOON(pump_, unit_->builders_connected() == 1);
    const auto close_all = [&](int& calls) {
      unit_->finish(100ms, [&] { ++calls; });
      builder_->close(1h, [&] { ++calls; });
      if (managed) manager_->close(1h, [&] { ++calls; });
    };
    const int all = managed ? 3 : 2;
    int first = 0;
    int second = 0;
    int third = 0;
    close_all(first);
    close_all(second);
    ASSERT_SOON(pump_, second == all);
    close_all(third);  // they are closed
    EXPECT_EQ(third, 0);
    ASSERT_SOON(pump_, third == all);
    pump_.turns(20);
    EXPECT_EQ(first, 0);
    EXPECT_EQ(second, all);
    EXPECT_EQ(third, all);
    unit_.reset();
    builder_.reset();
    manager_.reset();
  }
}

TEST_P(UnitLifetime, a_context_is_closed_while_a_unit_tries_addresses) {
  make_builder(plan(), GetParam().address);
  const std::vector<std::string> addresses{address_, builder_->bind(GetParam().address)};
  builder_.reset();
  make_unit(plan());
  int attempts = 0;
  unit_->on_down([&](std::uint32_t, const PeerInfo&, const Down&) { ++attempts; });
  unit_->connect(0, addresses);
  ASSERT_SOON(pump_, attempts > 2);
  bool closed = false;
  here_.close(1h, [&] { closed = true; });
  ASSERT_SOON(pump_, closed);
  pump_.run_for(50ms);
  bool finished = false;
  unit_->finish(0s, [&] { finished = true; });
  ASSERT_SOON(pump_, finished);
}

TEST_P(UnitLifetime, close_in_a_call_back_takes_no_memory) {
  make_manager(plan(true));
  make_builder(plan(true), GetParam().address);
  bool closed = false;
  builder_->on_event([&](const Event&) {
    builder_->close(1h, [&] { closed = true; });
    fail_allocations(1, 1'000'000);
    arm_allocations(true);
  });
  make_unit(plan(true));
  unit_->join(manager_address_);
  builder_->join(manager_address_);
  send(20);
  pump_.after_each_turn([] { arm_allocations(false); });
  ASSERT_SOON(pump_, closed);
  fail_allocations(0, 0);
}

TEST_P(UnitLifetime, finish_takes_no_memory) {
  make_manager(plan(true));
  make_builder(plan(true), GetParam().address);
  make_unit(plan(true));
  unit_->join(manager_address_);
  builder_->join(manager_address_);
  ASSERT_SOON(pump_, unit_->builders_connected() == 1);
  bool ended = false;
  unit_->finish(1h, [&] { ended = true; });
  fail_allocations(1, 1'000'000);
  for (int turns = 0; turns < 20; ++turns) {
    const Armed armed;
    here_.loop().run_once(0ns);
  }
  fail_allocations(0, 0);
  ASSERT_SOON(pump_, ended);
}

ON_EVERY_TRANSPORT(UnitLifetime);

}  // namespace
}  // namespace netio::test

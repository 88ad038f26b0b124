// Event building over several rails: a builder with several addresses, and a process with several
// units, each in a context and a thread of its own.
#include <array>
#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t sources = 4;

class Rails : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  void make_builder(const std::vector<std::string>& addresses) {
    BuilderOptions options;
    options.plan.sources = sources;
    options.deadline = 20s;
    options.socket = hasty_socket();
    builder_ = std::make_unique<BuilderUnit>(there_, options);
    builder_->on_event([this](const Event& event) {
      EXPECT_TRUE(event.complete()) << event.id().number;
      built_.insert(event.id().number);
    });
    for (const std::string& each : addresses) bound_.push_back(builder_->bind(each));
  }
  void make_unit(std::uint32_t source, const std::vector<std::string>& addresses) {
    ReadoutOptions options;
    options.plan.sources = sources;
    options.source = source;
    options.socket = hasty_socket();
    units_.push_back(std::make_unique<ReadoutUnit>(here_, options));
    units_.back()->on_up(
        [this, source](std::uint32_t, const PeerInfo& peer) { reached_[source] = peer.address; });
    units_.back()->connect(0, addresses);
  }
  void send(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t number = first; number < first + count; ++number) {
      for (std::uint32_t source = 0; source < sources; ++source) {
        const std::vector<std::byte> fragment = fragment_bytes(source, {1, number});
        ASSERT_SOON(pump_, units_[source]->send({1, number}, fragment) == Status::ok);
      }
    }
    for (const auto& unit : units_) unit->advance({1, first + count});
    ASSERT_SOON(pump_, built_.size() == first + count);
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::vector<std::string> bound_;
  std::vector<std::unique_ptr<ReadoutUnit>> units_;
  std::unique_ptr<BuilderUnit> builder_;
  std::map<std::uint32_t, std::string> reached_;
  std::set<std::uint64_t> built_;
};

TEST_P(Rails, units_spread_over_the_addresses_of_a_builder) {
  make_builder({GetParam().address, GetParam().address});
  ASSERT_NE(bound_[0], bound_[1]);
  for (std::uint32_t source = 0; source < sources; ++source) make_unit(source, bound_);
  send(0, 300);
  for (std::uint32_t source = 0; source < sources; ++source) {
    EXPECT_EQ(reached_[source], bound_[source % 2]) << source;
  }
}

TEST_P(Rails, where_a_builder_is_not_reached_the_next_address_is_tried) {
  make_builder({GetParam().address, GetParam().address});
  for (std::uint32_t source = 0; source < sources; ++source) make_unit(source, bound_);
  send(0, 100);
  builder_.reset();
  const std::vector<std::string> second{bound_[1]};
  make_builder(second);  // the first rail is gone
  send(100, 200);
  for (std::uint32_t source = 0; source < sources; ++source) {
    EXPECT_EQ(reached_[source], second[0]) << source;
  }
}

TEST_P(Rails, an_address_that_makes_no_sense_is_refused_at_once) {
  ReadoutOptions options;
  options.plan.sources = sources;
  ReadoutUnit unit(here_, options);
  const std::string good = GetParam().address;
  EXPECT_THROW(unit.connect(0, std::vector<std::string>{}), Error);
  EXPECT_THROW(unit.connect(0, {good, "carrier-pigeon://roof"}), Error);
  EXPECT_THROW(unit.connect(1, {good, good}), Error);
  EXPECT_THROW(unit.connect(0, {"tcp://host", "tcp://other:1"}), Error);
}

// One that does not answer is asked less and less often, however many addresses it has.
TEST_P(Rails, a_builder_that_is_away_is_tried_less_and_less_often) {
  make_builder({GetParam().address, GetParam().address});
  const std::vector<std::string> nowhere = bound_;
  builder_.reset();
  ReadoutOptions options;
  options.plan.sources = sources;
  options.socket.reconnect_after_min = 10ms;
  options.socket.reconnect_after_max = 10s;
  ReadoutUnit unit(here_, options);
  int attempts = 0;
  unit.on_down([&](std::uint32_t, const PeerInfo&, const Down&) { ++attempts; });
  unit.connect(0, nowhere);
  ASSERT_SOON(pump_, attempts > 0);
  pump_.run_for(1500ms);
  // Two addresses, each with some ten attempts in a second and a half, and the socket's own.
  EXPECT_GT(attempts, 3);
  EXPECT_LT(attempts, 50);
}

TEST_P(Rails, a_context_is_closed_while_a_builder_is_looked_for) {
  make_builder({GetParam().address, GetParam().address});
  const std::vector<std::string> nowhere = bound_;
  builder_.reset();
  make_unit(0, nowhere);
  Push lingers(here_, hasty_socket());
  lingers.connect(nowhere[0]);
  pump_.run_for(20ms);
  ReadoutOptions options;
  options.plan.sources = sources;
  ReadoutUnit never_dialed(here_, options);
  never_dialed.connect(0, nowhere);
  bool closed = false;
  here_.close(200ms, [&] { closed = true; });
  ASSERT_SOON(pump_, closed);
  pump_.run_for(50ms);
}

// Two builders and two read-out units, each with a thread: what a host with two interfaces runs.
class ManyThreads {
 public:
  static constexpr std::uint32_t of_each = 2;
  static constexpr std::uint64_t events = 1000;

  void build(std::uint32_t number, const std::string& address) {
    Context context(memory_to_build());
    BuilderOptions options;
    options.plan = {of_each, of_each, 16};
    options.builder = number;
    options.deadline = 20s;
    BuilderUnit builder(context, options);
    builder.on_event([&](const Event& event) {
      built += event.complete() ? 1 : 0;
      bytes += event.bytes();
    });
    std::uint32_t ended = 0;
    builder.on_down([&](std::uint32_t, const PeerInfo&, const Down&) {
      if (++ended == of_each) builder.close(1s, [&] { context.stop(); });
    });
    bound[number].set_value(builder.bind(address));
    context.run();
  }
  void read_out(std::uint32_t source) {
    Context context(memory_to_build());
    ReadoutOptions options;
    options.plan = {of_each, of_each, 16};
    options.source = source;
    ReadoutUnit unit(context, options);
    for (std::uint32_t number = 0; number < of_each; ++number) unit.connect(number, at[number]);
    EventId event{1, 0};
    const auto send_on = [&] {
      for (; event.number < events; event = event.next()) {
        if (unit.send(event, fragment_bytes(source, event)) != Status::ok) return;
      }
      unit.advance(end_of_run(1));
      unit.finish(20s, [&] { context.stop(); });
    };
    unit.on_room(send_on);
    send_on();
    context.run();
  }

  std::array<std::promise<std::string>, of_each> bound;
  std::array<std::string, of_each> at;
  std::atomic<std::uint64_t> built{0};
  std::atomic<std::uint64_t> bytes{0};
};

TEST_P(Rails, a_process_has_units_in_threads_of_their_own) {
  ManyThreads threads;
  std::vector<std::thread> running;
  for (std::uint32_t number = 0; number < ManyThreads::of_each; ++number) {
    running.emplace_back([&threads, number] { threads.build(number, GetParam().address); });
  }
  for (std::uint32_t number = 0; number < ManyThreads::of_each; ++number) {
    threads.at[number] = threads.bound[number].get_future().get();
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t source = 0; source < ManyThreads::of_each; ++source) {
    running.emplace_back([&threads, source] { threads.read_out(source); });
    for (std::uint64_t number = 0; number < ManyThreads::events; ++number) {
      bytes += fragment_bytes(source, {1, number}).size();
    }
  }
  for (std::thread& each : running) each.join();
  EXPECT_EQ(threads.built, ManyThreads::events);
  EXPECT_EQ(threads.bytes, bytes);
}

ON_EVERY_TRANSPORT(Rails);

}  // namespace
}  // namespace netio::test

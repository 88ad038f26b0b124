// A builder with small pools, over every transport, of which one unit lags: what the others have
// sent within their windows must leave it the memory for the fragments of the one that lags.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t sources_count = 4;
constexpr std::uint32_t last = sources_count - 1;

BuildPlan plan() { return {sources_count, 1, 1U << 20U}; }

// So many fragments of so many bytes come together. 0 bytes: small and large ones.
struct Arrival {
  std::uint64_t fragments;
  std::size_t bytes;
};

class LaggingUnit : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }
  static BuilderOptions building() {
    BuilderOptions options;
    options.plan = plan();
    options.deadline = 1h;
    return options;
  }
  void make_all(const BuilderOptions& options, std::size_t pool_bytes_least = 8U << 20U) {
    for (auto& unit : units_) unit.reset();
    builder_.reset();
    handed_over_ = 0;
    ContextOptions memory = memory_to_build();
    memory.receive_pool_bytes = pool_bytes_least;
    there_ = std::make_unique<Context>(BuilderUnit::with_memory(options, memory));
    pump_ = std::make_unique<Pump>(Pump{&here_, there_.get()});
    builder_ = std::make_unique<BuilderUnit>(*there_, options);
    builder_->on_event([this](const Event& event) {
      ++handed_over_;
      EXPECT_TRUE(event.complete());
      for (std::uint32_t source = 0; source < sources_count; ++source) {
        expect_as_sent(source, event.id().number, event[source].bytes());
      }
    });
    const std::string address = builder_->bind(GetParam().address);
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      ReadoutOptions of;
      of.plan = plan();
      of.source = source;
      units_[source] = std::make_unique<ReadoutUnit>(here_, of);
      units_[source]->connect(0, address);
      units_[source]->advance({1, 0});
    }
    ASSERT_SOON(*pump_, std::ranges::all_of(units_, [](const auto& unit) {
      return unit->builders_connected() == 1;
    }));
  }
  [[nodiscard]] std::vector<std::byte> fragment(std::uint32_t source, std::uint64_t number) const {
    constexpr std::array<std::size_t, 4> mixed{1'001, 100'003, 20'007, 303};
    return payload(mix(number * 8 + source), bytes_ != 0 ? bytes_ : mixed[number % mixed.size()]);
  }
  void expect_as_sent(std::uint32_t source, std::uint64_t number,
                      std::span<const std::byte> bytes) {
    EXPECT_TRUE(same_bytes(bytes, fragment(source, number)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 8, 0U);
  }
  void send(std::uint32_t source, std::uint64_t from, std::uint64_t below) {
    for (std::uint64_t number = from; number < below; ++number) {
      ASSERT_EQ(units_[source]->send({1, number}, fragment(source, number)), Status::ok);
    }
    units_[source]->flush();
  }
  // The last unit begins when the others have nothing more to say.
  void expect_all_though_one_lags(const Arrival& each) {
    SCOPED_TRACE(std::to_string(each.fragments) + " of " + std::to_string(each.bytes) + " bytes");
    bytes_ = each.bytes;
    const std::uint64_t window = window_of_each();
    const std::size_t usual = each.bytes != 0 ? each.bytes : 30'000;
    const std::uint64_t events = (2 * window / usual / each.fragments + 1) * each.fragments;
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      if (source == last) pump_->turns(100);
      for (std::uint64_t number = 0; number < events; number += each.fragments) {
        send(source, number, number + each.fragments);
        pump_->turns(1);
      }
    }
    ASSERT_SOON(*pump_, handed_over_ == events);
    const auto books = builder_->books();
    EXPECT_EQ(books.complete, events);
    EXPECT_EQ(books.open_bytes, 0U);
    // It was about what the windows allow.
    EXPECT_GT(books.open_bytes_max, window * last / 4);
  }
  // As memory_to_build() and the defaults give it.
  static std::uint64_t window_of_each() { return std::uint64_t{512} << 10U; }

  Context here_;
  std::unique_ptr<Context> there_;
  std::unique_ptr<Pump> pump_;
  std::unique_ptr<BuilderUnit> builder_;
  std::array<std::unique_ptr<ReadoutUnit>, sources_count> units_;
  std::size_t bytes_ = 0;
  std::uint64_t handed_over_ = 0;
};

// Pages that are half full, small pages, pages of one fragment, messages, and small fragments
// between large ones.
TEST_P(LaggingUnit, finds_memory_however_fragments_come) {
  for (const Arrival& each : {Arrival{32, 1'000}, Arrival{6, 1'000}, Arrival{1, 7'000},
                              Arrival{1, 20'000}, Arrival{5, 0}}) {
    make_all(building());
    expect_all_though_one_lags(each);
  }
}

// All that is spare is what the ends of blocks take.
TEST_P(LaggingUnit, finds_memory_where_the_pool_just_fits_the_windows) {
  for (const Arrival& each : {Arrival{20, 1'000}, Arrival{1, 40'000}}) {
    BuilderOptions options = building();
    options.window_bytes = window_of_each();
    options.keep_bytes_max = 1;
    make_all(options, 2U << 20U);
    expect_all_though_one_lags(each);
  }
}

// All pages but those of the last unit are kept, for a moment.
TEST_P(LaggingUnit, is_not_there_and_nothing_is_copied) {
  make_all(building());
  bytes_ = 1'000;
  constexpr std::uint64_t events = 3'200;
  for (std::uint64_t number = 0; number < events; number += 32) {
    for (std::uint32_t source = 0; source < sources_count; ++source) {
      send(source, number, number + 32);
      pump_->turns(2);
    }
  }
  ASSERT_SOON(*pump_, handed_over_ == events);
  EXPECT_LT(builder_->counters().bytes_copied, events * sources_count * 10);
}

ON_EVERY_TRANSPORT(LaggingUnit);

}  // namespace
}  // namespace netio::test

// Options of event building that make no sense, or need more memory than there is.
#include <functional>
#include <memory>
#include <string>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

constexpr std::size_t kib = 1024;

ContextOptions four_kib_pages() {
  ContextOptions options;
  options.page_bytes = 4 * kib;
  options.send_pool_bytes = 256 * kib;
  options.receive_pool_bytes = 1024 * kib;
  return options;
}
ReadoutOptions good_unit() {
  ReadoutOptions options;
  options.plan = {2, 2, 16};
  return options;
}
BuilderOptions good_builder() {
  BuilderOptions options;
  options.plan = {2, 2, 16};
  return options;
}

// What the constructor throws; empty if it does not.
std::string fault_of(const std::function<void()>& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

struct UnitOptionsCase {
  std::string name;
  std::function<void(ReadoutOptions&)> change;
  std::string why;
};
class BadUnitOptions : public testing::TestWithParam<UnitOptionsCase> {};

TEST_P(BadUnitOptions, are_refused_in_words) {
  Context context(four_kib_pages());
  ReadoutOptions options = good_unit();
  EXPECT_EQ(fault_of([&] { ReadoutUnit(context, options); }), "");
  GetParam().change(options);
  const std::string fault = fault_of([&] { ReadoutUnit(context, options); });
  EXPECT_NE(fault.find("cannot make a read-out unit"), std::string::npos) << fault;
  EXPECT_NE(fault.find(GetParam().why), std::string::npos) << fault;
}

constexpr auto options_name = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(
    of, BadUnitOptions,
    testing::Values(
        UnitOptionsCase{"no_sources", [](auto& options) { options.plan.sources = 0; }, "0 sources"},
        UnitOptionsCase{"no_builders", [](auto& options) { options.plan.builders = 0; },
                        "0 builders"},
        UnitOptionsCase{"too_many_builders",
                        [](auto& options) { options.plan.builders = UINT32_MAX; },
                        "4294967295 builders: there may be 1 to 65536"},
        UnitOptionsCase{"no_range", [](auto& options) { options.plan.range_events = 0; },
                        "0 events"},
        UnitOptionsCase{"no_such_source", [](auto& options) { options.source = 2; }, "no source 2"},
        UnitOptionsCase{"no_store", [](auto& options) { options.store_bytes_max = 63; },
                        "the store"}),
    options_name);

struct BuilderOptionsCase {
  std::string name;
  std::function<void(BuilderOptions&)> change;
  std::string why;
};
class BadBuilderOptions : public testing::TestWithParam<BuilderOptionsCase> {};

TEST_P(BadBuilderOptions, are_refused_in_words) {
  Context context(four_kib_pages());
  BuilderOptions options = good_builder();
  EXPECT_EQ(fault_of([&] { BuilderUnit(context, options); }), "");
  GetParam().change(options);
  const std::string fault = fault_of([&] { BuilderUnit(context, options); });
  EXPECT_NE(fault.find("cannot make a builder unit"), std::string::npos) << fault;
  EXPECT_NE(fault.find(GetParam().why), std::string::npos) << fault;
}

INSTANTIATE_TEST_SUITE_P(
    of, BadBuilderOptions,
    testing::Values(
        BuilderOptionsCase{"no_sources", [](auto& options) { options.plan.sources = 0; },
                           "0 sources"},
        BuilderOptionsCase{"too_many_sources",
                           [](auto& options) { options.plan.sources = UINT32_MAX; },
                           "4294967295 sources: there may be 1 to 65536"},
        BuilderOptionsCase{"no_such_builder", [](auto& options) { options.builder = 2; },
                           "no builder 2"},
        BuilderOptionsCase{"no_deadline", [](auto& options) { options.deadline = 0ns; },
                           "the deadline"},
        BuilderOptionsCase{"a_time_before_now", [](auto& options) { options.deadline = -1s; },
                           "the deadline"},
        BuilderOptionsCase{"a_window_that_is_no_window",
                           [](auto& options) { options.window_bytes = 1; },
                           "a window of 1 bytes is too small"},
        BuilderOptionsCase{"a_window_that_wraps",
                           [](auto& options) { options.window_bytes = SIZE_MAX; }, "no memory has"},
        BuilderOptionsCase{"events_kept_that_wrap",
                           [](auto& options) { options.keep_bytes_max = SIZE_MAX; },
                           "no memory has"},
        BuilderOptionsCase{"windows_larger_than_the_pool",
                           [](auto& options) { options.window_bytes = 512 * kib; },
                           "of the receive pool, and there are 1048576"},
        BuilderOptionsCase{"kept_events_larger_than_the_pool",
                           [](auto& options) { options.keep_bytes_max = 1024 * kib; },
                           "of the receive pool, and there are 1048576"}),
    options_name);

// Each fragment that is larger than a page has a buffer of its own.
TEST(BuilderMemory, is_bounded_by_that_for_large_messages_too) {
  ContextOptions few = four_kib_pages();
  few.large_bytes_max = 4096 * kib;
  Context context(few);
  BuilderOptions options = good_builder();
  options.window_bytes = 128 * kib;
  const std::string fault = fault_of([&] { BuilderUnit(context, options); });
  EXPECT_NE(fault.find("large_bytes_max"), std::string::npos) << fault;
  options.socket.message_bytes_max = 2 * kib;
  EXPECT_EQ(fault_of([&] { BuilderUnit(context, options); }), "");
}

TEST(BuilderMemory, is_what_with_memory_gives_the_context) {
  for (const std::uint32_t sources : {1U, 7U, 500U}) {
    for (const std::size_t window : {std::size_t{0}, 16 * kib, 300 * kib}) {
      for (const std::size_t keep : {std::size_t{0}, std::size_t{1}, 2'000 * kib}) {
        BuilderOptions options = good_builder();
        options.plan.sources = sources;
        options.window_bytes = window;
        options.keep_bytes_max = keep;
        ContextOptions least = four_kib_pages();
        least.large_bytes_max = 64 * kib;
        const ContextOptions enough = BuilderUnit::with_memory(options, least);
        EXPECT_GE(enough.receive_pool_bytes, least.receive_pool_bytes);
        Context context(enough);
        EXPECT_EQ(fault_of([&] { BuilderUnit(context, options); }), "");
      }
    }
  }
  // What the user gave, which is enough as well, is not rounded.
  for (std::size_t more = 0; more < 4; ++more) {
    BuilderOptions options = good_builder();
    options.plan.sources = 1;
    options.keep_bytes_max = 6'144 * kib;
    ContextOptions given;
    given.receive_pool_bytes = 8'192 * kib + more;
    const ContextOptions enough = BuilderUnit::with_memory(options, given);
    EXPECT_EQ(enough.receive_pool_bytes, given.receive_pool_bytes);
    Context context(enough);
    EXPECT_EQ(fault_of([&] { BuilderUnit(context, options); }), "");
  }
  BuilderOptions options = good_builder();
  options.plan.sources = 0;
  EXPECT_NE(fault_of([&] { static_cast<void>(BuilderUnit::with_memory(options)); }), "");
}

// A unit that shares its context with a builder leaves the builder its memory for large messages:
// no event waits for its deadline.
TEST(BuilderMemory, is_not_taken_by_units_of_the_same_context) {
  ContextOptions few = four_kib_pages();
  few.page_bytes = 64 * kib;
  few.receive_pool_bytes = 8192 * kib;
  few.large_bytes_max = 32'768 * kib;
  Context context(few);
  Pump pump({&context});
  BuilderOptions building = good_builder();
  building.plan.builders = 1;
  building.deadline = 1h;
  BuilderUnit builder(context, building);
  std::uint64_t complete = 0;
  builder.on_event([&](const Event& event) {
    if (event.complete()) ++complete;
  });
  const std::string address = builder.bind("tcp://127.0.0.1:0");
  std::array<std::unique_ptr<ReadoutUnit>, 2> units;
  std::array<std::uint64_t, 2> sent{};
  for (std::uint32_t source = 0; source < units.size(); ++source) {
    ReadoutOptions options = good_unit();
    options.plan.builders = 1;
    options.source = source;
    units[source] = std::make_unique<ReadoutUnit>(context, options);
    units[source]->connect(0, address);
  }
  const std::vector<std::byte> fragment(150'000);
  constexpr std::uint64_t events = 330;
  // The first unit is far ahead: what it holds is more than the memory for large messages.
  const auto send_from = [&](std::uint32_t source) {
    while (sent[source] < events &&
           units[source]->send({0, sent[source]}, fragment) == Status::ok) {
      ++sent[source];
    }
  };
  ASSERT_SOON(pump, (send_from(0), sent[0] > 300));
  ASSERT_SOON(pump, (send_from(0), send_from(1), complete == events));
}

}  // namespace
}  // namespace netio::test

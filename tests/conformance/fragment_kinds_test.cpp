// What a fragment may be made of, over every transport: bytes, a message, segments, lent memory.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

class FragmentKinds : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }
  static BuildPlan plan() { return {1, 1, 16}; }
  // Small ones lie in pages; others are larger than a page, or than the window.
  static std::size_t size_of(std::uint64_t number) {
    constexpr std::array<std::size_t, 6> sizes{0, 40, 3'000, 20'000, 100'000, 1'500'000};
    return sizes[number % sizes.size()];
  }
  static std::vector<std::byte> bytes_of(std::uint64_t number) {
    return payload(mix(number), size_of(number));
  }

  void make_builder(const std::string& address,
                    std::size_t message_bytes_max = SocketOptions().message_bytes_max) {
    BuilderOptions options;
    options.socket.message_bytes_max = message_bytes_max;
    options.plan = plan();
    options.window_bytes = 256U << 10U;
    builder_ = std::make_unique<BuilderUnit>(there_, options);
    builder_->on_event([this](const Event& event) {
      ++seen_[event.id().number];
      EXPECT_TRUE(event.complete());
      check_(event.id().number, event[0]);
    });
    address_ = builder_->bind(address);
  }
  void make_unit(std::size_t store_bytes_max = std::size_t{8} << 20U,
                 std::size_t message_bytes_max = SocketOptions().message_bytes_max) {
    ReadoutOptions options;
    options.socket.message_bytes_max = message_bytes_max;
    options.plan = plan();
    options.store_bytes_max = store_bytes_max;
    options.socket.reconnect_after_min = 1ms;
    options.socket.reconnect_after_max = 20ms;
    unit_ = std::make_unique<ReadoutUnit>(here_, options);
    unit_->on_released([this](std::uint64_t token) { ++released_[token]; });
  }
  void expect_all(std::uint64_t events) {
    unit_->advance({0, events});
    bool ended = false;
    unit_->finish(1h, [&] { ended = true; });
    ASSERT_SOON(pump_, ended);
    EXPECT_EQ(seen_.size(), events);
    EXPECT_EQ(unit_->books().held, 0U);
    EXPECT_EQ(builder_->books().open_bytes, 0U);
  }
  // Each loan has ended, once.
  void expect_released(std::uint64_t loans) {
    ASSERT_SOON(pump_, released_.size() == loans);
    EXPECT_TRUE(std::ranges::all_of(released_, [](const auto& each) { return each.second == 1; }));
  }
  static FragmentStatus status_of(std::uint64_t number) {
    return static_cast<FragmentStatus>(number % 3);
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::string address_;
  std::unique_ptr<BuilderUnit> builder_;
  std::unique_ptr<ReadoutUnit> unit_;
  std::map<std::uint64_t, int> seen_;
  std::map<std::uint64_t, int> released_;
  std::function<void(std::uint64_t, const EventFragment&)> check_ =
      [](std::uint64_t number, const EventFragment& fragment) {
        EXPECT_EQ(fragment.status, status_of(number));
        EXPECT_TRUE(same_bytes(fragment.bytes(), bytes_of(number))) << number;
      };
};

TEST_P(FragmentKinds, segments_arrive_as_they_were_sent) {
  constexpr std::uint64_t events = 120;
  check_ = [](std::uint64_t number, const EventFragment& fragment) {
    EXPECT_EQ(fragment.status, status_of(number));
    const auto segments = fragment.message.segments();
    ASSERT_EQ(segments.size(), 3U) << number;
    const std::vector<std::byte> body = bytes_of(number);
    EXPECT_TRUE(same_bytes(segments[0], std::as_bytes(std::span("head", 5))));
    EXPECT_TRUE(same_bytes(segments[1], bytes_of(1)));
    EXPECT_TRUE(same_bytes(segments[2], body)) << number;
  };
  make_builder(GetParam().address);
  make_unit();
  unit_->connect(0, address_);
  for (std::uint64_t number = 0; number < events; ++number) {
    const std::vector<std::byte> body = bytes_of(number);
    const std::vector<std::byte> trailer = bytes_of(1);
    const std::array<Segment, 3> segments{std::as_bytes(std::span("head", 5)), trailer, body};
    ASSERT_SOON(pump_,
                unit_->send_segments({0, number}, segments, status_of(number)) == Status::ok);
  }
  expect_all(events);
}

TEST_P(FragmentKinds, segments_are_refused_where_no_fragment_can_be_made_of_them) {
  make_unit(1U << 20U);
  const std::vector<std::byte> bytes(2U << 20U);
  const std::vector<Segment> too_many(segments_max + 1, Segment(std::span<const std::byte>()));
  EXPECT_EQ(unit_->send_segments({0, 0}, too_many), Status::invalid);
  EXPECT_EQ(unit_->send_segments({0, 0}, {Segment(Message())}), Status::invalid);
  EXPECT_EQ(unit_->send_segments({0, 0}, {"head", bytes}), Status::too_big);
  // A message among them is untouched.
  Message message = Message::of_size(700'000, 0);
  ASSERT_EQ(unit_->send({0, 0}, std::span(bytes).first(500'000)), Status::ok);
  EXPECT_EQ(unit_->send_segments({0, 1}, {"head", std::move(message)}), Status::again);
  EXPECT_EQ(message.size(), 700'000U);
  EXPECT_EQ(unit_->books().sent, 1U);
}

// Empty segments, too: each takes 8 bytes of the table.
TEST_P(FragmentKinds, segments_count_with_their_table_at_both_ends) {
  constexpr std::size_t table = 65 * 8;
  const std::vector<std::byte> body(2'000'000 -
                                    63 * 8);  // one that comes in parts, where there are
  for (const std::span<const std::byte> last : {std::span<const std::byte>(), std::span(body)}) {
    const std::vector<std::byte> eight(last.empty() ? 0 : 8);
    std::vector<Segment> segments(segments_max - 1, Segment(std::span<const std::byte>(eight)));
    segments.emplace_back(last);
    const std::uint64_t bytes = segments.size() * eight.size() + last.size() - eight.size();
    check_ = [&](std::uint64_t, const EventFragment& fragment) {
      EXPECT_EQ(fragment.bytes().size(), bytes);
      EXPECT_EQ(fragment.message.segments().size(), segments_max);
    };
    make_builder(GetParam().address);
    make_unit();
    ASSERT_EQ(unit_->send_segments({0, 0}, segments), Status::ok);
    EXPECT_EQ(unit_->books().held_bytes, bytes + table + 64);
    unit_->connect(0, address_);
    ASSERT_SOON(pump_, !seen_.empty());
    EXPECT_EQ(builder_->books().open_bytes_max, bytes + table + 64);
    unit_.reset();
    builder_.reset();
    seen_.clear();
  }
}

TEST_P(FragmentKinds, segments_whose_tables_fill_the_window_many_times_arrive) {
  constexpr std::uint64_t events = 4'000;
  const std::vector<Segment> segments(segments_max, Segment(std::span<const std::byte>()));
  check_ = [](std::uint64_t, const EventFragment& fragment) {
    EXPECT_EQ(fragment.message.segments().size(), segments_max);
  };
  make_builder(GetParam().address);
  make_unit();
  unit_->connect(0, address_);
  for (std::uint64_t number = 0; number < events; ++number) {
    ASSERT_SOON(pump_, unit_->send_segments({0, number}, segments) == Status::ok);
  }
  expect_all(events);
}

// A message of two segments as a receiver keeps it: 992 bytes, and a table of 24 in front of them.
TEST_P(FragmentKinds, a_message_of_segments_is_too_big_if_it_is_with_its_table) {
  Message kept;
  Message fits;
  check_ = [&](std::uint64_t number, const EventFragment& fragment) {
    (number == 0 ? kept : fits) = fragment.message.keep();
  };
  make_builder(GetParam().address);
  make_unit();
  unit_->connect(0, address_);
  const std::vector<std::byte> body(984);
  const auto all = std::span(body);
  ASSERT_EQ(unit_->send_segments({0, 0}, {std::string_view("8 bytes."), all}), Status::ok);
  ASSERT_EQ(unit_->send_segments({0, 1}, {std::string_view("8 bytes."), all.first(968)}),
            Status::ok);
  expect_all(2);
  ASSERT_EQ(kept.size(), 992U);

  seen_.clear();
  make_builder(GetParam().address);
  make_unit(1U << 20U, 1'000);
  unit_->connect(0, address_);
  check_ = [](std::uint64_t, const EventFragment& fragment) {
    EXPECT_EQ(fragment.message.segments().size(), 2U);
  };
  EXPECT_EQ(unit_->send({0, 0}, std::move(kept)), Status::too_big);
  EXPECT_EQ(kept.size(), 992U);
  EXPECT_EQ(unit_->send({0, 0}, std::move(fits)), Status::ok);
  expect_all(1);

  // The builder takes less, and is told how large the fragment is with its table.
  make_builder(GetParam().address, 1'000);
  make_unit();
  std::string why_refused;
  unit_->on_refused([&](std::uint32_t, std::string_view why) { why_refused = why; });
  unit_->connect(0, address_);
  ASSERT_EQ(unit_->send({0, 0}, std::move(kept)), Status::ok);
  ASSERT_SOON(pump_, !why_refused.empty());
  EXPECT_NE(why_refused.find("at most 1000 bytes"), std::string::npos) << why_refused;
  EXPECT_NE(why_refused.find("one of 1016"), std::string::npos) << why_refused;
}

TEST_P(FragmentKinds, a_message_that_is_not_taken_is_untouched) {
  make_unit(1'000);
  const std::vector<std::byte> bytes(900);
  ASSERT_EQ(unit_->send({0, 0}, std::span(bytes)), Status::ok);
  Message message = Message::of_size(500, 7);
  message.set_head_room(16);
  const std::byte* const data = message.data();
  EXPECT_EQ(unit_->send({0, 1}, std::move(message)), Status::again);
  EXPECT_EQ(unit_->send({0, 0}, std::move(message)), Status::invalid);
  EXPECT_EQ(message.data(), data);
  EXPECT_EQ(message.tag(), 7U);
  EXPECT_EQ(message.writable_bytes().size(), 500U);
  EXPECT_EQ(message.head_room(), 16U);
}

TEST_P(FragmentKinds, what_is_lent_is_lent_until_its_event_is_settled) {
  constexpr std::uint64_t events = 120;
  make_builder(GetParam().address);
  make_unit();
  unit_->connect(0, address_);
  std::vector<std::vector<std::byte>> lent;
  for (std::uint64_t number = 0; number < events; ++number) {
    lent.push_back(bytes_of(number));
    ASSERT_SOON(pump_,
                unit_->lend({0, number}, lent.back(), number, status_of(number)) == Status::ok);
  }
  expect_all(events);
  expect_released(events);
}

TEST_P(FragmentKinds, what_is_lent_is_sent_again_to_a_builder_that_was_restarted) {
  make_builder(GetParam().address);
  make_unit();
  unit_->connect(0, address_);
  std::vector<std::vector<std::byte>> lent;
  const auto lend = [&](std::uint64_t below) {
    while (lent.size() < below) {
      const std::uint64_t number = lent.size();
      lent.push_back(bytes_of(number));
      ASSERT_SOON(pump_,
                  unit_->lend({0, number}, lent.back(), number, status_of(number)) == Status::ok);
    }
  };
  lend(60);
  ASSERT_SOON(pump_, !seen_.empty());
  builder_.reset();
  lend(64);
  EXPECT_LT(released_.size(), 64U);
  make_builder(address_);
  lend(120);
  expect_all(120);
  expect_released(120);
}

TEST_P(FragmentKinds, a_unit_may_be_destroyed_while_its_loans_are_on_the_way) {
  for (int round = 0; round < 5; ++round) {
    make_builder(GetParam().address);
    make_unit();
    unit_->connect(0, address_);
    ASSERT_SOON(pump_, unit_->builders_connected() == 1);
    std::vector<std::vector<std::byte>> lent;
    for (std::uint64_t number = 0; number < 30; ++number) {
      lent.push_back(bytes_of(number));
      if (unit_->lend({0, number}, lent.back(), number, status_of(number)) != Status::ok) break;
    }
    pump_.turns(round);
    const auto released = released_.size();
    unit_.reset();
    lent.clear();
    pump_.turns(20);
    EXPECT_EQ(released_.size(), released);
    builder_.reset();
    released_.clear();
  }
}

TEST_P(FragmentKinds, a_loan_that_is_not_taken_never_was) {
  make_unit(1U << 20U);
  const std::vector<std::byte> bytes(700'000);
  ASSERT_EQ(unit_->lend({0, 5}, bytes, 1), Status::ok);
  EXPECT_EQ(unit_->lend({0, 5}, bytes, 2), Status::invalid);
  EXPECT_EQ(unit_->lend({0, 6}, bytes, 3), Status::again);
  EXPECT_EQ(unit_->books().sent, 1U);
  pump_.turns(10);
  EXPECT_TRUE(released_.empty());
  unit_.reset();  // without calls
  pump_.turns(10);
  EXPECT_TRUE(released_.empty());
}

ON_EVERY_TRANSPORT(FragmentKinds);

}  // namespace
}  // namespace netio::test

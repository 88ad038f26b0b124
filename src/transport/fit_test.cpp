// What becomes of messages in each kind of memory, on wires of each kind: no link is needed to ask.
#include "transport/fit.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "wire/page.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t fit_page_bytes = 8192;
constexpr std::size_t whole_max = std::size_t{1} << 20U;

// Memory of the user's, as it is lent.
class Users final : private BlockOwner {
 public:
  explicit Users(std::size_t size) : bytes(size), block(*this, bytes.data(), bytes.size()) {}
  void give_back(Block&) noexcept override {}
  std::vector<std::byte> bytes;
  Block block;
};

class FitOfAWire : public testing::Test {
 protected:
  using Way = Fit::Way;

  [[nodiscard]] Fit fit() const {
    Fit fit{.pages = pages_.get(), .large = large_.get()};
    fit.borrowed_bytes_max = fit_page_bytes - page_header_bytes - frame_prefix_bytes_max;
    fit.whole_page_bytes_max = whole_max;
    return fit;
  }
  static Fit::Answer of(const Fit& fit, const Block& block, std::size_t bytes,
                        std::uint64_t tag = 0) {
    return fit.of(block, {block.data(), bytes}, tag);
  }

  std::shared_ptr<SharedMemory> memory_ = std::make_shared<SharedMemory>(
      SharedMemory::create("fit", 64 * fit_page_bytes, 4 * fit_page_bytes));
  Pool::Ptr pages_ = Pool::create(fit_page_bytes, 4);
  Pool::Ptr received_ = Pool::create(fit_page_bytes, 4);
  Pool::Ptr arena_ = Pool::create(fit_page_bytes, 4, OwnerThread::calling(), memory_);
  RangePool::Ptr loans_ = RangePool::create(memory_, 4 * fit_page_bytes);
  LargePool::Ptr large_ = LargePool::create(64U << 20U, 0);
};

TEST_F(FitOfAWire, that_reads_any_memory_copies_none) {
  const Users users(whole_max);
  EXPECT_EQ(of(fit(), users.block, 1), Fit::Answer{Way::in_place});
  EXPECT_EQ(of(fit(), users.block, fit_page_bytes), Fit::Answer{Way::in_place});
  EXPECT_EQ(of(fit(), users.block, whole_max), Fit::Answer{Way::in_parts});
}

TEST_F(FitOfAWire, whose_peer_reads_shared_memory_copies_all_other) {
  Fit shared = fit();
  shared.pages = arena_.get();
  shared.loans = loans_.get();
  shared.whole_page_bytes_max = fit_page_bytes;
  const Users users(2 * fit_page_bytes);
  EXPECT_EQ(of(shared, users.block, 100), (Fit::Answer{Way::copied, arena_.get()}));
  EXPECT_EQ(of(shared, users.block, fit_page_bytes), (Fit::Answer{Way::copied, loans_.get()}));
  const Lease loan = loans_->take(3 * fit_page_bytes);
  EXPECT_EQ(of(shared, *loan.get(), 2 * fit_page_bytes), Fit::Answer{Way::in_place});
  EXPECT_TRUE(shared.peer_reads(*loan.get(), UINT32_MAX - loan_headroom));
  EXPECT_FALSE(shared.peer_reads(*loan.get(), UINT32_MAX));
  EXPECT_FALSE(shared.before_post(of(shared, users.block, 100)));
  EXPECT_TRUE(shared.before_post(of(shared, users.block, fit_page_bytes)));
  EXPECT_TRUE(shared.one_copy_serves_all(of(shared, users.block, 100)));
}

// Frames that fill a page of the wire's own, such as those of a read-out unit.
TEST_F(FitOfAWire, sends_pages_from_its_own_memory_unless_they_are_short) {
  Fit shared = fit();
  shared.pages = arena_.get();
  shared.loans = loans_.get();
  shared.short_body_bytes_max = 80;
  const Users users(2 * fit_page_bytes);
  const auto sends_from = [&shared](const Block& memory, std::size_t bytes) {
    return shared.sends_page_from(memory, {memory.data(), bytes});
  };
  const Lease page = arena_->take();
  const Lease loan = loans_->take(2 * fit_page_bytes);
  EXPECT_TRUE(sends_from(*page.get(), 88));
  EXPECT_FALSE(sends_from(*page.get(), 80));
  EXPECT_TRUE(sends_from(*loan.get(), fit_page_bytes));
  EXPECT_FALSE(sends_from(users.block, 88));
}

TEST_F(FitOfAWire, that_reads_registered_memory_only_copies_what_others_own_up_to_a_page) {
  Fit registered = fit();
  registered.received = received_.get();
  const Users users(2 * fit_page_bytes);
  EXPECT_EQ(of(registered, users.block, 100), (Fit::Answer{Way::copied, pages_.get()}));
  EXPECT_EQ(of(registered, users.block, 2 * fit_page_bytes), Fit::Answer{Way::in_place});
  const Lease sent = pages_->take();
  const Lease received = received_->take();
  const Lease large = large_->take(2 * fit_page_bytes);
  for (const Lease* const lease : {&sent, &received, &large}) {
    EXPECT_EQ(of(registered, *lease->get(), 100), Fit::Answer{Way::in_place});
  }
}

// A word, and a tag, stand before the payload.
TEST_F(FitOfAWire, with_slots_copies_there_what_fits_with_its_frame) {
  Fit slots = fit();
  slots.short_body_bytes_max = 80;
  const Users users(fit_page_bytes);
  const Fit::Answer in_slot{Way::copied, nullptr};
  EXPECT_EQ(of(slots, users.block, 72), in_slot);
  EXPECT_EQ(of(slots, users.block, 73), Fit::Answer{Way::in_place});
  EXPECT_EQ(of(slots, users.block, 64, 1), in_slot);
  EXPECT_EQ(of(slots, users.block, 65, 1), Fit::Answer{Way::in_place});
  EXPECT_EQ(slots.of_borrowed(72, 0), in_slot);
  EXPECT_EQ(slots.of_borrowed(73, 0), (Fit::Answer{Way::copied, pages_.get()}));
  EXPECT_FALSE(slots.before_post(slots.of_borrowed(72, 0)));
}

TEST_F(FitOfAWire, says_where_memory_lacks_and_what_there_never_is) {
  const Fit any = fit();
  std::array<Lease, 4> pages;
  for (Lease& each : pages) each = any.take_to_write(fit_page_bytes).lease;
  ASSERT_TRUE(pages.back());
  EXPECT_EQ(any.take_to_write(fit_page_bytes).short_of, pages_.get());
  EXPECT_TRUE(any.take_to_write(fit_page_bytes + 1).lease);
  const Fit::Taken never = any.take_shared(std::size_t{1} << 40U);
  EXPECT_FALSE(never.lease);
  EXPECT_EQ(never.short_of, nullptr);
}

}  // namespace
}  // namespace netio::detail

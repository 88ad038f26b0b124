// The records and deadlines of requests, and those that are made ready for several at once.
#include "pattern/request/pending_requests.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "pattern/request/deadlines.hpp"

namespace netio::detail {
namespace {

// Of a chunk and the next, some used before and some new.
TEST(PendingRequests, as_many_are_free_as_were_asked_for) {
  PendingRequests pending;
  std::vector<PendingRequest*> used;
  for (int i = 0; i < 10; ++i) {
    PendingRequest* const request = pending.next_free();
    pending.take(*request);
    used.push_back(request);
  }
  for (int i = 0; i < 10; i += 3) pending.free(*used[static_cast<std::size_t>(i)]);
  ASSERT_TRUE(pending.has_free(150));
  ASSERT_TRUE(pending.has_free(150));  // they are there: none is added
  std::set<std::uint64_t> ids;
  std::uint64_t last = 0;  // index
  for (int i = 0; i < 150; ++i) {
    PendingRequest* const request = pending.next_free();
    ASSERT_NE(request, nullptr);
    pending.take(*request);
    EXPECT_TRUE(ids.insert(request->id).second);
    last = std::max(last, request->id & 0xffffffU);
    EXPECT_EQ(pending.find(request->id), request);
  }
  for (int i = 0; i < 10; ++i) {
    if (i % 3 != 0) {
      EXPECT_FALSE(ids.contains(used[static_cast<std::size_t>(i)]->id));
    }
  }
  EXPECT_EQ(last, 155U) << "6 in use, 4 used again, 146 new";
}

TEST(Deadlines, have_room_for_as_many_as_were_asked_for_and_forget_those_that_ended) {
  Deadlines deadlines;
  deadlines.make_room(3, [](std::uint64_t) { return true; });
  for (std::uint64_t id = 0; id < 3; ++id) deadlines.add(std::int64_t(10 - id), id);
  deadlines.make_room(1000, [](std::uint64_t id) { return id != 2; });
  for (std::uint64_t id = 3; id < 1003; ++id) deadlines.add(std::int64_t(100 + id), id);
  EXPECT_EQ(deadlines.first_ns(), 9);
  EXPECT_EQ(deadlines.pop(), 1U);
  EXPECT_EQ(deadlines.pop(), 0U);
  EXPECT_EQ(deadlines.pop(), 3U);
}

}  // namespace
}  // namespace netio::detail

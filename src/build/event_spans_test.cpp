// EventSpans: what lists of spans have in common, and what is left of a span.
#include "build/event_spans.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

EventSpan span(std::uint64_t from, std::uint64_t below) { return {{0, from}, {0, below}}; }

TEST(EventSpans, have_in_common_what_lies_in_both) {
  const EventSpans one{span(0, 10), span(20, 30)};
  const EventSpans other{span(5, 22), span(25, 26), span(29, 40)};
  EXPECT_EQ(common(one, other),
            (EventSpans{span(5, 10), span(20, 22), span(25, 26), span(29, 30)}));
  EXPECT_TRUE(common(one, {}).empty());
}

TEST(EventSpans, leave_of_a_span_what_lies_in_none_of_them) {
  const EventSpans list{span(5, 10), span(20, 30)};
  EXPECT_EQ(without(span(0, 40), list), (EventSpans{span(0, 5), span(10, 20), span(30, 40)}));
  EXPECT_EQ(without(span(6, 25), list), (EventSpans{span(10, 20)}));
  EXPECT_TRUE(without(span(20, 30), list).empty());
  EXPECT_EQ(without(span(1, 2), {}), (EventSpans{span(1, 2)}));
}

TEST(EventSpans, are_sorted_whichever_was_inserted_first) {
  EventSpans list;
  insert(list, span(20, 30));
  insert(list, span(0, 5));
  insert(list, span(7, 9));
  EXPECT_EQ(list, (EventSpans{span(0, 5), span(7, 9), span(20, 30)}));
  EXPECT_TRUE(covers(list, {0, 8}));
  EXPECT_FALSE(covers(list, {0, 9}));
}

}  // namespace
}  // namespace netio::detail

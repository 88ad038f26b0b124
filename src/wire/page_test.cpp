// PageHeader: its bytes in order, and the bounds that hold whatever the peer negotiated.
#include "wire/page.hpp"

#include <cstddef>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

static_assert(offsetof(PageHeader, bytes) == 0);
static_assert(offsetof(PageHeader, messages) == 4);
static_assert(offsetof(PageHeader, flags) == 8);
static_assert(offsetof(PageHeader, credits) == 10);
static_assert(offsetof(PageHeader, fetched) == 12);
static_assert(offsetof(PageHeader, reserved) == 14);
static_assert(offsetof(PageHeader, sequence) == 16);
static_assert(offsetof(PageHeader, acknowledged) == 24);

static_assert(wire_padded(0) == 0);
static_assert(wire_padded(1) == 8);
static_assert(wire_padded(8) == 8);
static_assert(wire_padded(0xffffffff) == 0x100000000);

TEST(PageHeader, a_default_one_is_an_empty_page_and_sound) {
  EXPECT_EQ(defect(PageHeader()), nullptr);
}

TEST(PageHeader, the_largest_fields_there_are_do_not_wrap) {
  PageHeader header{.bytes = 0xfffffff8, .messages = 0x1fffffff};
  EXPECT_EQ(defect(header), nullptr);
  ++header.messages;
  EXPECT_NE(defect(header), nullptr);
}

TEST(PageHeader, every_bit_of_the_flags_but_control_is_unknown) {
  for (unsigned bit = 0; bit < 16; ++bit) {
    const PageHeader header{.flags = static_cast<std::uint16_t>(1U << bit)};
    EXPECT_EQ(defect(header) == nullptr, header.flags == page_flag::control) << bit;
  }
}

TEST(PageHeader, messages_are_lent_on_fabrics_only) {
  const PageHeader lent{.bytes = 24, .messages = 1, .flags = page_flag::lent};
  const PageHeader fetched{.fetched = 1};
  constexpr std::uint16_t of_fabrics = page_flag::known | page_flag::lent;
  for (const PageHeader& header : {lent, fetched}) {
    EXPECT_NE(defect(header), nullptr);
    EXPECT_EQ(defect(header, of_fabrics), nullptr);
  }
}

}  // namespace
}  // namespace netio::detail

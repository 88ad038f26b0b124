// Text from a peer: what is let through to a terminal, and where it is cut.
#include "wire/text.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

TEST(Text, whole_characters_of_every_length_stay) {
  const std::string text =
      "a \xc2\xa0 \xc3\xbc \xe2\x82\xac \xed\x9f\xbf \xee\x80\x80 \xf0\x9f\x98\x80";
  EXPECT_EQ(printable(text, 100), text);
}

TEST(Text, control_characters_become_question_marks) {
  EXPECT_EQ(printable(std::string_view("\0\n\x1b[0m\x7f", 7), 100), "???[0m?");
  EXPECT_EQ(printable("\xc2\x80\xc2\x9f", 100), "????");
}

TEST(Text, what_is_not_utf_8_becomes_question_marks) {
  EXPECT_EQ(printable("\xc0\xaf", 100), "??");            // '/' in two bytes
  EXPECT_EQ(printable("\xe0\x80\xaf", 100), "???");       // in three
  EXPECT_EQ(printable("\xf0\x80\x80\xaf", 100), "????");  // in four
  EXPECT_EQ(printable("\xed\xa0\x80", 100), "???");       // half a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80", 100), "????");  // past the last character
  EXPECT_EQ(printable("\xff\xfe", 100), "??");
  EXPECT_EQ(printable("\xe2\x82", 100), "??");  // not all there
  EXPECT_EQ(printable("\xe2\x82z", 100), "??z");
}

TEST(Text, a_cut_never_divides_a_character) {
  const std::string text = "a\xf0\x9f\x98\x80z";
  EXPECT_EQ(cut_utf8(text, 100), text);
  EXPECT_EQ(cut_utf8(text, 5), "a\xf0\x9f\x98\x80");
  for (std::size_t bytes = 1; bytes < 5; ++bytes) EXPECT_EQ(cut_utf8(text, bytes), "a");
  EXPECT_EQ(cut_utf8(text, 0), "");
}

TEST(Text, a_cut_of_what_is_not_utf_8_keeps_most_of_it) {
  EXPECT_EQ(cut_utf8(std::string(100, '\x80'), 50).size(), 47U);
}

}  // namespace
}  // namespace netio::detail

// Values with their units, and each way to write them wrong.
#include "channels/values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "channels/bad_value.hpp"
#include "channels/words.hpp"

namespace netio::detail {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

template <typename Parse>
std::string complaint(Parse parse) {
  try {
    (void)parse();
  } catch (const BadValue& bad) {
    return bad.cause() + "; " + bad.advice();
  }
  return "none";
}

TEST(ChannelValues, have_the_units_of_the_command) {
  EXPECT_EQ(parse_bytes("64"), 64U);
  EXPECT_EQ(parse_bytes("64KiB"), 65536U);
  EXPECT_EQ(parse_bytes("64 KiB"), 65536U);
  EXPECT_EQ(parse_bytes("1.5MB"), 1500000U);
  EXPECT_EQ(parse_bytes("1TiB"), bytes_most);
  EXPECT_EQ(parse_bytes("0", 0), 0U);
  EXPECT_EQ(parse_time("5"), 5s);
  EXPECT_EQ(parse_time("10ms"), 10ms);
  EXPECT_EQ(parse_time("0.1"), 100ms);
  EXPECT_EQ(parse_time("100us"), 100us);
  EXPECT_EQ(parse_time("7ns"), 7ns);
  EXPECT_EQ(parse_time("2min"), 2min);
  EXPECT_EQ(parse_time("1.5h"), 90min);
  EXPECT_EQ(parse_time("0"), 0s);
  EXPECT_EQ(parse_count("10k", 1, 1U << 20U), 10000U);
  EXPECT_EQ(parse_count("1Mi", 1, 1U << 20U), 1U << 20U);
  EXPECT_EQ(parse_number("-1", -1, 10), -1);
  EXPECT_DOUBLE_EQ(parse_share("0.75"), 0.75);
  EXPECT_TRUE(parse_bool("true"));
  EXPECT_FALSE(parse_bool("0"));
}

TEST(ChannelValues, that_make_no_sense_are_refused_with_how_to_write_them) {
  for (const char* const text : {"",
                                 "x",
                                 "-1",
                                 "+1",
                                 " 1",
                                 "1 x",
                                 "64KB3",
                                 "64Kib",
                                 "1e3",
                                 "inf",
                                 "nan",
                                 "1.5B",
                                 "0x10",
                                 "99999999999999999999999",
                                 "99999999999TiB",
                                 "1..5",
                                 "1,5",
                                 "1 ",
                                 "1  kB",
                                 "\xff\x01"}) {
    EXPECT_THAT(complaint([&] { return parse_bytes(text); }), HasSubstr("write it like 64, 64KiB"))
        << text;
  }
  EXPECT_THAT(complaint([] { return parse_bytes("0"); }), HasSubstr("from 1 byte to 1 TiB"));
  EXPECT_THAT(complaint([] { return parse_bytes("2TiB", 0); }), HasSubstr("from 0 bytes to 1 TiB"));
  for (const char* const text :
       {"", "10xs", "10 s s", "-5ms", "1y", "2d", "9000h", "1e9", "999999999999999999999"}) {
    EXPECT_THAT(complaint([&] { return parse_time(text); }), HasSubstr("up to a year")) << text;
  }
  EXPECT_THAT(complaint([] { return parse_some_time("0ms"); }), HasSubstr("more than 0"));
  EXPECT_THAT(complaint([] { return parse_count("2M", 1, 1U << 20U); }),
              HasSubstr("from 1 to 1048576"));
  EXPECT_THAT(complaint([] { return parse_count("1.5", 1, 10); }), HasSubstr("not a count"));
  for (const char* const text : {"", "-", "1.0", "1k", "+1", "0x1"}) {
    EXPECT_THAT(complaint([&] { return parse_number(text, -1, 10); }), HasSubstr("digits alone"))
        << text;
  }
  for (const char* const text : {"11", "-2", "99999999999999999999999"}) {
    EXPECT_THAT(complaint([&] { return parse_number(text, -1, 10); }), HasSubstr("from -1 to 10"))
        << text;
  }
  for (const char* const text : {"yes", "True", "2", ""}) {
    EXPECT_THAT(complaint([&] { return parse_bool(text); }), HasSubstr("write true or false"));
  }
  for (const char* const text : {"1.1", "-0.1", "75%", "", "nan"}) {
    EXPECT_THAT(complaint([&] { return parse_share(text); }), HasSubstr("from 0 to 1")) << text;
  }
}

TEST(ChannelValues, tags_are_numbers_and_ranges) {
  EXPECT_THAT(parse_tags("7"), testing::ElementsAre(TagRange{7, 7}));
  EXPECT_THAT(parse_tags("0x1f;3-9, 12"),
              testing::ElementsAre(TagRange{31, 31}, TagRange{3, 9}, TagRange{12, 12}));
  EXPECT_THAT(parse_tags("all"), testing::ElementsAre(every_tag));
  EXPECT_TRUE(parse_tags("none").empty());
  for (const char* const text : {"", ";", "7;", "x", "7-", "-7", "3-9-12", "alll"}) {
    EXPECT_THAT(complaint([&] { return parse_tags(text); }), HasSubstr("3-9;12")) << text;
  }
  EXPECT_THAT(complaint([] { return parse_tags("9-3"); }), HasSubstr("ends before it begins"));
  EXPECT_THAT(complaint([] { return parse_tags("18446744073709551616"); }), HasSubstr("64 bits"));
}

TEST(ChannelWords, the_nearest_is_named_or_all_are) {
  constexpr std::array<std::string_view, 3> words{"address", "sndBufSize", "mode"};
  EXPECT_EQ(nearest("adress", words), "address");
  EXPECT_EQ(nearest("SNDBUFSIZE", words), "sndBufSize");
  EXPECT_EQ(nearest("mod", words), "mode");
  EXPECT_EQ(nearest("linger", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(100000, 'a'), words), "");
  EXPECT_EQ(meant("linger", words), "it is one of address, sndBufSize and mode");
}

TEST(ChannelWords, what_a_terminal_might_obey_is_not_shown) {
  EXPECT_EQ(in_quotes("a\x1b[2Jb"), "\"a?[2Jb\"");
  EXPECT_EQ(in_quotes(std::string(100, 'a')), '"' + std::string(60, 'a') + "...\"");
}

}  // namespace
}  // namespace netio::detail

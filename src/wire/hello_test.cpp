// Hello: round trips, every truncation, every damaged byte.
#include "wire/hello.hpp"

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wire/page.hpp"

namespace netio::detail {
namespace {

using Bytes = std::vector<std::byte>;

Bytes encoded(const Hello& hello) {
  Bytes bytes(hello_bytes_max);
  bytes.resize(encode(hello, bytes));
  return bytes;
}

Hello some_hello() {
  Hello hello;
  hello.pattern = WirePattern::pull;
  hello.page_bytes_max = 65536;
  hello.message_bytes_max = 1U << 30U;
  hello.run.fill(7);
  hello.stream.fill(8);
  hello.peer_run.fill(9);
  hello.epoch = 42;
  hello.nonce = 43;
  hello.window = 44;
  hello.can = ability::segments;
  hello.silence_ms = 45;
  hello.text = "a reason";
  return hello;
}

Hello offering_hello() {
  Hello hello = some_hello();
  hello.offers.place = {.network = 46, .user = 47};
  hello.offers.place.boot.fill(48);
  hello.offers.token.fill(49);
  while (hello.offers.count != WireOffers::most) {
    hello.offers.add({.wire = OfferedWire::verbs, .port = 50, .name = 51});
  }
  hello.token.fill(52);
  hello.asks = true;
  hello.release = "0.1.0";
  return hello;
}

TEST(Hello, comes_back_as_it_was) {
  const Hello hello = offering_hello();
  const Bytes bytes = encoded(hello);
  EXPECT_EQ(bytes.size() % wire_align, 0U);
  Hello back;
  const HelloResult result = parse(bytes, back);
  EXPECT_EQ(result.state, HelloParse::done);
  EXPECT_EQ(result.bytes, bytes.size());
  EXPECT_EQ(back, hello);
}

TEST(Hello, takes_no_more_than_its_own_bytes) {
  Bytes bytes = encoded(some_hello());
  const std::size_t hello_bytes = bytes.size();
  bytes.resize(bytes.size() + 100, std::byte{0xee});
  Hello back;
  EXPECT_EQ(parse(bytes, back).bytes, hello_bytes);
}

TEST(Hello, every_start_of_one_needs_more) {
  const Bytes bytes = encoded(some_hello());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes start(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    Hello hello;
    const HelloResult result = parse(start, hello);
    EXPECT_EQ(result.state, HelloParse::need_more) << size;
    EXPECT_EQ(result.bytes, size < 12 ? 0 : bytes.size()) << size;
  }
}

TEST(Hello, is_foreign_from_the_first_byte_of_the_magic_that_differs) {
  const Bytes bytes = encoded(some_hello());
  for (std::size_t at = 0; at < 8; ++at) {
    Bytes start(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at + 1));
    start[at] ^= std::byte{1};
    Hello hello;
    const HelloResult result = parse(start, hello);
    EXPECT_EQ(result.state, HelloParse::foreign) << at;
    EXPECT_FALSE(result.what.empty());
  }
}

TEST(Hello, no_damaged_byte_makes_it_need_more_than_it_can_have) {
  const Bytes bytes = encoded(offering_hello());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes damaged = bytes;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    Hello hello;
    const HelloResult result = parse(damaged, hello);
    EXPECT_LE(result.bytes, hello_bytes_max) << bit;
    if (result.state == HelloParse::need_more) {
      EXPECT_GT(result.bytes, damaged.size()) << bit;
    }
  }
}

TEST(Hello, nothing_is_written_where_it_does_not_fit) {
  Bytes room(encoded(some_hello()).size() - 1, std::byte{0x77});
  EXPECT_EQ(encode(some_hello(), room), 0U);
  EXPECT_EQ(room, Bytes(room.size(), std::byte{0x77}));
}

TEST(Hello, a_long_text_is_cut) {
  Hello hello = some_hello();
  hello.text = std::string(hello_text_bytes_max, 'x') + "and more";
  Hello back;
  EXPECT_EQ(parse(encoded(hello), back).state, HelloParse::done);
  EXPECT_EQ(back.text, std::string(hello_text_bytes_max, 'x'));
}

TEST(Hello, the_longest_one_fits_its_bound) {
  Hello hello = some_hello();
  hello.text.assign(100000, 'x');
  EXPECT_EQ(encoded(hello).size(), hello_fixed_bytes + 8 + hello_text_bytes_max);
}

TEST(Hello, with_everything_that_may_be_in_one_fits_its_bound) {
  Hello hello = offering_hello();
  hello.text.assign(100000, 'x');
  hello.name.assign(hello_name_bytes_max, 'n');
  hello.receives = 1;
  EXPECT_GT(encoded(hello).size(), std::size_t{0});
  Hello back;
  EXPECT_EQ(parse(encoded(hello), back).state, HelloParse::done);
  EXPECT_EQ(back.offers, hello.offers);
  EXPECT_EQ(back.token, hello.token);
}

TEST(Hello, names_come_back_and_what_is_no_name_is_defective) {
  Hello hello = some_hello();
  for (const std::string& name :
       {std::string("x"), std::string("read-out unit 7, crate 3"), std::string(63, '~')}) {
    EXPECT_TRUE(is_name(name));
    hello.name = name;
    Hello back;
    EXPECT_EQ(parse(encoded(hello), back).state, HelloParse::done) << name;
    EXPECT_EQ(back, hello);
  }
  for (const std::string& name :
       {std::string(64, 'x'), std::string(" x"), std::string("x "), std::string("a\tb"),
        std::string("\x7f"), std::string("gr\xc3\xbc\xc3\x9f"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(is_name(name));
    hello.name = name;
    Hello back;
    const HelloResult result = parse(encoded(hello), back);
    EXPECT_EQ(result.state, HelloParse::defective) << name;
    EXPECT_NE(result.what.find("name"), std::string::npos) << result.what;
  }
}

// Version 1 had 80 bytes; what it says is read no further than its versions.
TEST(Hello, of_another_version_is_read_as_far_as_every_version_has_it) {
  Bytes bytes(hello_bytes_min, std::byte{0xff});
  const Bytes ours = encoded(some_hello());
  std::memcpy(bytes.data(), ours.data(), 20);
  const std::uint32_t size = hello_bytes_min;
  std::memcpy(bytes.data() + 8, &size, sizeof size);
  for (const std::uint16_t version : std::initializer_list<std::uint16_t>{0, 1, 3, 0xffff}) {
    std::memcpy(bytes.data() + 12, &version, sizeof version);
    std::memcpy(bytes.data() + 14, &version, sizeof version);
    Hello back;
    EXPECT_EQ(parse(bytes, back).state, HelloParse::done) << version;
    EXPECT_EQ(back.version_min, version);
    EXPECT_EQ(back.version_max, version);
    EXPECT_EQ(back.pattern, WirePattern::pull);
    EXPECT_EQ(back.run, RunId{});
  }
  Hello back;
  std::memcpy(bytes.data() + 12, ours.data() + 12, 4);
  EXPECT_EQ(parse(bytes, back).state, HelloParse::defective) << "too short for version 2";
}

// The entry of the receives stands first, behind the fixed part: type, length, zero, count.
constexpr std::size_t receives_length_at = hello_fixed_bytes + 2;
constexpr std::size_t receives_entry_bytes = 16;

TEST(Hello, receives_come_back_with_and_without_a_text) {
  for (const std::uint32_t receives : {1U, 3U, 1024U, 1U << 31U, ~0U}) {
    Hello hello = some_hello();
    hello.receives = receives;
    Hello back;
    EXPECT_EQ(parse(encoded(hello), back).state, HelloParse::done);
    EXPECT_EQ(back, hello);
    hello.text.clear();
    const Bytes bytes = encoded(hello);
    EXPECT_EQ(bytes.size(), hello_fixed_bytes + receives_entry_bytes);
    EXPECT_EQ(parse(bytes, back).state, HelloParse::done);
    EXPECT_EQ(back, hello);
  }
}

TEST(Hello, without_receives_has_no_entry_for_them) {
  Hello hello = some_hello();
  hello.text.clear();
  EXPECT_EQ(encoded(hello).size(), hello_fixed_bytes);
}

TEST(Hello, receives_that_are_none_are_defective) {
  Hello hello = some_hello();
  hello.receives = 64;
  Bytes bytes = encoded(hello);
  std::memset(bytes.data() + receives_length_at + 6, 0, sizeof hello.receives);
  EXPECT_EQ(parse(bytes, hello).state, HelloParse::defective);
}

TEST(Hello, receives_of_a_wrong_length_are_defective) {
  Hello hello = some_hello();
  hello.receives = 64;
  for (const std::uint16_t length : std::initializer_list<std::uint16_t>{0, 1, 4, 7, 9}) {
    Bytes bytes = encoded(hello);
    std::memcpy(bytes.data() + receives_length_at, &length, sizeof length);
    Hello back;
    const HelloResult result = parse(bytes, back);
    EXPECT_EQ(result.state, HelloParse::defective) << length;
    EXPECT_FALSE(result.what.empty());
  }
}

TEST(Hello, receives_are_cut_short_at_no_byte) {
  Hello hello = some_hello();
  hello.receives = 64;
  const Bytes bytes = encoded(hello);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    Hello back;
    EXPECT_EQ(parse(std::span(bytes).first(length), back).state, HelloParse::need_more) << length;
  }
}

TEST(Hello, a_parse_forgets_what_was_in_the_result_before) {
  Hello hello = some_hello();
  EXPECT_EQ(parse({}, hello).state, HelloParse::need_more);
  EXPECT_EQ(hello, Hello());
}

TEST(Hello, patterns_have_names) {
  EXPECT_EQ(to_string(WirePattern::publish), "publish");
  EXPECT_EQ(to_string(WirePattern::member), "member");
  EXPECT_EQ(to_string(static_cast<WirePattern>(99)), "unknown");
}

}  // namespace
}  // namespace netio::detail

// What addresses are accepted, and what a user is told about the others.
#include "base/url.hpp"

#include <string>

#include <gtest/gtest.h>

#include <netio/status.hpp>

namespace netio::detail {
namespace {

// The whole text of the refusal, or "accepted".
std::string refusal(std::string_view text, UrlForm form = UrlForm::host_port) {
  try {
    static_cast<void>(parse_url(text, form));
  } catch (const Error& error) {
    EXPECT_FALSE(error.advice().empty()) << error.what();
    return error.what();
  }
  return "accepted";
}

#define EXPECT_REFUSED(text, words) \
  EXPECT_NE(refusal(text).find(words), std::string::npos) << refusal(text)

TEST(Url, has_scheme_host_and_port) {
  const Url url = parse_url("ofi+tcp://daq-07.example.org:65535");
  EXPECT_EQ(url.scheme, "ofi+tcp");
  EXPECT_EQ(url.host, "daq-07.example.org");
  EXPECT_EQ(url.port, 65535);
  EXPECT_TRUE(url.options.empty());
}

TEST(Url, keeps_ipv6_addresses_without_their_brackets) {
  EXPECT_EQ(parse_url("tcp://[::1]:5000").host, "::1");
  EXPECT_EQ(parse_url("tcp://[fe80::1%eth0]:5000").host, "fe80::1%eth0");
}

TEST(Url, may_bind_to_every_interface_and_any_port) {
  const Url url = parse_url("tcp://*:0");
  EXPECT_EQ(url.host, "*");
  EXPECT_EQ(url.port, 0);
}

TEST(Url, of_a_name_has_no_port) {
  EXPECT_EQ(parse_url("shm://readout", UrlForm::name).name, "readout");
  EXPECT_EQ(parse_url("shm:///run/daq:7.sock", UrlForm::name).name, "/run/daq:7.sock");
}

TEST(Url, keeps_options_in_order) {
  const Url url = parse_url("shm://x?slots=64&mode=&path=a=b", UrlForm::name);
  ASSERT_EQ(url.options.size(), 3U);
  EXPECT_EQ(url.options[0], std::pair(std::string("slots"), std::string("64")));
  EXPECT_EQ(url.options[1], std::pair(std::string("mode"), std::string()));
  EXPECT_EQ(url.options[2], std::pair(std::string("path"), std::string("a=b")));
}

TEST(Url, is_printed_as_it_is_parsed) {
  for (const char* text : {"tcp://host:1?a=b&c=d", "tcp://[::1]:5000", "tcp://*:0"}) {
    EXPECT_EQ(to_string(parse_url(text)), text);
  }
  EXPECT_EQ(to_string(parse_url("shm:///a.sock?b=c", UrlForm::name)), "shm:///a.sock?b=c");
}

TEST(Url, without_a_scheme_is_refused) {
  EXPECT_REFUSED("host:5000", "the scheme is missing");
  EXPECT_REFUSED("", "the scheme is missing");
  EXPECT_REFUSED("://host:5000", "the scheme is missing");
  EXPECT_REFUSED("TCP://host:5000", "\"TCP\" is not a scheme");
  EXPECT_REFUSED("TCP://host:5000", "write it in lower case");
}

TEST(Url, with_a_bad_port_is_refused) {
  EXPECT_REFUSED("tcp://host", "the port is missing");
  EXPECT_REFUSED("tcp://host?a=b", "the port is missing");
  EXPECT_REFUSED("tcp://host:", "the port is missing");
  EXPECT_REFUSED("tcp://[::1]", "the port is missing");
  EXPECT_REFUSED("tcp://host:http", "\"http\" is not a port");
  EXPECT_REFUSED("tcp://host:-1", "\"-1\" is not a port");
  EXPECT_REFUSED("tcp://host:65536", "65536 is out of range");
  EXPECT_REFUSED("tcp://host:99999999999999999999", "out of range");
  EXPECT_REFUSED("tcp://host:5000/path", "unexpected \"/path\" after the port");
}

TEST(Url, of_a_link_local_address_names_its_interface) {
  EXPECT_EQ(parse_url("tcp://[fe80::1%eth0]:5000").host, "fe80::1%eth0");
  EXPECT_EQ(parse_url("tcp://[fe8::1]:5000").host, "fe8::1");
  EXPECT_EQ(parse_url("tcp://[fec0::1]:5000").host, "fec0::1");
  for (const char* const alone : {"tcp://[fe80::1]:5000", "verbs://[FEBF:1::2]:0"}) {
    EXPECT_THROW((void)parse_url(alone), AddressError) << alone;
  }
}

TEST(Url, with_a_bad_host_is_refused) {
  EXPECT_REFUSED("tcp://", "the host is missing");
  EXPECT_REFUSED("tcp://:5000", "the host is missing");
  EXPECT_REFUSED("tcp://[::1:5000", "'[' without ']'");
  EXPECT_REFUSED("tcp://::1]:5000", "more than one ':'");
  EXPECT_REFUSED("tcp://::1:5000", "more than one ':'");
  EXPECT_REFUSED("tcp://a]:5000", "unexpected \"]\" in the host");
  EXPECT_REFUSED("tcp://[::1]5000", "unexpected \"5000\" after ']'");
  EXPECT_REFUSED("tcp://[]:5000", "the host is missing");
  EXPECT_REFUSED("tcp://[host]:5000", "is not an IPv6 address");
  EXPECT_REFUSED("tcp://1:2:3", "more than one ':'");
  EXPECT_REFUSED("tcp://user@host:5000", "unexpected \"@host\" in the host");
  EXPECT_REFUSED("tcp://host/path:5000", "unexpected \"/path\" in the host");
  EXPECT_REFUSED("tcp://my host:5000", "a space");
  EXPECT_REFUSED(std::string_view("tcp://a\0b:5000", 14), "cannot be printed");
}

// What the system's functions take for another number than the one that is written.
TEST(Url, with_a_number_that_can_be_read_in_two_ways_is_refused) {
  EXPECT_REFUSED("tcp://192.168.010.020:5000", "reads \"192.168.010.020\" as 192.168.8.16");
  EXPECT_REFUSED("tcp://192.168.010.020:5000", "in front: 192.168.10.20 or 192.168.8.16");
  EXPECT_REFUSED("tcp://127.0.0.010:5000", "127.0.0.10 or 127.0.0.8");
  EXPECT_REFUSED("tcp://127.0.0.01:5000", "in front: 127.0.0.1");
  EXPECT_REFUSED("tcp://0x7f.0.0.1:5000", "in front: 127.0.0.1");
  EXPECT_REFUSED("tcp://0X7F000001:5000", "in front: 127.0.0.1");
  EXPECT_REFUSED("tcp://127.1:5000", "in front: 127.0.0.1");
  EXPECT_REFUSED("tcp://2130706433:5000", "in front: 127.0.0.1");
  EXPECT_REFUSED("tcp://0:5000", "in front: 0.0.0.0");
  EXPECT_REFUSED("tcp://192.168.080.1:5000", "is not an IPv4 address");
  EXPECT_REFUSED("tcp://256.0.0.1:5000", "is not an IPv4 address");
  EXPECT_REFUSED("tcp://1.2.3.4.5:5000", "is not an IPv4 address");
  EXPECT_REFUSED("tcp://1.2.3.:5000", "is not an IPv4 address");
  EXPECT_REFUSED("tcp://[::ffff:127.0.0.010]:5000", "is not an IPv6 address");
  EXPECT_REFUSED("tcp://[1:2:3]:5000", "is not an IPv6 address");
  EXPECT_REFUSED("tcp://[::12345]:5000", "is not an IPv6 address");
  EXPECT_REFUSED("tcp://[fe80::1%]:5000", "names no interface");
  EXPECT_REFUSED("tcp://[fe80::1%02]:5000", "names no interface");
  EXPECT_REFUSED("tcp://[::1%lo]:5000", "only those have an interface");
  EXPECT_REFUSED("tcp://[2001:db8::1%2]:5000", "write it without %2");
  EXPECT_REFUSED("tcp://host:05000", "write 5000");
  EXPECT_REFUSED("tcp://host:00", "write 0");
  EXPECT_REFUSED("tcp://host:0x10", "after the port");
  EXPECT_REFUSED("tcp://host:+5000", "is not a port");
  for (const char* good : {"tcp://0.0.0.0:0", "tcp://192.168.10.20:5000", "tcp://255.255.255.255:1",
                           "tcp://[::ffff:10.0.0.1]:1", "tcp://[2001:0db8::0001]:1", "tcp://1a:1",
                           "tcp://0x7g.1:1", "tcp://10.example:1", "tcp://[fe80::1%2]:1"}) {
    EXPECT_EQ(refusal(good), "accepted") << good;
  }
}

TEST(Url, with_a_name_that_nobody_can_have_is_refused) {
  EXPECT_REFUSED("tcp://daq..example:5000", "has nothing before a '.'");
  EXPECT_REFUSED("tcp://.example:5000", "has nothing before a '.'");
  EXPECT_REFUSED("tcp://.:5000", "has nothing before a '.'");
  EXPECT_REFUSED("tcp://" + std::string(64, 'a') + ":5000", "the host name is too long");
  std::string parts = "a";
  while (parts.size() < 253) parts += ".a";
  EXPECT_EQ(refusal("tcp://" + parts + ".:5000"), "accepted");
  EXPECT_REFUSED("tcp://" + parts + "b:5000", "the host name is too long");
}

TEST(Url, with_bad_options_is_refused) {
  EXPECT_REFUSED("tcp://host:1?", "an option is missing");
  EXPECT_REFUSED("tcp://host:1?a=1&", "an option is missing");
  EXPECT_REFUSED("tcp://host:1?a=1&&b=2", "an option is missing");
  EXPECT_REFUSED("tcp://host:1?fast", "option \"fast\" is not name=value");
  EXPECT_REFUSED("tcp://host:1?=1", "is not name=value");
  EXPECT_REFUSED("tcp://host:1?a=1&a=2", "option \"a\" is given twice");
}

TEST(Url, means_the_same_place_whatever_its_options) {
  const Url url = parse_url("tcp://Daq-1.example:5000?a=1");
  EXPECT_TRUE(same_place(url, parse_url("tcp://daq-1.EXAMPLE:5000")));
  EXPECT_FALSE(same_place(url, parse_url("tcp://daq-1.example:5001")));
  EXPECT_FALSE(same_place(url, parse_url("tcp://daq-1.exampl:5000")));
  EXPECT_FALSE(same_place(url, parse_url("netio://daq-1.example:5000")));
  const Url name = parse_url("shm://One", UrlForm::name);
  EXPECT_TRUE(same_place(name, parse_url("shm://One?a=1", UrlForm::name)));
  EXPECT_FALSE(same_place(name, parse_url("shm://one", UrlForm::name)));
}

TEST(Url, without_a_name_is_refused) {
  EXPECT_NE(refusal("shm://", UrlForm::name).find("the name is missing"), std::string::npos);
  EXPECT_NE(refusal("shm://?a=b", UrlForm::name).find("the name is missing"), std::string::npos);
}

}  // namespace
}  // namespace netio::detail

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

TEST(Url, with_bad_options_is_refused) {
  EXPECT_REFUSED("tcp://host:1?", "an option is missing");
  EXPECT_REFUSED("tcp://host:1?a=1&", "an option is missing");
  EXPECT_REFUSED("tcp://host:1?a=1&&b=2", "an option is missing");
  EXPECT_REFUSED("tcp://host:1?fast", "option \"fast\" is not name=value");
  EXPECT_REFUSED("tcp://host:1?=1", "is not name=value");
  EXPECT_REFUSED("tcp://host:1?a=1&a=2", "option \"a\" is given twice");
}

TEST(Url, without_a_name_is_refused) {
  EXPECT_NE(refusal("shm://", UrlForm::name).find("the name is missing"), std::string::npos);
  EXPECT_NE(refusal("shm://?a=b", UrlForm::name).find("the name is missing"), std::string::npos);
}

}  // namespace
}  // namespace netio::detail

// The parser of addresses: one pass from left to right, one error for each way to go wrong.
#include "base/url.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <netinet/in.h>

#include <netio/status.hpp>

namespace netio::detail {
namespace {

constexpr std::string_view example = "write it like tcp://host:5000";

bool is_printable(char c) noexcept { return c > ' ' && c < '\x7f'; }

// Never prints what a terminal might obey.
[[noreturn]] void refuse(std::string_view text, std::string cause, std::string_view advice) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c != ' ' && !is_printable(c); }, '?');
  throw AddressError("address \"" + shown + '"', std::move(cause), std::string(advice));
}

std::string quoted(std::string_view part) { return '"' + std::string(part) + '"'; }

bool is_scheme_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

bool is_upper_case(char c) noexcept { return c >= 'A' && c <= 'Z'; }

bool is_host_character(char c) noexcept {
  return is_printable(c) && std::string_view("/@#[]:\\\"<>").find(c) == std::string_view::npos;
}

std::uint16_t parse_port(std::string_view text, std::string_view digits) {
  constexpr std::string_view advice = "a port is a number from 0 (any free one) to 65535";
  if (digits.empty()) refuse(text, "the port is missing after ':'", advice);
  unsigned value = 0;
  const char* end = digits.data() + digits.size();
  const auto [parsed_to, error] = std::from_chars(digits.data(), end, value);
  if (parsed_to == digits.data()) refuse(text, quoted(digits) + " is not a port", advice);
  if (error != std::errc{} || value > 65535) {
    refuse(text, "port " + std::string(digits) + " is out of range", advice);
  }
  if (parsed_to != end) {
    refuse(text, "unexpected " + quoted({parsed_to, end}) + " after the port",
           "nothing may follow it");
  }
  if (digits.size() > 1 && digits.front() == '0') {
    refuse(text, "port " + std::string(digits) + " has a zero in front",
           "write " + std::to_string(value) + ", which is decimal");
  }
  return static_cast<std::uint16_t>(value);
}

// fe80::/10: the same on each interface, so that alone it does not say which one is meant.
bool is_link_local(std::string_view host) noexcept {
  if (host.size() < 5 || host[4] != ':') return false;
  unsigned first = 0;
  const auto [end, error] = std::from_chars(host.data(), host.data() + 4, first, 16);
  return error == std::errc{} && end == host.data() + 4 && (first & 0xffc0U) == 0xfe80U;
}

// "192.168.10.20" of "192.168.010.020": what somebody means who fills up with zeros. Empty if it is
// not four decimal numbers.
std::string filled_up(std::string_view host) {
  std::string plain;
  for (;;) {
    const std::string_view part = host.substr(0, host.find('.'));
    if (part.empty()) return {};
    plain += part.substr(std::min(part.find_first_not_of('0'), part.size() - 1));
    if (part.size() == host.size()) break;
    plain += '.';
    host.remove_prefix(part.size() + 1);
  }
  in_addr number{};
  return inet_pton(AF_INET, plain.c_str(), &number) == 1 ? plain : std::string();
}

// The system takes 010 for 8, 0x10 for 16, and 10.1 for 10.0.0.1. Only what everybody reads alike
// is taken.
void check_number(std::string_view text, const std::string& host) {
  in_addr number{};
  if (inet_aton(host.c_str(), &number) == 0) {
    const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
    if (!is_number || host.find('.') == std::string::npos) return;
    refuse(text, quoted(host) + " is not an IPv4 address",
           "write four numbers from 0 to 255, without zeros in front, like 192.168.10.20");
  }
  std::array<char, INET_ADDRSTRLEN> read_as{};
  inet_ntop(AF_INET, &number, read_as.data(), read_as.size());
  if (host == read_as.data()) return;
  std::string form = filled_up(host);
  if (!form.empty() && form != read_as.data()) form += " or ";
  if (form != read_as.data()) form += read_as.data();
  refuse(text, "the system reads " + quoted(host) + " as " + read_as.data(),
         "write four decimal numbers without zeros in front: " + form);
}

// RFC 1035, 2.3.4. A name that breaks these rules is never found.
void check_name(std::string_view text, std::string_view host) {
  constexpr std::size_t part_max = 63;
  constexpr std::size_t name_max = 253;
  const std::string_view name = host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
  for (std::string_view left = name;;) {
    const std::string_view part = left.substr(0, left.find('.'));
    if (part.empty()) refuse(text, quoted(host) + " has nothing before a '.'", example);
    if (part.size() > part_max || name.size() > name_max) {
      refuse(text, "the host name is too long",
             "a name has up to 253 characters, and up to 63 between two dots");
    }
    if (part.size() == left.size()) return;
    left.remove_prefix(part.size() + 1);
  }
}

// What stands in brackets, with the interface behind a '%' if it is link-local.
void check_ipv6(std::string_view text, const std::string& host) {
  if (host.find(':') == std::string::npos) {
    refuse(text, quoted(host) + " is not an IPv6 address", "only those stand in brackets");
  }
  const std::size_t percent = std::min(host.find('%'), host.size());
  in6_addr number{};
  if (inet_pton(AF_INET6, host.substr(0, percent).c_str(), &number) == 0) {
    refuse(text, quoted(host) + " is not an IPv6 address",
           "write it like tcp://[2001:db8::1]:5000; an IPv4 address in it has no zeros in front");
  }
  const std::string_view interface = std::string_view(host).substr(percent);
  if (interface == "%" || interface.starts_with("%0")) {
    refuse(text, quoted(interface) + " names no interface",
           "write the interface of this host behind the '%', like fe80::1%eth0");
  }
  if (!is_link_local(host) && !interface.empty()) {
    refuse(text, quoted(host) + " is no link-local address, and only those have an interface",
           "write it without " + std::string(interface));
  }
  if (is_link_local(host) && interface.empty()) {
    refuse(text, "a link-local address needs its interface",
           "write it like tcp://[" + host + "%eth0]:5000, with the interface of this host");
  }
}

// "host:port", or "[v6]:port", whose brackets stay out of the host.
void parse_host_port(std::string_view text, std::string_view authority, Url& url) {
  const bool bracketed = authority.starts_with('[');
  const auto end = authority.find(bracketed ? ']' : ':');
  if (bracketed && end == std::string_view::npos) {
    refuse(text, "'[' without ']'", "write an IPv6 address like tcp://[::1]:5000");
  }
  if (!bracketed && std::count(authority.begin(), authority.end(), ':') > 1) {
    refuse(text, "more than one ':'", "put an IPv6 address in brackets, like tcp://[::1]:5000");
  }
  url.host = bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
  if (url.host.empty()) {
    refuse(text, "the host is missing", "write a name, an IP address, or * to bind to all");
  }
  const auto bad = std::find_if_not(url.host.begin(), url.host.end(), [bracketed](char c) {
    return is_host_character(c) || (bracketed && c == ':');
  });
  if (bad != url.host.end()) {
    refuse(text, "unexpected " + quoted({bad, url.host.end()}) + " in the host", example);
  }
  if (bracketed) {
    check_ipv6(text, url.host);
  } else if (url.host != "*") {
    check_name(text, url.host);
    check_number(text, url.host);
  }
  const auto rest = end == std::string_view::npos ? "" : authority.substr(end + bracketed);
  if (rest.empty()) refuse(text, "the port is missing", example);
  if (rest.front() != ':') {
    refuse(text, "unexpected " + quoted(rest) + " after ']'", "only :port may follow it");
  }
  url.port = parse_port(text, rest.substr(1));
}

void parse_options(std::string_view text, std::string_view rest, Url& url) {
  constexpr std::string_view advice = "remove the ? and what follows it";
  for (bool more = true; more;) {
    const auto separator = rest.find('&');
    const auto option = rest.substr(0, separator);
    more = separator != std::string_view::npos;
    if (more) rest.remove_prefix(separator + 1);
    if (option.empty()) refuse(text, "an option is missing after '?' or '&'", advice);
    const auto equals = option.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      refuse(text, "option " + quoted(option) + " is not name=value", advice);
    }
    const auto key = option.substr(0, equals);
    const auto same = [key](const auto& other) { return other.first == key; };
    if (std::any_of(url.options.begin(), url.options.end(), same)) {
      refuse(text, "option " + quoted(key) + " is given twice", "keep one of them");
    }
    url.options.emplace_back(key, option.substr(equals + 1));
  }
}

}  // namespace

std::string_view scheme_of(std::string_view text) {
  constexpr std::string_view advice = "begin with the transport, like tcp://host:5000";
  const auto end = text.find("://");
  if (end == std::string_view::npos || end == 0) refuse(text, "the scheme is missing", advice);
  const auto scheme = text.substr(0, end);
  if (!std::all_of(scheme.begin(), scheme.end(), is_scheme_character)) {
    const bool upper = std::any_of(scheme.begin(), scheme.end(), is_upper_case);
    refuse(text, quoted(scheme) + " is not a scheme",
           upper ? "write it in lower case, like tcp://host:5000" : advice);
  }
  return scheme;
}

Url parse_url(std::string_view text, UrlForm form) {
  Url url;
  url.scheme = scheme_of(text);
  const auto space = std::find_if_not(text.begin(), text.end(), is_printable);
  if (space != text.end()) {
    refuse(text, "a space or a character that cannot be printed", "remove it");
  }
  auto rest = text.substr(url.scheme.size() + 3);
  const auto question = rest.find('?');
  const auto authority = rest.substr(0, question);
  if (form == UrlForm::host_port) {
    parse_host_port(text, authority, url);
  } else {
    if (authority.empty()) {
      refuse(text, "the name is missing", "write it like " + url.scheme + "://name");
    }
    url.name = authority;
  }
  if (question != std::string_view::npos) parse_options(text, rest.substr(question + 1), url);
  return url;
}

// The case of a host name means nothing.
bool same_place(const Url& one, const Url& other) noexcept {
  const auto alike = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    return lower(a) == lower(b);
  };
  return one.scheme == other.scheme && one.port == other.port && one.name == other.name &&
         std::equal(one.host.begin(), one.host.end(), other.host.begin(), other.host.end(), alike);
}

std::string to_string(const Url& url) {
  std::string text = url.scheme + "://";
  if (!url.name.empty()) {
    text += url.name;
  } else {
    const bool is_v6 = url.host.find(':') != std::string::npos;
    text += is_v6 ? '[' + url.host + ']' : url.host;
    text += ':' + std::to_string(url.port);
  }
  char separator = '?';
  for (const auto& [key, value] : url.options) {
    text.append(1, separator).append(key).append(1, '=').append(value);
    separator = '&';
  }
  return text;
}

}  // namespace netio::detail

// Addresses as the user writes them: scheme://host:port?option=value, or scheme://name?...
// Any thread; set-up only. Knows the grammar and no scheme: what an address means is the
// transport's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace netio::detail {

// What stands between "://" and "?". The scheme decides: ask scheme_of() first.
enum class UrlForm : std::uint8_t {
  host_port,  // host:port, [v6]:port, *:port
  name,       // anything but '?': a name, or a path if it begins with '/'
};

struct Url {
  std::string scheme;
  std::string host;  // without the brackets of an IPv6 address; "*" binds to every interface
  std::uint16_t port = 0;
  std::string name;                                          // empty unless parsed as UrlForm::name
  std::vector<std::pair<std::string, std::string>> options;  // in the order written, keys unique
};

// The part before "://", a view into `text`. Throws netio::Error if there is none.
[[nodiscard]] std::string_view scheme_of(std::string_view text);

// Throws netio::Error, which quotes the address and says how to write it.
[[nodiscard]] Url parse_url(std::string_view text, UrlForm form = UrlForm::host_port);

// The same scheme, and the same host and port or name there. Options are not compared.
[[nodiscard]] bool same_place(const Url& one, const Url& other) noexcept;

// The address as parse_url() takes it.
[[nodiscard]] std::string to_string(const Url& url);

}  // namespace netio::detail

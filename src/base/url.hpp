// Addresses as the user writes them: scheme://host:port?option=value, or scheme://name?...
// Any thread; set-up only. Knows the grammar and no scheme: what an address means is the
// transport's business.
#pragma once

#include <cstdint>
#include <optional>
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

  // Removes an option and returns its value. What is left when the caller has taken all that
  // it knows is unknown: see refuse_left_options().
  [[nodiscard]] std::optional<std::string> take_option(std::string_view key);
};

// The part before "://", a view into `text`. Throws netio::Error if there is none.
[[nodiscard]] std::string_view scheme_of(std::string_view text);

// Throws netio::Error, which quotes the address and says how to write it.
[[nodiscard]] Url parse_url(std::string_view text, UrlForm form = UrlForm::host_port);

// Throws if options are left; `known` lists the ones there are, for the advice.
void refuse_left_options(const Url& url, std::string_view known);

// The address as parse_url() takes it.
[[nodiscard]] std::string to_string(const Url& url);

}  // namespace netio::detail

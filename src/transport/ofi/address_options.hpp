// What an address of a fabric says behind its ?.
#pragma once

#include <cstddef>

#include "base/url.hpp"
#include "transport/ofi/ring.hpp"

namespace netio::detail {

struct OfiAddressOptions {
  std::size_t window = 0;  // receives for a connection; 0: they grow by need
  RingOptions ring;
};

// Throws AddressError for what makes no sense; `verb` is what was to be done with the address.
[[nodiscard]] OfiAddressOptions address_options_of(const char* verb, const Url& url);

}  // namespace netio::detail

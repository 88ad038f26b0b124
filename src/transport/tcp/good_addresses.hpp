// Of hosts with several addresses, the one by which a link came up last: it is tried first. Owner
// thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/out_of_memory.hpp"
#include "transport/internet_address.hpp"

namespace netio::detail {

class GoodAddresses {
 public:
  static constexpr std::size_t hosts_max = 1024;

  // `host`: an address as the user has written it, with the port. Without memory nothing is noted.
  void note(const std::string& host, const InternetAddress& address) noexcept {
    guard_memory(
        [&] {
          if (addresses_.size() == hosts_max && !addresses_.contains(host)) addresses_.clear();
          addresses_[host] = address;
        },
        []() noexcept {});
  }
  void put_first(const std::string& host, std::vector<InternetAddress>& addresses) const {
    const auto good = addresses_.find(host);
    if (good == addresses_.end()) return;
    const auto at = std::ranges::find(addresses, good->second);
    if (at != addresses.end()) std::rotate(addresses.begin(), at, at + 1);
  }

 private:
  std::map<std::string, InternetAddress> addresses_;
};

}  // namespace netio::detail

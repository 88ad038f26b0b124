// Which networks this host is in, as its interfaces say. Set-up only; any thread.
#pragma once

#include <string>
#include <vector>

namespace netio::detail {

// Whether `host` lies in the network of an interface that has one of the addresses `own`. All are
// numbers. False for what is no number, or is not known here.
[[nodiscard]] bool in_network_of(const std::vector<std::string>& own, const std::string& host);

}  // namespace netio::detail

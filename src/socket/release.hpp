// Which netio this is: what `netio --version` prints.
#pragma once

#include <string_view>

namespace netio::detail {

[[nodiscard]] std::string_view release() noexcept;

}  // namespace netio::detail

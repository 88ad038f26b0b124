// Why a protocol of event building refuses a newcomer.
#pragma once

#include <string>

namespace netio::detail {

struct Objection {
  std::string why;            // empty: there is none
  bool number_taken = false;  // another process has the newcomer's number

  [[nodiscard]] explicit operator bool() const noexcept { return !why.empty(); }
};

}  // namespace netio::detail

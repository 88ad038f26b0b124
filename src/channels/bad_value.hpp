// What is wrong with the value of a key, and what may be written instead. Thrown inside
// src/channels, where the place of the value is not known; becomes an Error at the place.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace netio::detail {

class BadValue : public std::exception {
 public:
  explicit BadValue(std::string cause, std::string advice = {})
      : cause_(std::move(cause)), advice_(std::move(advice)) {}

  [[nodiscard]] const char* what() const noexcept override { return cause_.c_str(); }
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }
  [[nodiscard]] const std::string& advice() const noexcept { return advice_; }

 private:
  std::string cause_;
  std::string advice_;
};

}  // namespace netio::detail

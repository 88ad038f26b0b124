// What libfabric's codes mean to a person, and the exception that set-up throws. Any thread.
#pragma once

#include <string>

#include <rdma/fi_errno.h>

#include <netio/status.hpp>

namespace netio::detail {

// Errors have errno's numbers, but for those that errno has not: a message larger than its receive.
inline constexpr int error_truncated = FI_ETRUNC;

// A positive error number of libfabric or errno, in words.
std::string fabric_text(int error);
// What to do about it; empty when there is nothing to say.
std::string fabric_advice(int error);

class FabricError : public Error {
 public:
  // `error` is positive.
  FabricError(const std::string& operation, int error)
      : Error(operation, fabric_text(error), fabric_advice(error)), code_(error) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// libfabric answers 0 or a negative error.
inline void check_fabric(long answer, const char* operation) {
  if (answer < 0) throw FabricError(operation, static_cast<int>(-answer));
}

}  // namespace netio::detail

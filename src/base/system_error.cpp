// The text of system errors, and the advice that fits all callers.
#include "base/system_error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace netio::detail {
namespace {

const char* common_advice(int error) noexcept {
  if (error == EMFILE) return "raise this process's limit of open files (ulimit -n)";
  if (error == ENFILE) return "raise the machine's limit of open files (sysctl fs.file-max)";
  if (error == ENOMEM || error == ENOBUFS) return "the kernel has no memory for this: free some";
  return "";
}

}  // namespace

std::string errno_text(int error) { return std::generic_category().message(error); }

Error system_error(std::string operation, int error, std::string advice) {
  if (advice.empty()) advice = common_advice(error);
  return {std::move(operation), errno_text(error), std::move(advice)};
}

int checked(int result, const char* operation) {
  if (result < 0) throw system_error(operation, errno);
  return result;
}

}  // namespace netio::detail

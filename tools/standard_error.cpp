#include "standard_error.hpp"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace netio::cli {

void say_text(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

void say_error(std::string_view who, std::string_view cause, std::string_view advice) noexcept {
  say("{}: error: {}\n", who, cause);
  if (!advice.empty()) say("  {}\n", advice);
}

// Opened the wrong way round: reading and writing fail as they would with a closed descriptor.
void occupy_standard_descriptors() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free
  }
}

}  // namespace netio::cli

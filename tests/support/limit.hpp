// A lower limit of this process, as long as the object lives.
#pragma once

#include <cstddef>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"

namespace netio::test {

class Limit {
 public:
  Limit(__rlimit_resource resource, std::size_t value) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &before_), 0);
    rlimit less = before_;
    less.rlim_cur = value;
    EXPECT_EQ(::setrlimit(resource_, &less), 0);
  }
  ~Limit() { EXPECT_EQ(::setrlimit(resource_, &before_), 0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

// The number that the next descriptor of this process gets. With RLIMIT_NOFILE set to it, there is
// none.
inline std::size_t next_descriptor() {
  return static_cast<std::size_t>(detail::FileDescriptor(::dup(STDIN_FILENO)).get());
}

}  // namespace netio::test

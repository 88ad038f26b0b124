// Who closes a descriptor, and when.
#include "base/file_descriptor.hpp"

#include <fcntl.h>
#include <utility>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(FileDescriptor, closes_what_it_owns) {
  const int fd = open_null();
  { const FileDescriptor owner(fd); }
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, moves_and_leaves_nothing_behind) {
  const int fd = open_null();
  FileDescriptor first(fd);
  FileDescriptor second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT: what is left behind is the point
  EXPECT_EQ(second.get(), fd);
  first = std::move(second);
  EXPECT_TRUE(is_open(fd));
  first.reset();
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, released_is_left_open) {
  FileDescriptor owner(open_null());
  const int fd = owner.release();
  owner.reset();
  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

}  // namespace
}  // namespace netio::detail

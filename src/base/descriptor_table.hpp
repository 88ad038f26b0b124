// The descriptors that belong to netio, in one table for the process. A child of fork() has copies
// of them, and would keep connections, ports and lifelines open for as long as it lives. So each
// copy is replaced in the child. Any thread.
#pragma once

namespace netio::detail {

// While one lives, no other thread forks: the descriptor that is opened meanwhile is noted before a
// child can have a copy of it. For a few system calls, within which FileDescriptor closes nothing.
class DescriptorChange {
 public:
  DescriptorChange() noexcept;
  ~DescriptorChange();
  DescriptorChange(const DescriptorChange&) = delete;
  DescriptorChange& operator=(const DescriptorChange&) = delete;
};

// It belongs to netio until close_descriptor().
void note_descriptor(int fd) noexcept;
void close_descriptor(int fd) noexcept;

// What ForkHandlers does around fork(). No memory is taken.
struct DescriptorTable {
  static void hold() noexcept;  // until go_on(): no descriptor is opened or closed
  // In the parent. The child has let go then, so that an address can be bound again at once.
  static void go_on() noexcept;
  // In the child. Each descriptor becomes one that is never readable and that nobody else has, so
  // that its number stays taken until the copy of its owner closes it.
  static void let_go() noexcept;
};

}  // namespace netio::detail

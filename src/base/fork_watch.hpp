// Notices fork(). What a child has of its parent's loops, links and fabrics are copies that share
// the parent's descriptors and memory, and must not touch them.
#pragma once

#include <functional>
#include <utility>

namespace netio::detail {

// How many calls of fork() lie between the program's first process and this one. What was made at
// another depth is a copy.
extern unsigned forks_before;  // written in the child of each fork() only
[[nodiscard]] inline unsigned fork_depth() noexcept { return forks_before; }

// While it lives, `in_child` is called in each child of fork(), on its only thread, before fork()
// returns there. The forking thread may be any: what belongs to another one may have been left in
// the middle of anything.
class ForkWatch {
 public:
  explicit ForkWatch(std::function<void()> in_child);
  ~ForkWatch();
  ForkWatch(const ForkWatch&) = delete;
  ForkWatch& operator=(const ForkWatch&) = delete;

 private:
  friend struct ForkHandlers;
  std::function<void()> in_child_;
  ForkWatch* next_;
  ForkWatch* prev_;
};

}  // namespace netio::detail

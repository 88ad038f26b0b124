// Owns one libfabric object (fid_ep, fid_cq, ...): closes it when destroyed. What it was made from
// must outlive it.
#pragma once

#include <memory>

#include <rdma/fabric.h>

#include "base/fork_watch.hpp"

namespace netio::detail {

// In a child of fork() the object is a copy, and what is behind it the parent's: it is left alone.
struct CloseFid {
  unsigned made_at = fork_depth();
  [[nodiscard]] bool copied_by_fork() const noexcept { return made_at != fork_depth(); }
  template <typename Fid>
  void operator()(Fid* object) const noexcept {
    if (!copied_by_fork()) (void)fi_close(&object->fid);
  }
};

template <typename Fid>
using FabricHandle = std::unique_ptr<Fid, CloseFid>;

}  // namespace netio::detail

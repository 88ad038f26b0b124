// Owns one libfabric object (fid_ep, fid_cq, ...): closes it when destroyed. What it was made from
// must outlive it.
#pragma once

#include <memory>

#include <rdma/fabric.h>

namespace netio::detail {

struct CloseFid {
  template <typename Fid>
  void operator()(Fid* object) const noexcept {
    (void)fi_close(&object->fid);
  }
};

template <typename Fid>
using FabricHandle = std::unique_ptr<Fid, CloseFid>;

}  // namespace netio::detail

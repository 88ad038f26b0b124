// libfabric itself, loaded when a fabric is first asked for: a program that uses none needs none,
// and does not wait for it (the libraries that come with Debian's measure the processor's clock for
// 0.2 s as they load). All else of libfabric's interface is inline.
#pragma once

#include <rdma/fabric.h>

namespace netio::detail {

struct FabricLibrary {
  decltype(&fi_getinfo) getinfo;
  decltype(&fi_dupinfo) dupinfo;  // of nothing: a new one, as fi_allocinfo makes
  decltype(&fi_freeinfo) freeinfo;
  decltype(&fi_fabric) fabric;
  decltype(&fi_strerror) strerror;
};

// Any thread; the first call blocks while it loads. Never unloaded. Throws Error: there is none, or
// it is older than the one that netio was built with.
const FabricLibrary& fabric_library();

}  // namespace netio::detail

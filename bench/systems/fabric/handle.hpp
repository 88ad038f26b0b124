// Objects of libfabric that close themselves, and its answers as exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <rdma/fabric.h>

namespace netio::bench::fabric {

struct Close {
  template <typename Object>
  void operator()(Object* object) const noexcept {
    (void)fi_close(&object->fid);
  }
};
template <typename Object>
using Handle = std::unique_ptr<Object, Close>;

struct FreeInfo {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

[[noreturn]] inline void fail(const std::string& what, std::int64_t error) {
  throw std::runtime_error(what + ": " + fi_strerror(static_cast<int>(error)));
}
inline void check(std::int64_t answer, const char* what) {
  if (answer < 0) fail(what, -answer);
}

}  // namespace netio::bench::fabric

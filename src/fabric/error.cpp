// Texts of libfabric, and advice where there is some.
#include "fabric/error.hpp"

#include <sys/resource.h>

#include <rdma/fi_errno.h>

#include "fabric/library.hpp"

namespace netio::detail {

std::string fabric_text(int error) { return fabric_library().strerror(error); }

std::string fabric_advice(int error) {
  switch (error) {
    case FI_ENOMEM: {
      rlimit limit{};
      if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
      return "this process may lock " + std::to_string(limit.rlim_cur >> 10U) +
             " KiB of memory, and a fabric's buffers are locked: raise the limit (ulimit -l "
             "unlimited, or memlock in /etc/security/limits.conf)";
    }
    case FI_ENODATA:
      return "netio info shows what this machine has";
    case FI_EMFILE:
      return "raise the limit of open files (ulimit -n)";
    case FI_EADDRINUSE:
      return "another program listens there (ss -ltnp shows which), or an outgoing connection has "
             "the port (ss -tanp shows it); bind port 0 for any free one";
    default:
      return {};
  }
}

}  // namespace netio::detail

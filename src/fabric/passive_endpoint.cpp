// fi_passive_ep, fi_listen.
#include "fabric/passive_endpoint.hpp"

#include "base/helper_thread.hpp"
#include "fabric/error.hpp"

namespace netio::detail {

PassiveEndpoint::PassiveEndpoint(const Fabric& fabric, const Info& info, EventQueue& events,
                                 ConnectionOwner& owner)
    : events_(events) {
  const HelpersStart helpers;
  fid_pep* opened = nullptr;
  check_fabric(fi_passive_ep(fabric.get(), info.get(), &opened, &owner), "open a passive endpoint");
  endpoint_.reset(opened);
  check_fabric(fi_pep_bind(opened, &events.get()->fid, 0), "bind the passive endpoint");
  check_fabric(fi_listen(opened), "listen");
  events_.add(&opened->fid);
}

PassiveEndpoint::~PassiveEndpoint() { events_.forget(&endpoint_->fid); }

bool PassiveEndpoint::address(sockaddr_storage& to, std::size_t& bytes) const noexcept {
  bytes = sizeof to;
  return fi_getname(&endpoint_->fid, &to, &bytes) == 0;
}

void PassiveEndpoint::reject(fid_t handle) noexcept {
  if (endpoint_.get_deleter().copied_by_fork()) return;
  (void)fi_reject(endpoint_.get(), handle, nullptr, 0);
}

}  // namespace netio::detail

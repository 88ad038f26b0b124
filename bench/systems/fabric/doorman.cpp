#include "systems/fabric/doorman.hpp"

#include <netinet/in.h>

#include <rdma/fi_cm.h>

namespace netio::bench::fabric {

Doorman::Doorman(Device& device, std::uint32_t connections_wanted, std::size_t posted)
    : device_(device), posted_(posted), wanted_(connections_wanted) {
  fid_pep* listener = nullptr;
  check(fi_passive_ep(device.fabric.get(), device.info.get(), &listener, nullptr), "bind");
  listener_.reset(listener);
  check(fi_pep_bind(listener, &device.events.get().fid, 0), "fi_pep_bind");
  check(fi_listen(listener), "listen");
}

std::uint16_t Doorman::port() const {
  sockaddr_storage address{};
  std::size_t bytes = sizeof address;
  check(fi_getname(&listener_->fid, &address, &bytes), "fi_getname");
  // At the same place in both families.
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

void Doorman::take_events() {
  while (const auto event = device_.events.read()) {
    if (event->kind == FI_CONNREQ) {
      connections_.push_back(std::make_unique<Connection>(device_, *event->info, posted_));
      connections_.back()->accept(event->ring);
    } else if (event->kind == FI_CONNECTED) {
      ++up_;
    } else if (event->kind == FI_SHUTDOWN) {
      for (const auto& connection : connections_) {
        if (connection->id() == event->of) connection->end();
      }
    }
  }
}

}  // namespace netio::bench::fabric

#include "systems/fabric/device.hpp"

#include <netinet/in.h>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

namespace netio::bench::fabric {

namespace {

// The other end may say that a send came before its completion is read.
constexpr std::size_t sends_lagging = 16;

bool binds(const Options& options) noexcept {
  return options.role == Role::receive || options.role == Role::reply;
}

std::string provider_of(const Options& options) {
  return options.provider.empty() ? "tcp" : options.provider;
}

Info find(const Options& options, const Shape& shape) {
  const Info hints(fi_allocinfo());
  hints->caps = FI_MSG;
  hints->mode = 0;
  if (shape.ring) {
    hints->caps |= FI_RMA;
    hints->mode = FI_RX_CQ_DATA;  // a device may take a receive for each write
  }
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->tx_attr->size = shape.sends + sends_lagging;
  hints->rx_attr->size = shape.receives;
  const std::string provider = provider_of(options);
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  const std::string port = std::to_string(options.port);
  fi_info* found = nullptr;
  const int answer =
      fi_getinfo(FI_VERSION(1, 17), options.host.c_str(), port.c_str(),
                 FI_NUMERICHOST | (binds(options) ? FI_SOURCE : 0), hints.get(), &found);
  if (answer != 0) {
    fail("no endpoint of " + provider + " for messages at " + options.host, -answer);
  }
  return Info(found);
}

Handle<fid_fabric> open_fabric(const fi_info& info) {
  fid_fabric* fabric = nullptr;
  check(fi_fabric(info.fabric_attr, &fabric, nullptr), "fi_fabric");
  return Handle<fid_fabric>(fabric);
}

Handle<fid_domain> open_domain(fid_fabric& fabric, fi_info& info) {
  fid_domain* domain = nullptr;
  check(fi_domain(&fabric, &info, &domain, nullptr), "fi_domain");
  return Handle<fid_domain>(domain);
}

Shape with_ring(const Options& options, Shape shape) {
  shape.ring = options.has_ring();
  if (shape.ring && options.connections != 1) {
    throw std::invalid_argument("a ring is measured with one connection");
  }
  if (options.slot_bytes != 0 && options.message_bytes > options.slot_bytes) {
    throw std::invalid_argument("a message is larger than a slot of the ring");
  }
  return shape;
}

std::size_t entries(const Options& options, const Shape& shape) noexcept {
  return options.connections * (shape.receives + shape.sends + sends_lagging);
}

}  // namespace

Device::Device(const Options& options, const Shape& wanted)
    : shape(with_ring(options, wanted)),
      info(find(options, shape)),
      fabric(open_fabric(*info)),
      domain(open_domain(*fabric, *info)),
      completions(*domain, entries(options, wanted), options.idle || options.wait != Wait::spin),
      events(*fabric) {}

}  // namespace netio::bench::fabric

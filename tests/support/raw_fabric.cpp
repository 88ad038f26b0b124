#ifdef NETIO_WITH_FABRIC

#include "support/raw_fabric.hpp"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "fabric/error.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {

using detail::check_fabric;
using detail::Info;

namespace {

constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;
constexpr std::size_t queue_size = 16384;

detail::FabricHandle<fid_eq> open_events(const detail::Fabric& fabric) {
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;  // without one the provider makes no progress for the queue
  fid_eq* opened = nullptr;
  check_fabric(fi_eq_open(fabric.get(), &attributes, &opened, nullptr), "open an event queue");
  return detail::FabricHandle<fid_eq>(opened);
}

// The event's code, or 0; minus an error. `request` is what came with it, if anything.
int next_event(fid_eq* queue, fi_info*& request) {
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> buffer;
  std::uint32_t code = 0;
  const ssize_t got = fi_eq_read(queue, &code, buffer.data(), buffer.size(), 0);
  if (got == -FI_EAVAIL) {
    fi_eq_err_entry error{};
    (void)fi_eq_readerr(queue, &error, 0);
    return -(error.err != 0 ? error.err : FI_EOTHER);
  }
  if (got < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return 0;
  request = reinterpret_cast<const fi_eq_cm_entry*>(buffer.data())->info;
  return static_cast<int>(code);
}

}  // namespace

RawFabric::RawFabric(std::string_view address) {
  const sockaddr_in to = endpoint_of(address);
  const Info info = Info::to_connect("tcp", ::inet_ntoa(to.sin_addr), ntohs(to.sin_port));
  fabric_ = &own_fabric_.emplace(info);
  open(info);
  check_fabric(fi_connect(endpoint_.get(), info->dest_addr, nullptr, 0), "connect");
}

RawFabric::RawFabric(const detail::Fabric& fabric, const Info& request) : fabric_(&fabric) {
  open(request);
  check_fabric(fi_accept(endpoint_.get(), nullptr, 0), "accept");
}

RawFabric::~RawFabric() { endpoint_.reset(); }

void RawFabric::open(const Info& info) {
  domain_.emplace(*fabric_, info);
  events_ = open_events(*fabric_);
  fi_cq_attr attributes{};
  attributes.size = queue_size;
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  check_fabric(fi_cq_open(domain_->get(), &attributes, &queue, nullptr), "open a queue");
  completions_.reset(queue);
  fid_ep* opened = nullptr;
  check_fabric(fi_endpoint(domain_->get(), info.get(), &opened, nullptr), "open an endpoint");
  endpoint_.reset(opened);
  check_fabric(fi_ep_bind(opened, &events_->fid, 0), "bind");
  check_fabric(fi_ep_bind(opened, &queue->fid, FI_RECV | FI_TRANSMIT), "bind");
  check_fabric(fi_enable(opened), "enable");
  buffers_.resize(receives);
  for (Bytes& buffer : buffers_) {
    buffer.resize(buffer_bytes);
    check_fabric(fi_recv(opened, buffer.data(), buffer.size(), nullptr, 0, &buffer), "receive");
  }
}

void RawFabric::read_events() {
  fi_info* nothing = nullptr;
  while (const int code = next_event(events_.get(), nothing)) {
    if (code == FI_CONNECTED) connected_ = true;
    if (code == FI_SHUTDOWN || code < 0) ended_ = true;
  }
}

void RawFabric::turn() {
  read_events();
  for (;;) {
    fi_cq_data_entry entry{};
    const ssize_t got = fi_cq_read(completions_.get(), &entry, 1);
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      (void)fi_cq_readerr(completions_.get(), &error, 0);
      ended_ = true;
      continue;
    }
    if (got <= 0) break;
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
      words_.push_back(static_cast<std::uint32_t>(entry.data));
    }
    if ((entry.flags & FI_RECV) == 0) continue;
    Bytes& buffer = *static_cast<Bytes*>(entry.op_context);
    received_.emplace_back(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(entry.len));
    (void)fi_recv(endpoint_.get(), buffer.data(), buffer.size(), nullptr, 0, &buffer);
  }
  read_events();
}

bool RawFabric::connected() {
  turn();
  return connected_;
}

bool RawFabric::ended() {
  turn();
  return ended_;
}

bool RawFabric::send(std::span<const std::byte> bytes) {
  const Bytes& kept = sent_.emplace_back(bytes.begin(), bytes.end());
  for (;;) {
    const ssize_t answer = fi_send(endpoint_.get(), kept.data(), kept.size(), nullptr, 0, nullptr);
    if (answer != -FI_EAGAIN) return answer == 0;
    turn();
    if (ended_) return false;
  }
}

const std::deque<Bytes>& RawFabric::received() {
  turn();
  return received_;
}

RawFabric::Place RawFabric::lend(std::span<const std::byte> bytes) {
  const detail::MemoryRegion& region =
      lent_.emplace_back(*domain_, bytes, detail::MemoryRegion::Use::lent);
  return {region.remote_address(bytes.data()), region.key()};
}

RawFabric::Place RawFabric::open_to_writes(std::span<std::byte> bytes) {
  const detail::MemoryRegion& region =
      lent_.emplace_back(*domain_, bytes, detail::MemoryRegion::Use::ring);
  return {region.remote_address(bytes.data()), region.key()};
}

bool RawFabric::write(Place to, std::span<const std::byte> bytes, std::uint32_t word) {
  const Bytes& kept = sent_.emplace_back(bytes.begin(), bytes.end());
  for (;;) {
    const ssize_t answer = fi_writedata(endpoint_.get(), kept.data(), kept.size(), nullptr, word, 0,
                                        to.address, to.key, nullptr);
    if (answer != -FI_EAGAIN) return answer == 0;
    turn();
    if (ended_) return false;
  }
}

const std::deque<std::uint32_t>& RawFabric::words() {
  turn();
  return words_;
}

RawFabricListener::RawFabricListener() {
  const Info info = Info::to_listen("tcp", "127.0.0.1", 0);
  fabric_.emplace(info);
  events_ = open_events(*fabric_);
  fid_pep* opened = nullptr;
  check_fabric(fi_passive_ep(fabric_->get(), info.get(), &opened, nullptr), "open to listen");
  endpoint_.reset(opened);
  check_fabric(fi_pep_bind(opened, &events_->fid, 0), "bind");
  check_fabric(fi_listen(opened), "listen");
}

RawFabricListener::~RawFabricListener() { endpoint_.reset(); }

std::string RawFabricListener::address() const {
  sockaddr_in bound{};
  std::size_t bytes = sizeof bound;
  check_fabric(fi_getname(&endpoint_->fid, &bound, &bytes), "ask for the address");
  return "ofi+tcp://127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
}

std::unique_ptr<RawFabric> RawFabricListener::accept() {
  fi_info* request = nullptr;
  if (next_event(events_.get(), request) != FI_CONNREQ) return nullptr;
  return std::make_unique<RawFabric>(*fabric_, Info(request));
}

}  // namespace netio::test

#endif

#include "systems/fabric/connection.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

namespace netio::bench::fabric {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t line_bytes = 64;
constexpr auto connect_within = std::chrono::seconds(10);

std::size_t rounded_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

}  // namespace

void Connection::FreeBytes::operator()(std::byte* bytes) const noexcept { std::free(bytes); }

Connection::Connection(Device& device, fi_info& info, std::size_t posted) : device_(device) {
  take_memory();
  open_endpoint(info);
  if (device.shape.ring) {
    device.completions.own_writes(*this);
    receives_lacking_ = posted;
  }
  for (std::size_t i = 0; i < posted; ++i) post_receive(receives_[i]);
}

void Connection::take_memory() {
  const Shape& shape = device_.shape;
  const std::size_t stride = rounded_up(shape.receive_bytes, line_bytes);
  send_stride_ = rounded_up(shape.send_bytes, line_bytes);
  const std::size_t bytes =
      rounded_up(shape.receives * stride + shape.sends * send_stride_, page_bytes);
  region_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes)));
  if (!region_) throw std::bad_alloc();
  std::memset(region_.get(), 0, bytes);
  for (std::size_t i = 0; i < shape.receives; ++i) {
    receives_.push_back({this, region_.get() + i * stride});
  }
  sends_ = region_.get() + shape.receives * stride;
  sending_.connection = this;
  if (!device_.registers()) return;
  fid_mr* registered = nullptr;
  const std::uint64_t access =
      FI_SEND | FI_RECV | (shape.ring ? FI_WRITE | FI_REMOTE_WRITE : std::uint64_t{0});
  const int answer =
      fi_mr_reg(device_.domain.get(), region_.get(), bytes, access, 0, 0, 0, &registered, nullptr);
  if (answer != 0) {
    fail("fi_mr_reg of " + std::to_string(bytes) + " bytes (see `ulimit -l`)", -answer);
  }
  registered_.reset(registered);
  descriptor_ = fi_mr_desc(registered);
}

void Connection::open_endpoint(fi_info& info) {
  fid_ep* endpoint = nullptr;
  check(fi_endpoint(device_.domain.get(), &info, &endpoint, nullptr), "fi_endpoint");
  endpoint_.reset(endpoint);
  check(fi_ep_bind(endpoint, &device_.events.get().fid, 0), "fi_ep_bind");
  check(fi_ep_bind(endpoint, &device_.completions.get().fid, FI_RECV), "fi_ep_bind");
  check(fi_ep_bind(endpoint, &device_.completions.get().fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
        "fi_ep_bind");
  check(fi_enable(endpoint), "fi_enable");
  inject_bytes_max_ = info.tx_attr->inject_size;
}

Offer Connection::offer() const noexcept {
  const Shape& shape = device_.shape;
  if (!shape.ring) return {};
  const bool virtual_addresses = (device_.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  return {virtual_addresses ? reinterpret_cast<std::uint64_t>(region_.get()) : 0,
          fi_mr_key(registered_.get()), static_cast<std::uint32_t>(shape.receives),
          static_cast<std::uint32_t>(rounded_up(shape.receive_bytes, line_bytes))};
}

void Connection::connect() {
  const Offer ours = offer();
  check(fi_connect(endpoint_.get(), device_.info->dest_addr, &ours, sizeof ours), "fi_connect");
  const auto event = device_.events.await(connect_within);
  if (!event) throw std::runtime_error("connect: nobody answered");
  if (event->kind != FI_CONNECTED) throw std::runtime_error("connect: it was refused");
  theirs_ = event->ring;
  if (device_.shape.ring && theirs_.slots == 0)
    throw std::runtime_error("the other end has no ring");
}

void Connection::accept(const Offer& theirs) {
  theirs_ = theirs;
  const Offer ours = offer();
  check(fi_accept(endpoint_.get(), &ours, sizeof ours), "fi_accept");
}

Completion Connection::written(std::uint64_t slot, bool took_receive) {
  if (took_receive) ++receives_lacking_;
  return {&receives_.at(slot), device_.shape.receive_bytes};
}

void Connection::post_receive(Slot& slot) {
  if (device_.shape.ring && receives_lacking_ == 0) return;
  while (!ended_) {
    const ssize_t answer = fi_recv(endpoint_.get(), slot.bytes, device_.shape.receive_bytes,
                                   descriptor_, FI_ADDR_UNSPEC, &slot);
    if (answer == 0) {
      if (device_.shape.ring) --receives_lacking_;
      return;
    }
    if (answer != -FI_EAGAIN) check(answer, "fi_recv");
    device_.completions.gather();
  }
}

ssize_t Connection::write(const std::byte* bytes, std::size_t size) noexcept {
  const std::uint64_t to = theirs_.address + std::uint64_t{next_theirs_} * theirs_.stride;
  const ssize_t answer = size <= inject_bytes_max_
                             ? fi_inject_writedata(endpoint_.get(), bytes, size, next_theirs_,
                                                   FI_ADDR_UNSPEC, to, theirs_.key)
                             : fi_writedata(endpoint_.get(), bytes, size, descriptor_, next_theirs_,
                                            FI_ADDR_UNSPEC, to, theirs_.key, &sending_);
  if (answer == 0 && ++next_theirs_ == theirs_.slots) next_theirs_ = 0;
  return answer;
}

bool Connection::try_send(const std::byte* bytes, std::size_t size) {
  const ssize_t answer =
      device_.shape.ring ? write(bytes, size)
      : size <= inject_bytes_max_
          ? fi_inject(endpoint_.get(), bytes, size, FI_ADDR_UNSPEC)
          : fi_send(endpoint_.get(), bytes, size, descriptor_, FI_ADDR_UNSPEC, &sending_);
  if (answer == 0) return true;
  if (answer != -FI_EAGAIN) check(answer, "fi_send");
  return false;
}

void Connection::send(const std::byte* bytes, std::size_t size) {
  while (!ended_ && !try_send(bytes, size)) device_.completions.gather();
}

}  // namespace netio::bench::fabric

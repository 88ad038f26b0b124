#include "systems/fabric/shm/endpoint.hpp"

#include <cstring>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "worker/descriptors.hpp"
#include "worker/unix_name.hpp"

namespace netio::bench::fabric::shm {

namespace {

constexpr std::size_t address_bytes_max = 256;

Info find() {
  const Info hints(fi_allocinfo());
  hints->caps = FI_MSG;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = ::strdup("shm");
  fi_info* found = nullptr;
  const int answer = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
  if (answer != 0) fail("libfabric has no provider for shared memory", -answer);
  return Info(found);
}

// What `open`, one of libfabric's calls, puts where it is told to.
template <typename Object, typename Open>
Handle<Object> made(const char* what, Open&& open) {
  Object* object = nullptr;
  check(open(&object), what);
  return Handle<Object>(object);
}

std::string name_of(const Options& options) { return "netio-bench-fabric/" + options.name; }

}  // namespace

Endpoint::Endpoint()
    : info_(find()),
      fabric_(made<fid_fabric>(
          "fi_fabric", [&](auto** to) { return fi_fabric(info_->fabric_attr, to, nullptr); })),
      domain_(made<fid_domain>("fi_domain", [&](auto** to) {
        return fi_domain(fabric_.get(), info_.get(), to, nullptr);
      })) {
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  addresses_ = made<fid_av>(
      "fi_av_open", [&](auto** to) { return fi_av_open(domain_.get(), &table, to, nullptr); });
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.size = info_->rx_attr->size + info_->tx_attr->size;
  queue.wait_obj = FI_WAIT_NONE;
  queue_ = made<fid_cq>("fi_cq_open",
                        [&](auto** to) { return fi_cq_open(domain_.get(), &queue, to, nullptr); });
  endpoint_ = made<fid_ep>("fi_endpoint", [&](auto** to) {
    return fi_endpoint(domain_.get(), info_.get(), to, nullptr);
  });
  check(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
  check(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(fi_enable(endpoint_.get()), "fi_enable");
}

void Endpoint::meet(int socket) {
  std::array<char, address_bytes_max> address{};
  std::size_t bytes = address.size();
  check(fi_getname(&endpoint_->fid, address.data(), &bytes), "fi_getname");
  if (::send(socket, address.data(), bytes, MSG_NOSIGNAL) < 0) netio::bench::fail("send");
  address.fill(0);
  if (recv(socket, address.data(), address.size() - 1, 0) <= 0) {
    throw std::runtime_error("the other end is gone");
  }
  close(socket);
  if (fi_av_insert(addresses_.get(), address.data(), 1, &peer_, 0, nullptr) != 1) {
    throw std::runtime_error(std::string("fi_av_insert of ") + address.data());
  }
}

void Endpoint::post_receive(Slot& slot) {
  check(fi_recv(endpoint_.get(), slot.data(), slot.size(), nullptr, FI_ADDR_UNSPEC, &slot),
        "fi_recv");
}

Endpoint::Sent Endpoint::try_send(Slot& slot) {
  const bool small = slot.size() <= info_->tx_attr->inject_size;
  const ssize_t answer =
      small ? fi_inject(endpoint_.get(), slot.data(), slot.size(), peer_)
            : fi_send(endpoint_.get(), slot.data(), slot.size(), nullptr, peer_, &slot);
  if (answer == -FI_EAGAIN) return Sent::again;
  check(answer, "fi_send");
  if (small) return Sent::free_again;
  ++sends_under_way_;
  return Sent::under_way;
}

std::span<const Completion> Endpoint::read() {
  std::array<fi_cq_msg_entry, batch_max> entries;
  const ssize_t count = fi_cq_read(queue_.get(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) return {};
  if (count == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    check(fi_cq_readerr(queue_.get(), &error, 0), "fi_cq_readerr");
    fail("a transfer failed", error.err);
  }
  check(count, "fi_cq_read");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    completions_[i] = {static_cast<Slot*>(entries[i].op_context), (entries[i].flags & FI_RECV) != 0,
                       entries[i].len};
    if (!completions_[i].received) --sends_under_way_;
  }
  return {completions_.data(), static_cast<std::size_t>(count)};
}

void Endpoint::finish_sends() {
  constexpr std::int64_t within_ns = 1'000'000'000;
  const std::int64_t end = now_ns() + within_ns;
  while (sends_under_way_ != 0 && now_ns() < end) (void)read();
}

bool await_peer(Worker& worker, Endpoint& endpoint) {
  const int listener = listen_at_name(name_of(worker.options));
  worker.on_stop([listener] { (void)shutdown(listener, SHUT_RDWR); });  // ends an accept
  worker.ready();
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0 && !worker.stopping()) netio::bench::fail("accept");
  if (fd >= 0) endpoint.meet(fd);
  return fd >= 0;
}

void go_to_peer(Worker& worker, Endpoint& endpoint) {
  endpoint.meet(connect_to_name(name_of(worker.options)));
  worker.ready();
}

}  // namespace netio::bench::fabric::shm

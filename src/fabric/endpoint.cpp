// fi_endpoint, and the posts that need more than their arguments.
#include "fabric/endpoint.hpp"

#include "base/helper_thread.hpp"
#include "fabric/error.hpp"

namespace netio::detail {

Endpoint::Endpoint(const Domain& domain, const Info& info, const CompletionQueue& completions,
                   EventQueue& events, ConnectionOwner& owner)
    : events_(events) {
  const HelpersStart helpers;
  fid_ep* opened = nullptr;
  check_fabric(fi_endpoint(domain.get(), info.get(), &opened, &owner), "open an endpoint");
  endpoint_.reset(opened);
  check_fabric(fi_ep_bind(opened, &events.get()->fid, 0), "bind the endpoint's event queue");
  check_fabric(fi_ep_bind(opened, &completions.get()->fid, FI_RECV), "bind a completion queue");
  check_fabric(fi_ep_bind(opened, &completions.get()->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
               "bind a completion queue");
  check_fabric(fi_enable(opened), "enable the endpoint");
  events_.add(&opened->fid);
}

void Endpoint::connect(const void* address) {
  check_fabric(fi_connect(get(), address, nullptr, 0), "connect");
}

void Endpoint::accept() { check_fabric(fi_accept(get(), nullptr, 0), "accept"); }

long Endpoint::send(std::span<const iovec> parts, void** descriptors, bool signalled,
                    void* context) noexcept {
  fi_msg message{};
  message.msg_iov = parts.data();
  message.desc = descriptors;
  message.iov_count = parts.size();
  message.context = context;
  return fi_sendmsg(get(), &message, signalled ? FI_COMPLETION : 0);
}

long Endpoint::write(std::span<const iovec> parts, void** descriptors, const RemoteWrite& write,
                     void* context) noexcept {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  const fi_rma_iov to{write.to.address, bytes, write.to.key};
  fi_msg_rma message{};
  message.msg_iov = parts.data();
  message.desc = descriptors;
  message.iov_count = parts.size();
  message.rma_iov = &to;
  message.rma_iov_count = 1;
  message.context = context;
  message.data = write.immediate;
  return fi_writemsg(get(), &message, FI_COMPLETION | FI_REMOTE_CQ_DATA);
}

long Endpoint::receive_immediate(void* context) noexcept {
  fi_msg message{};
  message.context = context;
  return fi_recvmsg(get(), &message, 0);
}

long Endpoint::read(std::span<std::byte> to, void* descriptor, std::uint64_t address,
                    std::uint64_t key, void* context) noexcept {
  const iovec part{to.data(), to.size()};
  const fi_rma_iov from{address, to.size(), key};
  fi_msg_rma message{};
  message.msg_iov = &part;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.rma_iov = &from;
  message.rma_iov_count = 1;
  message.context = context;
  return fi_readmsg(get(), &message, FI_COMPLETION);
}

}  // namespace netio::detail

// Binds, and makes links of requests.
#include "transport/ofi/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <netio/not_there_yet.hpp>

#include "base/out_of_memory.hpp"
#include "fabric/error.hpp"
#include "transport/internet_address.hpp"
#include "transport/ofi/link.hpp"

namespace netio::detail {

namespace {

// While paused, more than so many are turned away: a fabric has no queue of its own to leave them
// in.
constexpr std::size_t waiting_max = 1024;

// The hosts to try, as numbers, in order.
std::vector<std::string> hosts_to_bind(const Url& url) {
  if (url.host == "*") return {"::", "0.0.0.0"};
  const LookUp found = look_up(url.host, url.port);
  if (found.addresses.empty()) {
    throw NotThereYet("bind " + to_string(url), found.failure.detail,
                      "bind a numeric address of this host, or * for all of them");
  }
  std::vector<std::string> hosts;
  for (const InternetAddress& address : found.addresses) hosts.push_back(host_number(address));
  return hosts;
}

[[noreturn]] void refuse(const Url& url, const FabricError& error, const std::string& provider) {
  const std::string operation = "bind " + to_string(url);
  const std::string cause = error.operation() + ": " + error.cause();
  switch (error.code()) {
    case ENODATA:
    case ENODEV:
    case EADDRNOTAVAIL:
      throw NotThereYet(operation, cause,
                        "no device of provider '" + provider +
                            "' has that address: netio info shows which there are");
    default:
      throw Error(operation, cause, fabric_advice(error.code()));
  }
}

}  // namespace

OfiListener::OfiListener(FabricSet& fabrics, const Url& url, const OfiAddressOptions& address,
                         const LinkOptions& options, ListenerEvents& events)
    : fabrics_(fabrics), address_options_(address), options_(options), events_(events) {
  try {
    listen(url);
  } catch (const FabricError& error) {
    refuse(url, error, fabrics_.provider());
  }
  InternetAddress bound;
  std::size_t bytes = 0;
  if (endpoint_->address(bound.storage, bytes)) bound.bytes = static_cast<socklen_t>(bytes);
  const std::string text = to_string(bound);
  const std::string port = text.substr(std::min(text.rfind(':'), text.size()));
  address_ = fabrics_.scheme() + "://" + (url.host == "*" ? "*" + port : text);
}

OfiListener::~OfiListener() {
  for (const Info& request : waiting_) endpoint_->reject(request);
}

// The last host's failure is the one that is told.
void OfiListener::listen(const Url& url) {
  const std::vector<std::string> hosts = hosts_to_bind(url);
  ConnectionOwner& owner = *this;
  for (const std::string& host : hosts) {
    try {
      const Info info = Info::to_listen(fabrics_.provider(), host, url.port);
      FabricPort& port = fabrics_.port_of(info);
      (void)fabrics_.device_of(info);
      endpoint_ = std::make_shared<PassiveEndpoint>(port.fabric, info, port.events, owner);
      return;
    } catch (const FabricError& error) {
      if (&host == &hosts.back() || error.code() == EADDRINUSE) throw;
    }
  }
}

void OfiListener::pause(bool paused) noexcept {
  paused_ = paused;
  if (!paused_ && !waiting_.empty()) fabrics_.resources().loop.defer(*this);
}

void OfiListener::run_deferred() noexcept {
  while (!paused_ && !waiting_.empty()) {
    Info request = std::move(waiting_.front());
    waiting_.pop_front();
    on_request(std::move(request));
  }
}

// A request that nobody took is rejected by its handle: the rest of it may be gone with a link that
// there was no memory for.
void OfiListener::on_request(Info request) noexcept {
  const fid_t handle = request->handle;
  std::unique_ptr<Link> link;
  guard_memory([&] { link = take(request); },
               [&]() noexcept {
                 endpoint_->reject(handle);
                 events_.on_exhausted(address_, out_of_memory());
               });
  if (link) events_.on_accept(std::move(link));
}

// Null if nobody is accepted now.
std::unique_ptr<Link> OfiListener::take(Info& request) {
  if (!paused_) {
    return std::make_unique<OfiLink>(fabrics_, options_, std::move(request), endpoint_,
                                     address_options_);
  }
  if (waiting_.size() == waiting_max) {
    endpoint_->reject(request);
  } else {
    waiting_.push_back(std::move(request));
  }
  return nullptr;
}

}  // namespace netio::detail

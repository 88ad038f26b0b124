// See netio_listener.hpp.
#include "socket/netio_listener.hpp"

#include <bit>
#include <utility>

#include <netio/status.hpp>

#include "base/out_of_memory.hpp"
#include "base/random.hpp"
#include "socket/context_core.hpp"

namespace netio::detail {

NetioListener::NetioListener(ContextCore& context, const Url& url, const LinkOptions& options,
                             Owner& owner)
    : context_(context), options_(options), owner_(owner) {
  const WireOption asked("bind", url);
  const Url plain = without_options_of_netio(url);
  tcp_ = context_.transport(to_string(plain)).listen(plain, options_, first_);
  offers_.place = place_of_this_thread();
  for (const OfferedWire wire : other_wires) {
    if (!asked.asks_for(wire)) continue;
    if (wire == OfferedWire::verbs && !asked.names(wire) && !may_have_verbs()) continue;
    try {
      listen_on(wire, plain);
    } catch (const Error& error) {
      if (!asked.names(wire)) continue;
      throw Error("bind " + to_string(url), error.operation() + ": " + error.cause(),
                  error.advice());
    }
  }
}

// A fabric takes the same hosts, and any free port: its ports are others than those of tcp.
void NetioListener::listen_on(OfferedWire wire, const Url& url) {
  Url place;
  WireOffer offer{.wire = wire};
  if (wire == OfferedWire::shm) {
    offer.name = std::bit_cast<std::uint64_t>(random_bytes<sizeof offer.name>());
    place = shm_url(offer.name);
  } else {
    place = url;
    place.scheme = scheme_of(wire);
    place.port = 0;
  }
  others_.reserve(other_wires.size());
  others_.push_back(context_.transport(place.scheme + "://").listen(place, options_, other_));
  if (wire != OfferedWire::shm) {
    const std::string bound = others_.back()->address();
    offer.port = parse_address(bound).port;
  }
  offers_.add(offer);
}

void NetioListener::pause(bool paused) noexcept {
  tcp_->pause(paused);
  for (const auto& each : others_) each->pause(paused);
}

void NetioListener::retry() noexcept {
  tcp_->retry();
  for (const auto& each : others_) each->retry();
}

void NetioListener::Inlet::on_accept(std::unique_ptr<Link> link) noexcept {
  std::unique_ptr<NetioConnection> how;
  guard_memory(
      [&] {
        how = std::make_unique<NetioConnection>();
        how->on_other_wire = other;
        if (!other) how->offers = listener.offers_;
      },
      []() noexcept {});
  if (!how) return on_exhausted({}, out_of_memory());
  listener.owner_.on_netio_accept(std::move(link), std::move(how));
}

void NetioListener::Inlet::on_exhausted(const std::string& address, Down down) noexcept {
  listener.owner_.on_netio_exhausted(address, std::move(down));
}

}  // namespace netio::detail

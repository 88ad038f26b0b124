// Listens at a netio:// address: on tcp, and on each other wire that there is, which it offers to
// those that greet over tcp. Owner thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/url.hpp"
#include "socket/other_wires.hpp"
#include "transport/transport.hpp"
#include "wire/offers.hpp"

namespace netio::detail {

class ContextCore;

// How a connection came to a netio:// address.
struct NetioConnection {
  // What is offered on it. On a connection over one of the other wires nothing is; there the token
  // is the one that the connection came with, once that was found to be good.
  WireOffers offers;
  bool on_other_wire = false;
};

class NetioListener final : public Listener {
 public:
  class Owner {
   public:
    virtual void on_netio_accept(std::unique_ptr<Link> link,
                                 std::unique_ptr<NetioConnection> how) noexcept = 0;
    virtual void on_netio_exhausted(const std::string& address, Down down) noexcept = 0;

   protected:
    ~Owner() = default;
  };

  // Throws Error if tcp cannot be bound, or a wire that the address names.
  NetioListener(ContextCore& context, const Url& url, const LinkOptions& options, Owner& owner);

  [[nodiscard]] std::string address() const override { return tcp_->address(); }
  void pause(bool paused) noexcept override;
  void retry() noexcept override;

 private:
  // Tells connections of tcp from the others.
  struct Inlet final : ListenerEvents {
    Inlet(NetioListener& its_listener, bool is_other) noexcept
        : listener(its_listener), other(is_other) {}
    void on_accept(std::unique_ptr<Link> link) noexcept override;
    void on_exhausted(const std::string& address, Down down) noexcept override;
    NetioListener& listener;
    bool other;
  };

  void listen_on(OfferedWire wire, const Url& url);

  ContextCore& context_;
  const LinkOptions& options_;
  Owner& owner_;
  WireOffers offers_;
  Inlet first_{*this, false};
  Inlet other_{*this, true};
  std::unique_ptr<Listener> tcp_;
  std::vector<std::unique_ptr<Listener>> others_;
};

}  // namespace netio::detail

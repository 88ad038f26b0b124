// sim://host:port: the transport of one context. It is a Source of the loop: all events of its
// links and listeners come from poll(). A World is attached for one schedule.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <netio/loop.hpp>

#include "base/url.hpp"
#include "transport/transport.hpp"

namespace netio::test {

class Run;
class SimLink;
class SimTransport;
class Wire;
class World;

class SimListener final : public detail::Listener {
 public:
  SimListener(SimTransport& transport, const detail::Url& url, const detail::LinkOptions& options,
              detail::ListenerEvents& events, Run* run);
  ~SimListener() override;

  [[nodiscard]] std::string address() const override { return "sim://" + host_and_port_; }
  void pause(bool paused) noexcept override { paused_ = paused; }

  [[nodiscard]] const std::string& host_and_port() const noexcept { return host_and_port_; }
  // A connection arrives.
  void knock(Wire& wire) { waiting_.push_back(&wire); }
  // Hands out those that have arrived.
  bool poll();

 private:
  SimTransport& transport_;
  std::string host_and_port_;
  const detail::LinkOptions& options_;
  detail::ListenerEvents& events_;
  Run* run_;
  std::deque<Wire*> waiting_;
  bool paused_ = false;
};

class SimTransport final : public detail::Transport, private Source {
 public:
  explicit SimTransport(const detail::TransportResources& resources);
  ~SimTransport() override;

  std::unique_ptr<detail::Listener> listen(const detail::Url& url,
                                           const detail::LinkOptions& options,
                                           detail::ListenerEvents& events) override;
  std::unique_ptr<detail::Link> connect(const detail::Url& url,
                                        const detail::LinkOptions& options) override;

  // For the schedule that begins; null after it.
  void attach(World* world) noexcept { world_ = world; }
  [[nodiscard]] World& world() const noexcept { return *world_; }
  [[nodiscard]] const detail::TransportResources& resources() const noexcept { return resources_; }

  void add(SimLink& link) { links_.push_back(&link); }
  void remove(SimLink& link) noexcept;
  void add(SimListener& listener) { listeners_.push_back(&listener); }
  void remove(SimListener& listener) noexcept;

 private:
  bool poll(int budget) noexcept override;
  bool may_sleep() noexcept override { return true; }
  [[nodiscard]] int fd() const noexcept override { return -1; }

  detail::TransportResources resources_;
  World* world_ = nullptr;
  // While they are polled, what goes leaves a null behind.
  std::vector<SimLink*> links_;
  std::vector<SimListener*> listeners_;
};

}  // namespace netio::test

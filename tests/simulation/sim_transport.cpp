// Set-up of simulated links and listeners, and the turn in which they work.
#include "simulation/sim_transport.hpp"

#include <algorithm>
#include <utility>

#include <netio/status.hpp>

#include "simulation/run.hpp"
#include "simulation/sim_link.hpp"
#include "simulation/world.hpp"

namespace netio::test {

namespace {

std::string host_and_port_of(const detail::Url& url) {
  return url.host + ":" + std::to_string(url.port);
}

}  // namespace

SimListener::SimListener(SimTransport& transport, const detail::Url& url,
                         const detail::LinkOptions& options, detail::ListenerEvents& events,
                         Run* run)
    : transport_(transport),
      host_and_port_(host_and_port_of(url)),
      options_(options),
      events_(events),
      run_(run) {
  if (transport.world().find_listener(host_and_port_) != nullptr) {
    throw Error("bind " + address(), "somebody listens there", "close that socket first");
  }
  transport_.add(*this);
  transport_.world().add_listener(*this);
}

// Those that wait are turned away, as the kernel does.
SimListener::~SimListener() {
  for (Wire* const wire : waiting_) wire->leave(1);
  transport_.world().remove_listener(*this);
  transport_.remove(*this);
}

bool SimListener::poll() {
  bool worked = false;
  while (!waiting_.empty() && !paused_ && waiting_.front()->waits_since_ns <= World::now_ns()) {
    Wire& wire = *waiting_.front();
    waiting_.pop_front();
    wire.runs[1] = run_;
    transport_.world().say("  wire ", wire.number, " is accepted by ", run_->name());
    events_.on_accept(std::make_unique<SimLink>(transport_, options_, wire));
    worked = true;
  }
  return worked;
}

SimTransport::SimTransport(const detail::TransportResources& resources) : resources_(resources) {
  links_.reserve(256);
  listeners_.reserve(64);
  resources_.loop.add_source(*this);
}

SimTransport::~SimTransport() { resources_.loop.remove_source(*this); }

std::unique_ptr<detail::Listener> SimTransport::listen(const detail::Url& url,
                                                       const detail::LinkOptions& options,
                                                       detail::ListenerEvents& events) {
  return std::make_unique<SimListener>(*this, url, options, events, world_->caller);
}

std::unique_ptr<detail::Link> SimTransport::connect(const detail::Url& url,
                                                    const detail::LinkOptions& options) {
  const auto index = static_cast<std::uint32_t>(std::stoul(url.options.at(0).second));
  return std::make_unique<SimLink>(*this, options, url, world_->dial(index));
}

void SimTransport::remove(SimLink& link) noexcept {
  const auto found = std::find(links_.begin(), links_.end(), &link);
  if (found != links_.end()) *found = nullptr;
}

void SimTransport::remove(SimListener& listener) noexcept {
  const auto found = std::find(listeners_.begin(), listeners_.end(), &listener);
  if (found != listeners_.end()) *found = nullptr;
}

// Call-backs may make and destroy any of them: by index, and those that are new wait a turn.
bool SimTransport::poll(int) noexcept {
  if (world_ == nullptr) return false;
  bool worked = false;
  std::erase(listeners_, nullptr);
  for (std::size_t i = 0, count = listeners_.size(); i < count; ++i) {
    if (listeners_[i] != nullptr) worked |= listeners_[i]->poll();
  }
  std::erase(links_, nullptr);
  const std::size_t count = links_.size();
  const std::size_t first = count > 1 ? world_->random.below(count) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    SimLink* const link = links_[(first + i) % count];
    if (link != nullptr) worked |= link->poll();
  }
  return worked;
}

}  // namespace netio::test

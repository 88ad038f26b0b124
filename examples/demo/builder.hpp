// A process that builds events: it checks each event that its BuilderUnit hands over, and publishes
// it to the recorder and the monitor. An event is released, and so settled, when the recorder has
// acknowledged it. So an event that a killed builder had not delivered is built again. One thread,
// one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include <netio/netio.hpp>

#include "child_options.hpp"
#include "ledger.hpp"
#include "report.hpp"
#include "reporter.hpp"

namespace demo {

class Builder {
 public:
  explicit Builder(const ChildOptions& options);
  // Until the event manager has said good-bye. The exit code.
  int run();

 private:
  void listen_to_units();
  void listen_to_subscribers();
  void take(const netio::Event& event);
  void check(const netio::Event& event);
  void publish_waiting();
  [[nodiscard]] netio::Status publish(const netio::KeptEvent& event);
  void release_acknowledged();
  void on_subscriber(const netio::PeerInfo& peer, std::span<const netio::TagRange> tags);
  void on_subscriber_down(const netio::PeerInfo& peer);
  void on_manager_down(const netio::Down& down);
  void update_books();

  const ChildOptions options_;
  const std::size_t process_;  // its index among the builders' processes
  Ledger ledger_;
  netio::Context context_;
  netio::BuilderUnit unit_;
  netio::Publish publish_;
  netio::Timer release_timer_;
  Reporter reporter_;
  std::deque<netio::KeptEvent> waiting_;    // to be published
  std::deque<netio::KeptEvent> published_;  // and not acknowledged by the recorder
  std::uint64_t released_ = 0;
  std::uint64_t recorder_ = 0;  // the ids of the two peers; 0 before they have subscribed
  std::uint64_t monitor_ = 0;
  BuilderReport report_;
  bool closing_ = false;
};

}  // namespace demo

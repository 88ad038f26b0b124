// The recorder and the monitor: both subscribe to the events of the two builders, and check every
// byte of what they get. The recorder has the policy "block", and enters each event in the ledger.
// The monitor has the policy "sample", and looks at some events ten times a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <netio/netio.hpp>

#include "child_options.hpp"
#include "ledger.hpp"
#include "percentiles.hpp"
#include "report.hpp"
#include "reporter.hpp"

namespace demo {

class Subscriber {
 public:
  explicit Subscriber(const ChildOptions& options);
  // Until all builders have said good-bye. The exit code.
  int run();

 private:
  void on_event(const netio::MessageView& message);
  void rest();
  [[nodiscard]] std::size_t process_of(const netio::PeerInfo& builder) const;
  void on_down(const netio::PeerInfo& peer, const netio::Down& down);
  void fill(Report& report, bool final);

  const ChildOptions options_;
  const bool recorder_;
  Ledger ledger_;
  netio::Context context_;
  netio::Subscribe subscribe_;
  netio::Timer look_;
  Reporter reporter_;
  SubscriberReport report_;
  Percentiles ages_;
  std::uint64_t seen_ = 0;    // events
  std::size_t builders_ = 0;  // that are connected
};

}  // namespace demo

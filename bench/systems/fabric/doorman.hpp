// Listens, and lets in who asks.
#pragma once

#include <memory>
#include <vector>

#include "systems/fabric/connection.hpp"

namespace netio::bench::fabric {

class Doorman {
 public:
  Doorman(Device& device, std::uint32_t connections_wanted, std::size_t posted);

  // The one it listens at.
  [[nodiscard]] std::uint16_t port() const;
  // Takes all events there are: who asks is let in, who has gone is told to have ended.
  void take_events();
  // Some have not come yet: take_events() is needed for them, whatever the completions say.
  [[nodiscard]] bool waits() const noexcept { return up_ < wanted_; }

 private:
  Device& device_;
  std::size_t posted_;
  std::uint32_t wanted_;
  std::uint32_t up_ = 0;
  Handle<fid_pep> listener_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace netio::bench::fabric

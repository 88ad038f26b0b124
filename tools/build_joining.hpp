// The event manager, as a unit or a builder of `netio build` sees it.
#pragma once

#include <optional>
#include <string>

#include "arguments.hpp"
#include "build_peers.hpp"
#include "build_report.hpp"

namespace netio::cli {

// There is none if no address was given.
[[nodiscard]] inline BuildPeers::Options one_manager(const std::string& address,
                                                     const BuildArguments& arguments) {
  return {"manager", address.empty() ? 0U : 1U, true, arguments.peer.connect_timeout, true};
}

// A manager gives the events of a builder that is away to others, so that it is not waited for.
[[nodiscard]] inline BuildPeers::Options builders_of_unit(const ReadoutArguments& arguments) {
  const bool managed = arguments.plan.managed;
  return {"builder", arguments.plan.builders, !managed,
          managed ? std::nullopt : arguments.peer.connect_timeout};
}

[[nodiscard]] inline ManagerOfPeer manager_summary(const std::string& address,
                                                   const BuildPeers& manager) {
  return {address, manager.counts(), manager.refusals()};
}

// "the manager and builders 0, 3"; empty if nobody is missed.
[[nodiscard]] inline std::string missed_of(const BuildPeers& manager, const BuildPeers& peers) {
  const std::string first = manager.missed();
  const std::string second = peers.missed();
  return first + (first.empty() || second.empty() ? "" : " and ") + second;
}

}  // namespace netio::cli

// A network between network namespaces of this machine: each end of a measurement has one of its
// own, which a pair of virtual interfaces joins to a bridge. All of it ends with the processes.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "bench/end.hpp"
#include "exit_code.hpp"
#include "report.hpp"

namespace netio::cli {

// Puts this process into a user namespace and a network namespace of its own, which has the bridge
// and nothing else. To be called before there are threads. The answer says why this machine does
// not permit it; the process may then be in some of them. Empty: it is done.
[[nodiscard]] std::string enter_network_of_bridge();

// Reports that, with what can be done about it. A machine that permits none is no failure.
[[nodiscard]] ExitCode skip_without_namespaces(Report& report, const std::string& why);

// Starts ends here that were told by --own-network to be in a namespace of their own.
class NetworkPlace final : public Place {
 public:
  explicit NetworkPlace(Place& here) noexcept : here_(here) {}
  [[nodiscard]] std::unique_ptr<End> start(const std::string& name, const std::string& system,
                                           const std::vector<std::string>& arguments) override;

 private:
  Place& here_;
};

}  // namespace netio::cli

// Ends on the machine where `netio bench serve` runs. Both sides speak JSON over a Pair:
//   to it    {"id": 1, "start": "raw", "arguments": [..]}, {"id": 1, "say": ".."}, {"id": 1, "end":
//   true} from it  {"id": 1, "line": ".."}, {"id": 1, "ended": "was killed by .."}
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <netio/context.hpp>
#include <netio/pair.hpp>

#include "bench/end.hpp"
#include "bench/line_queue.hpp"

namespace netio::cli {

class RemotePlace final : public Place {
 public:
  // Waits until it is connected. Throws Failure.
  RemotePlace(Context& context, const std::string& address);

  [[nodiscard]] std::unique_ptr<End> start(const std::string& name, const std::string& system,
                                           const std::vector<std::string>& arguments) override;

 private:
  class RemoteEnd;
  void tell(const nlohmann::json& message);
  void take(std::string_view text);

  Context& context_;
  Pair pair_;
  std::string lost_;  // why the connection is gone; empty: it is not
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, LineQueue*> lines_;  // of the ends that live
};

}  // namespace netio::cli

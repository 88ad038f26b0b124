// The subscribers of one process: what each has counted, and what a snap says of them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "worker/tally.hpp"
#include "worker/worker.hpp"

namespace netio::bench {

class Subscribers {
 public:
  explicit Subscribers(const Options& options);

  [[nodiscard]] std::size_t count() const noexcept { return tallies_.size(); }
  [[nodiscard]] Tally& operator[](std::size_t number) noexcept { return *tallies_[number]; }
  // For Worker::on_snap(), on any thread.
  void tell(nlohmann::ordered_json& said) const;

  // For systems whose sockets block: runs `subscribe` for each, on a thread of its own, and calls
  // worker.ready() when all have called the function that they are given. Returns when all have.
  void run_apart(Worker& worker,
                 const std::function<void(std::uint32_t number, Tally& tally,
                                          const std::function<void()>& subscribed)>& subscribe);

 private:
  std::vector<std::unique_ptr<Tally>> tallies_;
};

}  // namespace netio::bench

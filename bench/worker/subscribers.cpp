#include "worker/subscribers.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <thread>

#include <nlohmann/json.hpp>

namespace netio::bench {

Subscribers::Subscribers(const Options& options) {
  for (std::uint32_t i = 0; i < options.connections; ++i) {
    tallies_.push_back(
        std::make_unique<Tally>(1, options.message_bytes, options.verify,
                                options.name.empty() ? Reads::nothing : Reads::lines));
  }
}

void Subscribers::tell(nlohmann::ordered_json& said) const {
  std::uint64_t messages = 0;
  std::uint64_t missed = 0;
  std::uint64_t faults = 0;
  said["subscribers"] = nlohmann::ordered_json::array();
  for (const auto& tally : tallies_) {
    said["subscribers"].push_back(tally->messages());
    messages += tally->messages();
    missed += tally->missed();
    faults += tally->faults();
  }
  said["messages"] = messages;
  said["missed"] = missed;
  said["faults"] = faults;
}

void Subscribers::run_apart(
    Worker& worker,
    const std::function<void(std::uint32_t, Tally&, const std::function<void()>&)>& subscribe) {
  std::latch subscribed(static_cast<std::ptrdiff_t>(count()));
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < count(); ++i) {
    threads.emplace_back([&, i] {
      try {
        subscribe(i, *tallies_[i], [&subscribed] { subscribed.count_down(); });
      } catch (const std::exception& error) {
        end_with(error);
      }
    });
  }
  subscribed.wait();
  worker.ready();
}

}  // namespace netio::bench

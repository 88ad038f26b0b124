// Subscribes, or takes from a Push: each connection a socket of its own, which counts and checks.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "systems/netio/netio.hpp"
#include "worker/subscribers.hpp"
#include "worker/tags.hpp"

namespace netio::bench {

namespace {

Policy policy_of(const Options& options) {
  static const std::map<std::string, Policy> policies = {{"block", Policy::block},
                                                         {"drop_new", Policy::drop_new},
                                                         {"drop_old", Policy::drop_old},
                                                         {"sample", Policy::sample},
                                                         {"disconnect", Policy::disconnect}};
  return policies.at(options.fanout.policy);
}

// A subscription, and what comes of it. There until the process ends.
class Subscriber {
 public:
  Subscriber(Context& context, const Options& options, std::uint32_t number, Tally& tally)
      : subscribe_(context, {.policy = policy_of(options)}, socket_options(options)) {
    subscribe_.on_message([&tally](const MessageView& message) { tally.take(message.bytes()); });
    if (policy_of(options) == Policy::disconnect) {
      tally.allow_gaps();  // each connection is a subscription, and numbers its own messages
    } else {
      subscribe_.on_gap(
          [&tally](const PeerInfo&, const Gap& gap) { tally.miss(gap.first, gap.count); });
    }
    subscribe_.on_subscribed([this](const PeerInfo&, const Subscribed& said) {
      subscribed_ = true;
      if (said.refused) refused_ = said.detail;
    });
    std::vector<TagRange> ranges;
    for (const std::uint64_t tag : subscribed_tags(options.fanout, number)) {
      ranges.push_back({tag, tag});
    }
    subscribe_.subscribe(ranges);
    subscribe_.connect(address_of(options));
  }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Throws if it never will be.
  [[nodiscard]] bool is_there() const {
    if (!refused_.empty()) throw std::runtime_error("the subscription was refused: " + refused_);
    return subscribed_;
  }

 private:
  Subscribe subscribe_;
  bool subscribed_ = false;
  std::string refused_;
};

class Taker {
 public:
  Taker(Context& context, const Options& options, std::uint32_t, Tally& tally)
      : pull_(context, socket_options(options)) {
    pull_.on_message([&tally](const MessageView& message) { tally.take(message.bytes()); });
    pull_.on_up([this](const PeerInfo&) { up_ = true; });
    pull_.connect(address_of(options));
  }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  [[nodiscard]] bool is_there() const noexcept { return up_; }

 private:
  Pull pull_;
  bool up_ = false;
};

template <typename End>
void run_ends(Worker& worker, Context& context) {
  Subscribers subscribers(worker.options);
  std::vector<std::unique_ptr<End>> ends;
  for (std::uint32_t i = 0; i < subscribers.count(); ++i) {
    ends.push_back(std::make_unique<End>(context, worker.options, i, subscribers[i]));
  }
  const auto all_there = [&ends] {
    return std::all_of(ends.begin(), ends.end(), [](const auto& end) { return end->is_there(); });
  };
  while (!all_there()) context.loop().run_once(std::chrono::seconds(1));
  worker.on_snap([&subscribers](nlohmann::ordered_json& said) { subscribers.tell(said); });
  worker.ready();
  context.run();
  worker.join();
}

}  // namespace

void subscribe(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  worker.options.fanout.push ? run_ends<Taker>(worker, context)
                             : run_ends<Subscriber>(worker, context);
}

}  // namespace netio::bench

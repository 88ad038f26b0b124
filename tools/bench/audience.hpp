// A publisher and its subscribers, each a process (many subscribers: a few processes), and what
// they did while they were looked at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/arguments.hpp"
#include "bench/measure.hpp"
#include "bench/stage.hpp"

namespace netio::cli {

// One of those that take turns: a system, and what is asked of it.
struct Contender {
  std::string name;
  const System* system = nullptr;
  FanoutArguments fanout;
  bool push = false;  // netio's Push and Pull

  [[nodiscard]] std::uint32_t recipients() const noexcept {
    return std::min(fanout.recipients.value_or(fanout.subscribers), fanout.subscribers);
  }
};

struct FanoutSample {
  double published_per_s = 0;
  double publisher_cpu_ns = 0;   // for each message published
  double subscriber_cpu_ns = 0;  // of all together, for each message delivered
  // Of the recipients that were not stopped, messages a second; 0 without any.
  double delivered_per_s = 0;  // of the one in the middle
  double slowest_per_s = 0;
  double fastest_per_s = 0;
  std::optional<double> bodies_encoded;   // while it was looked at; none: a system that cannot say
  double published = 0;                   // meanwhile
  std::optional<double> unwanted;         // meanwhile
  std::map<std::string, double> dropped;  // meanwhile, for all subscribers, by reason
  double missed = 0;  // since the beginning, by recipients that were not stopped
};

class Audience {
 public:
  // All are there, and nothing is published. Throws EndFailure, Interrupted.
  Audience(Stage& stage, const Contender& contender, const Case& what);
  // Those that were stopped go on, or they could not end.
  ~Audience();
  Audience(const Audience&) = delete;
  Audience& operator=(const Audience&) = delete;

  [[nodiscard]] FanoutSample measure();

 private:
  struct Group {
    std::unique_ptr<End> end;
    bool wants = false;  // what is published
    bool stopped = false;
    nlohmann::json from;
    nlohmann::json to;
  };
  void start_group(std::uint32_t first, std::uint32_t count, bool stopped);
  void start_groups(std::uint32_t first, std::uint32_t count);
  void await_drops();
  void snap(nlohmann::json Group::*which);
  void add_deliveries(FanoutSample& sample) const;

  Stage& stage_;
  Contender contender_;
  Case what_;
  std::uint16_t port_;
  std::unique_ptr<End> publisher_;
  std::vector<Group> groups_;
};

}  // namespace netio::cli

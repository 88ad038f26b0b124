#include "bench/mesh_stage.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/bridge_network.hpp"
#include "bench/results.hpp"

namespace netio::cli {

namespace {

using nlohmann::json;

// Until each node is connected with all others, on a machine with fewer cores than nodes.
constexpr std::chrono::seconds time_to_connect{60};
constexpr std::chrono::seconds time_to_connect_with_one{1};
constexpr std::chrono::seconds time_to_answer{20};
// A node that ended is noticed by then.
constexpr std::chrono::milliseconds look_for_ends_every{50};
// Nodes whose peer was killed may end before the command sees that it was.
constexpr std::chrono::milliseconds time_to_see_who{500};

// What a node has counted so far.
struct Look {
  double ns = 0;
  double cpu_ns = 0;
  std::vector<double> from;  // messages, by the node that sent them
};

Look look_of(const json& said) {
  return {said.at("ns").get<double>(), said.at("cpu_ns").get<double>(),
          said.at("from").get<std::vector<double>>()};
}

double variation_of(const std::vector<double>& rates) {
  const auto count = static_cast<double>(rates.size());
  double mean = 0;
  for (const double rate : rates) mean += rate / count;
  if (mean <= 0) return std::sqrt(count - 1);
  double squares = 0;
  for (const double rate : rates) squares += (rate - mean) * (rate - mean) / count;
  return std::sqrt(squares) / mean;
}

// The nodes of one part of a turn. They are killed if they were not stopped in order.
class Nodes {
 public:
  Nodes(Stage& stage, const MeshArguments& mesh, const Case& what, const System& system,
        const MeshTargets& targets)
      : stage_(stage), mesh_(mesh), what_(what), system_(system), targets_(targets) {}
  ~Nodes() {
    if (stopped_) return;
    for (const auto& end : ends_) end->signal(SIGKILL);
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  void run(MeshSample& sample) {
    try {
      start();
      measure();
    } catch (const EndFailure& failure) {
      throw EndFailure(why(failure));
    }
    add_to(sample);
  }

 private:
  void start() {
    std::vector<std::uint16_t> ports;
    for (std::uint32_t number = 0; number < targets_.size(); ++number) {
      std::uint16_t port = what_.meeting.port;
      start_node(number, port);
      ports.push_back(port);
    }
    const std::string all = fmt::format("{}", fmt::join(ports, " "));
    for (const auto& end : ends_) end->say(all);
    const auto count = static_cast<std::int64_t>(ends_.size());
    for (const auto& end : ends_) {
      (void)answer_of(*end, time_to_connect + count * time_to_connect_with_one);
    }
  }

  // No process is pinned: there are mostly more of them than cores.
  void start_node(std::uint32_t number, std::uint16_t& port) {
    const Places with_cores = stage_.places();
    NetworkPlace network(with_cores.here);
    const Places places =
        mesh_.namespaces ? Places{network, network} : Places{with_cores.here, with_cores.there};
    Case what = what_;
    what.connections = static_cast<std::uint32_t>(targets_.size() * mesh_.streams);
    ends_.push_back(start_worker(system_, "node", what, places, port, words_for(number),
                                 fmt::format("{} node {}", system_.name, number)));
  }

  [[nodiscard]] std::vector<std::string> words_for(std::uint32_t number) const {
    std::vector<std::string> words = {"--nodes",   std::to_string(targets_.size()),
                                      "--node",    std::to_string(number),
                                      "--streams", std::to_string(mesh_.streams)};
    if (!targets_[number].empty()) {
      words.insert(words.end(), {"--targets", fmt::format("{}", fmt::join(targets_[number], ","))});
    }
    if (!mesh_.namespaces) return words;
    std::vector<std::string> hosts;
    for (std::uint32_t i = 0; i < targets_.size(); ++i) hosts.push_back(own_address(i));
    words.insert(words.end(), {"--node-hosts", fmt::format("{}", fmt::join(hosts, ",")),
                               "--own-network", hosts[number]});
    return words;
  }

  void measure() {
    ask_all("record");
    pass(warm_up(what_));
    const auto interval = what_.duration() / static_cast<std::int64_t>(mesh_.intervals);
    look();
    for (std::uint64_t i = 0; i < mesh_.intervals; ++i) {
      pass(interval);
      look();
    }
    stop();
  }
  // Together, so that none finds the others gone for long.
  void stop() {
    for (const auto& end : ends_) end->say("stop");
    for (const auto& end : ends_) check_faults(*end, end->answer());
    stopped_ = true;
  }

  std::vector<json> ask_all(const std::string& command) {
    for (const auto& end : ends_) end->say(command);
    std::vector<json> answers;
    for (const auto& end : ends_) answers.push_back(answer_of(*end, time_to_answer));
    return answers;
  }
  // Meanwhile another node may end, and this one may wait for it.
  json answer_of(End& end, std::chrono::seconds within) {
    Loop& loop = stage_.loop();
    const auto until = loop.now() + within;
    while (!end.has_said()) {
      if (loop.now() >= until) {
        throw EndFailure(fmt::format("{} did not answer within {} s", end.name(), within.count()));
      }
      turn(until - loop.now());
    }
    return end.answer();
  }
  // Of the loop, after a look at who has ended.
  void turn(std::chrono::nanoseconds left) {
    if (Interrupt::requested()) throw Interrupted();
    check_ends();
    stage_.loop().run_once(std::min<std::chrono::nanoseconds>(left, look_for_ends_every));
  }
  void check_ends() const {
    for (const auto& end : ends_) {
      const auto ending = end->ending();
      if (!ending) continue;
      while (end->has_said()) (void)end->answer();  // throws what it complained of
      throw EndFailure(fmt::format("{} {}", end->name(), *ending));
    }
  }
  void look() {
    std::vector<Look> looks;
    for (const json& said : ask_all("snap")) looks.push_back(look_of(said));
    looks_.push_back(std::move(looks));
  }

  void pass(std::chrono::nanoseconds time) {
    const auto until = stage_.loop().now() + time;
    for (auto left = time; left.count() > 0; left = until - stage_.loop().now()) turn(left);
  }

  // A node that was killed cuts the connections of others, of which one may be heard first.
  [[nodiscard]] std::string why(const EndFailure& failure) const {
    for (auto left = std::chrono::milliseconds(time_to_see_who); left.count() > 0;
         left -= look_for_ends_every) {
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        const auto ending = ends_[i]->ending();
        if (!ending || ending->find("killed by signal") == std::string::npos) continue;
        return fmt::format("{} (process {}{}) {}; the mesh ends", ends_[i]->name(),
                           ends_[i]->process_id(), place_of(i), *ending);
      }
      let_pass(stage_.loop(), look_for_ends_every);
    }
    return failure.what();
  }
  [[nodiscard]] std::string place_of(std::size_t number) const {
    return mesh_.namespaces ? ", " + own_address(number) : std::string();
  }
  // In a network namespace.
  [[nodiscard]] std::string own_address(std::size_t number) const {
    return fmt::format("10.205.{}.{}", network_ % 256, 1 + number);
  }
  // The kernel removes the namespaces of nodes that have ended later, and they answer meanwhile:
  // the next nodes need other addresses.
  static unsigned next_network() {
    static unsigned count = 0;
    return count++;
  }

  void add_to(MeshSample& sample) const {
    for (std::uint32_t from = 0; from < targets_.size(); ++from) {
      for (const std::uint32_t to : targets_[from]) sample.pairs.push_back(pair(from, to));
    }
    for (std::size_t node = 0; node < ends_.size(); ++node) {
      const Look& first = looks_.front()[node];
      const Look& last = looks_.back()[node];
      sample.cores += (last.cpu_ns - first.cpu_ns) / (last.ns - first.ns);
    }
  }
  [[nodiscard]] PairSample pair(std::uint32_t from, std::uint32_t to) const {
    const auto rate = [&](const Look& first, const Look& last) {
      return (last.from.at(from) - first.from.at(from)) / (last.ns - first.ns) * 1e9;
    };
    const auto bytes = static_cast<double>(what_.message_bytes);
    PairSample sample;
    sample.from = from;
    sample.to = to;
    for (std::size_t i = 1; i < looks_.size(); ++i) {
      sample.by_interval.push_back(rate(looks_[i - 1][to], looks_[i][to]) * bytes);
    }
    sample.messages_per_s = rate(looks_.front()[to], looks_.back()[to]);
    sample.bytes_per_s = sample.messages_per_s * bytes;
    sample.variation = variation_of(sample.by_interval);
    return sample;
  }

  Stage& stage_;
  const MeshArguments& mesh_;
  const Case& what_;
  const System& system_;
  const MeshTargets& targets_;
  std::vector<std::unique_ptr<End>> ends_;  // by node
  unsigned network_ = next_network();
  bool stopped_ = false;
  std::vector<std::vector<Look>> looks_;  // by time, then by node
};

void sum_up(MeshSample& sample, const std::string& name) {
  std::vector<PairSample>& pairs = sample.pairs;
  std::sort(pairs.begin(), pairs.end(), [](const PairSample& a, const PairSample& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  std::vector<double> rates;
  for (const PairSample& pair : pairs) {
    sample.messages_per_s += pair.messages_per_s;
    sample.bytes_per_s += pair.bytes_per_s;
    sample.variation += pair.variation / static_cast<double>(pairs.size());
    sample.variation_most = std::max(sample.variation_most, pair.variation);
    rates.push_back(pair.bytes_per_s);
  }
  if (sample.messages_per_s <= 0) throw EndFailure(fmt::format("{}: nothing arrived", name));
  const Spread spread = spread_of(std::move(rates));
  sample.pair_least = spread.min;
  sample.pair_median = spread.median;
  sample.pair_most = spread.max;
}

}  // namespace

MeshSample measure_mesh(Stage& stage, const MeshArguments& mesh, const Case& what,
                        const System& system) {
  const auto parts = parts_of_turn(static_cast<std::uint32_t>(mesh.nodes), mesh.both_ways);
  MeshSample sample;
  for (const MeshTargets& targets : parts) {
    Nodes(stage, mesh, what, system, targets).run(sample);
  }
  sum_up(sample, std::string(system.name));
  const auto count = static_cast<double>(parts.size());
  sample.messages_per_s /= count;
  sample.bytes_per_s /= count;
  sample.cores /= count;
  return sample;
}

}  // namespace netio::cli

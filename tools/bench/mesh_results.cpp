#include "bench/mesh_results.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/system.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// By its name in JSON.
struct MeshFigure {
  const char* key;
  double MeshSample::*value;
  bool compared = true;
};
constexpr std::array<MeshFigure, 8> all_mesh_figures = {
    MeshFigure{"bytes_per_s", &MeshSample::bytes_per_s},
    MeshFigure{"messages_per_s", &MeshSample::messages_per_s},
    MeshFigure{"rate_variation", &MeshSample::variation},
    MeshFigure{"rate_variation_most", &MeshSample::variation_most},
    MeshFigure{"pair_bytes_per_s_least", &MeshSample::pair_least, false},
    MeshFigure{"pair_bytes_per_s_median", &MeshSample::pair_median, false},
    MeshFigure{"pair_bytes_per_s_most", &MeshSample::pair_most, false},
    MeshFigure{"cores", &MeshSample::cores}};

constexpr double mega = 1e6;

std::string percent(double of_one) { return fmt::format("{:.1f} %", of_one * 100); }

// A row for each node that sends, a column for each that receives.
std::string matrix_text(const std::string& title, const std::vector<std::optional<double>>& matrix,
                        std::size_t nodes, double scale) {
  std::string text = title + "\n  from \\ to";
  for (std::size_t to = 0; to < nodes; ++to) text += fmt::format("{:>9}", to);
  text += "\n";
  for (std::size_t from = 0; from < nodes; ++from) {
    text += fmt::format("  {:>9}", from);
    for (std::size_t to = 0; to < nodes; ++to) {
      const std::optional<double>& value = matrix[from * nodes + to];
      text += value ? fmt::format("{:>9.1f}", *value * scale) : fmt::format("{:>9}", "-");
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> MeshResults::systems() const {
  std::vector<std::string> names = {std::string(our_name)};
  if (!other_.empty()) names.push_back(other_);
  return names;
}

const MeshSample& MeshResults::sample(const MeshRound& round, std::string_view system) const {
  return system == our_name ? round.ours : *round.other;
}

Spread MeshResults::spread(std::string_view system, Value value) const {
  std::vector<double> values;
  for (const MeshRound& round : rounds_) values.push_back(sample(round, system).*value);
  return spread_of(std::move(values));
}

std::optional<Spread> MeshResults::ratio(Value value) const {
  std::vector<double> ratios;
  for (const MeshRound& round : rounds_) {
    if (!round.other || !round.control) return std::nullopt;
    const double theirs = ((*round.other).*value + (*round.control).*value) / 2;
    if (theirs <= 0) return std::nullopt;
    ratios.push_back(round.ours.*value / theirs);
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::optional<Spread> MeshResults::control(Value value) const {
  std::vector<double> ratios;
  for (const MeshRound& round : rounds_) {
    if (!round.other || !round.control || (*round.other).*value <= 0) return std::nullopt;
    ratios.push_back((*round.control).*value / ((*round.other).*value));
  }
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios));
}

std::vector<std::optional<double>> MeshResults::matrix(std::string_view system,
                                                       double PairSample::*value) const {
  const std::size_t nodes = mesh_.nodes;
  std::vector<std::optional<double>> medians(nodes * nodes);
  if (rounds_.empty()) return medians;
  for (std::size_t i = 0; i < sample(rounds_.front(), system).pairs.size(); ++i) {
    std::vector<double> values;
    for (const MeshRound& round : rounds_) values.push_back(sample(round, system).pairs[i].*value);
    const PairSample& pair = sample(rounds_.front(), system).pairs[i];
    medians[pair.from * nodes + pair.to] = spread_of(std::move(values)).median;
  }
  return medians;
}

std::string MeshResults::title() const {
  return fmt::format(
      "Mesh over {}{}: {}, each pair {}, {} a pair, {} messages of {}, when idle: {}; {} of "
      "{:.3g} s\n",
      what_.meeting.wire(), mesh_.namespaces ? " between network namespaces" : "",
      counted(mesh_.nodes, "node"),
      mesh_.both_ways ? "both ways at once" : "one way and then the other",
      counted(mesh_.streams, "stream"), name_of(what_.mode), binary_bytes(what_.message_bytes),
      name_of(what_.wait), counted(mesh_.intervals, "interval"),
      what_.seconds / static_cast<double>(mesh_.intervals));
}

std::string MeshResults::row(const std::string& system) const {
  const Spread sum = spread(system, &MeshSample::bytes_per_s);
  const auto median = [&](Value value) { return spread(system, value).median; };
  const auto rate = [](double bytes_per_s) { return scaled(bytes_per_s, "B/s"); };
  return fmt::format(
      "{:<7} {:>10} {:>24} {:>10} {:>36} {:>10} {:>8} {:>6.2f}\n", system, rate(sum.median),
      fmt::format("{} .. {}", rate(sum.min), rate(sum.max)),
      short_number(median(&MeshSample::messages_per_s)),
      fmt::format("{} / {} / {}", rate(median(&MeshSample::pair_least)),
                  rate(median(&MeshSample::pair_median)), rate(median(&MeshSample::pair_most))),
      percent(median(&MeshSample::variation)), percent(median(&MeshSample::variation_most)),
      median(&MeshSample::cores));
}

std::string MeshResults::ratio_lines() const {
  std::string text;
  const auto line = [&text](const std::string& name, const std::optional<Spread>& of) {
    if (!of) return;
    text +=
        fmt::format("  {:<32} {:>8.3f}   ({:.3f} .. {:.3f})\n", name, of->median, of->min, of->max);
  };
  if (other_.empty()) return text;
  text =
      "Ratios, round by round (of sums above 1 netio is faster, of variation below 1 steadier):\n";
  line(fmt::format("sum: {} / {}", our_name, other_), ratio(&MeshSample::bytes_per_s));
  line(fmt::format("variation: {} / {}", our_name, other_), ratio(&MeshSample::variation));
  line(fmt::format("cores: {} / {}", our_name, other_), ratio(&MeshSample::cores));
  line(fmt::format("control, sum: {0} / {0}", other_), control(&MeshSample::bytes_per_s));
  line(fmt::format("control, variation: {0} / {0}", other_), control(&MeshSample::variation));
  return text;
}

std::string MeshResults::matrices(const std::string& system) const {
  const std::size_t nodes = mesh_.nodes;
  return matrix_text(fmt::format("{}: rate of each pair, MB/s (medians of the rounds)", system),
                     matrix(system, &PairSample::bytes_per_s), nodes, 1 / mega) +
         matrix_text(fmt::format("{}: variation of this rate over time, % (standard deviation of "
                                 "the intervals over their mean)",
                                 system),
                     matrix(system, &PairSample::variation), nodes, 100);
}

std::string MeshResults::silent_pairs(const std::string& system) const {
  std::string text;
  for (std::size_t number = 0; number < rounds_.size(); ++number) {
    for (const PairSample& pair : sample(rounds_[number], system).pairs) {
      if (pair.messages_per_s > 0) continue;
      text += fmt::format("SILENT: {}, round {}: nothing came at node {} from node {}\n", system,
                          number + 1, pair.to, pair.from);
    }
  }
  return text;
}

std::string MeshResults::to_text() const {
  std::string text = title();
  if (!rounds_.empty()) {
    text += fmt::format("{:<7} {:>10} {:>24} {:>10} {:>36} {:>10} {:>8} {:>6}\n", "", "sum",
                        "min .. max", "messages/s", "pairs: least / median / most", "variation",
                        "most", "cores");
    for (const std::string& name : systems()) text += row(name);
    text += ratio_lines();
    for (const std::string& name : systems()) text += matrices(name) + silent_pairs(name);
  }
  if (!failure_.empty()) text += fmt::format("FAILED {}\n", failure_);
  if (rounds_.size() != rounds_wanted_) {
    text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_.size(), rounds_wanted_);
  }
  return text;
}

ordered_json MeshResults::json_matrix(std::string_view system, double PairSample::*value) const {
  ordered_json rows = ordered_json::array();
  const std::vector<std::optional<double>> values = matrix(system, value);
  for (std::size_t from = 0; from < mesh_.nodes; ++from) {
    ordered_json row = ordered_json::array();
    for (std::size_t to = 0; to < mesh_.nodes; ++to) {
      const std::optional<double>& one = values[from * mesh_.nodes + to];
      row.push_back(one ? ordered_json(*one) : ordered_json(nullptr));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json MeshResults::to_json() const {
  ordered_json said = {{"case",
                        {{"what", "mesh"},
                         {"scheme", what_.meeting.scheme},
                         {"nodes", mesh_.nodes},
                         {"both_ways", mesh_.both_ways},
                         {"namespaces", mesh_.namespaces},
                         {"streams", mesh_.streams},
                         {"size_bytes", what_.message_bytes},
                         {"mode", name_of(what_.mode)},
                         {"wait", name_of(what_.wait)},
                         {"seconds", what_.seconds},
                         {"intervals", mesh_.intervals},
                         {"rounds", rounds_.size()},
                         {"rounds_wanted", rounds_wanted_}}},
                       {"complete", rounds_.size() == rounds_wanted_},
                       {"systems", ordered_json::object()},
                       {"ratio", ordered_json::object()},
                       {"ratio_spread", ordered_json::object()}};
  if (!rounds_.empty()) add_figures(said);
  said["failed"] = ordered_json::object();
  if (!failure_.empty()) said["failed"][failed_system_] = failure_;
  return said;
}

void MeshResults::add_figures(ordered_json& said) const {
  for (const std::string& name : systems()) {
    ordered_json& system = said["systems"][name];
    for (const MeshFigure& figure : all_mesh_figures) {
      system[figure.key] = json_of(spread(name, figure.value));
    }
    system["matrix_bytes_per_s"] = json_matrix(name, &PairSample::bytes_per_s);
    system["matrix_rate_variation"] = json_matrix(name, &PairSample::variation);
  }
  for (const MeshFigure& figure : all_mesh_figures) {
    if (!figure.compared) continue;
    if (const auto of = ratio(figure.value)) {
      said["ratio"][other_][figure.key] = of->median;
      said["ratio_spread"][other_][figure.key] = json_of(*of);
    }
    if (const auto twice = control(figure.value)) said["control"][figure.key] = json_of(*twice);
  }
}

std::string MeshResults::csv_header(std::uint64_t intervals) {
  std::string text = "size_bytes,round,system,from,to,bytes_per_s,rate_variation";
  for (std::uint64_t i = 1; i <= intervals; ++i) text += fmt::format(",bytes_per_s_{}", i);
  return text + "\n";
}

std::string MeshResults::to_csv() const {
  std::string text;
  for (std::size_t number = 0; number < rounds_.size(); ++number) {
    const MeshRound& round = rounds_[number];
    const std::array<std::pair<std::string_view, const MeshSample*>, 3> turns = {
        {{other_, round.other ? &*round.other : nullptr},
         {our_name, &round.ours},
         {other_, round.control ? &*round.control : nullptr}}};
    for (const auto& [name, sample] : turns) {
      if (sample == nullptr) continue;
      for (const PairSample& pair : sample->pairs) {
        text += fmt::format("{},{},{},{},{},{:.6g},{:.6g}", what_.message_bytes, number + 1, name,
                            pair.from, pair.to, pair.bytes_per_s, pair.variation);
        for (const double rate : pair.by_interval) text += fmt::format(",{:.6g}", rate);
        text += "\n";
      }
    }
  }
  return text;
}

}  // namespace netio::cli

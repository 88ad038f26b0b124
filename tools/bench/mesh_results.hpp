// What the rounds of a mesh gave, and what that comes to: figures of the whole, and the matrices of
// its pairs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/arguments.hpp"
#include "bench/mesh_stage.hpp"
#include "bench/results.hpp"

namespace netio::cli {

// The other system comes first and last: the second time is its control.
struct MeshRound {
  MeshSample ours;
  std::optional<MeshSample> other;
  std::optional<MeshSample> control;
};

class MeshResults {
 public:
  // `other`: the system that netio is held against; empty: none.
  MeshResults(const Case& what, const MeshArguments& mesh, std::string_view other,
              unsigned rounds_wanted)
      : what_(what), mesh_(mesh), other_(other), rounds_wanted_(rounds_wanted) {}

  void add(MeshRound round) { rounds_.push_back(std::move(round)); }
  // The rounds end with a failure of this system.
  void failed(std::string_view system, const std::string& why) {
    failed_system_ = system;
    failure_ = why;
  }
  [[nodiscard]] const Case& what() const noexcept { return what_; }
  [[nodiscard]] const MeshArguments& mesh() const noexcept { return mesh_; }
  [[nodiscard]] const std::vector<MeshRound>& rounds() const noexcept { return rounds_; }
  [[nodiscard]] bool any_failed() const noexcept { return !failure_.empty(); }
  // netio, and the other one if there is one.
  [[nodiscard]] std::vector<std::string> systems() const;
  [[nodiscard]] const MeshSample& sample(const MeshRound& round, std::string_view system) const;
  // The medians of the rounds, by `from * nodes + to`; none on the diagonal.
  [[nodiscard]] std::vector<std::optional<double>> matrix(std::string_view system,
                                                          double PairSample::*value) const;

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  [[nodiscard]] static std::string csv_header(std::uint64_t intervals);
  // A line for each pair of each turn.
  [[nodiscard]] std::string to_csv() const;

 private:
  using Value = double MeshSample::*;

  [[nodiscard]] Spread spread(std::string_view system, Value value) const;
  // Ours over the mean of both turns of the other, round by round. None if there is nothing to
  // divide by.
  [[nodiscard]] std::optional<Spread> ratio(Value value) const;
  // The second turn of the other over its first.
  [[nodiscard]] std::optional<Spread> control(Value value) const;
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string row(const std::string& system) const;
  [[nodiscard]] std::string ratio_lines() const;
  [[nodiscard]] std::string matrices(const std::string& system) const;
  [[nodiscard]] std::string silent_pairs(const std::string& system) const;
  void add_figures(nlohmann::ordered_json& said) const;
  [[nodiscard]] nlohmann::ordered_json json_matrix(std::string_view system,
                                                   double PairSample::*value) const;

  Case what_;
  MeshArguments mesh_;
  std::string other_;
  unsigned rounds_wanted_;
  std::vector<MeshRound> rounds_;
  std::string failed_system_;
  std::string failure_;
};

}  // namespace netio::cli

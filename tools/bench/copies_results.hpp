// What a stage between each two wires copied, as text, as the table of docs/any-wire.md and as
// JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/copies_stage.hpp"

namespace netio::cli {

class CopiesResults {
 public:
  void absent(const CopiesWire& wire) { absent_.push_back(wire); }
  void add(CopiesResult result) { results_.push_back(std::move(result)); }

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string to_markdown() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  std::vector<CopiesWire> absent_;
  std::vector<CopiesResult> results_;
};

}  // namespace netio::cli

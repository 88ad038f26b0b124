// What the results for several sizes of messages come to, of the commands that measure one size
// after the other.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "exit_code.hpp"
#include "report.hpp"

namespace netio::cli {

// The texts one below the other, then the remark; in JSON a list, or the only one itself.
template <typename Results>
void publish(Report& report, const std::vector<Results>& all, const std::string& remark = {}) {
  std::string text;
  for (const Results& results : all) text += results.to_text() + "\n";
  report.publish(text + remark, [&all] {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Results& results : all) json.push_back(results.to_json());
    return (json.size() == 1 ? json.front() : json).dump(2) + "\n";
  });
}

// `whole`: it was not interrupted.
template <typename Results>
ExitCode outcome(const std::vector<Results>& all, bool whole) {
  if (!whole) return ExitCode::interrupted;
  const bool failed =
      std::any_of(all.begin(), all.end(), [](const Results& one) { return one.any_failed(); });
  return failed ? ExitCode::failed : ExitCode::done;
}

}  // namespace netio::cli

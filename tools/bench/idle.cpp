#include "bench/idle.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

struct Use {
  double core_percent = 0;
  double switches_per_s = 0;
  double resident_bytes = 0;

  Use(const nlohmann::json& from, const nlohmann::json& to) {
    const auto difference = [&](const char* what) {
      return to.at(what).get<double>() - from.at(what).get<double>();
    };
    const double ns = difference("ns");
    core_percent = difference("cpu_ns") / ns * 100;
    switches_per_s = difference("switches") / ns * 1e9;
    resident_bytes = to.at("resident_bytes").get<double>();
  }
  [[nodiscard]] nlohmann::ordered_json to_json() const {
    return {{"core_percent", core_percent},
            {"context_switches_per_s", switches_per_s},
            {"resident_bytes", resident_bytes}};
  }
};

// The ends that use processes of their own, by what they are called.
using Ends = std::vector<std::pair<std::string, std::unique_ptr<End>>>;

Ends start_ends(Stage& stage, const System& system, const Case& what) {
  std::uint16_t port = what.meeting.port;
  const bool alone = what.meeting.in_one_process();
  Ends ends;
  const auto start = [&](const char* called, const char* role) {
    ends.emplace_back(called, start_worker(system, role, what, stage.places(), port, {"--idle"}));
  };
  if (!alone) start("receiver", "receive");
  start(alone ? "both" : "sender", "send");
  return ends;
}

}  // namespace

ExitCode run_idle(const BenchArguments& arguments) {
  const System& system = *find_system(our_name);
  if (program_of(system).empty()) refuse_absent(system);
  Report report(arguments.report, false);
  Stage stage(arguments);
  Case what = stage.first_case();
  try {
    const Ends ends = start_ends(stage, system, what);
    let_pass(stage.loop(), std::chrono::milliseconds(500));  // greetings are over
    std::vector<nlohmann::json> from;
    for (const auto& [called, end] : ends) from.push_back(end->ask("snap"));
    let_pass(stage.loop(), arguments.seconds);
    std::string text = fmt::format("A connected pair, {} without a message (lower is better):\n",
                                   duration_text(what.seconds));
    nlohmann::ordered_json said = {
        {"case", {{"what", "idle"}, {"scheme", what.meeting.scheme}, {"seconds", what.seconds}}}};
    double most = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto& [called, end] = ends[i];
      const Use use(from[i], end->ask("snap"));
      text += fmt::format("  {:<9} {:.3f} % of a core, {:.1f} context switches/s, {} resident\n",
                          called, use.core_percent, use.switches_per_s,
                          scaled(use.resident_bytes, "B"));
      said[called] = use.to_json();
      most = std::max(most, use.core_percent);
    }
    said["core_percent_max"] = most;
    report.publish(text, [&] { return said.dump(2) + "\n"; });
  } catch (const EndFailure& failure) {
    throw Failure(failure.what());
  } catch (const Interrupted&) {
    return ExitCode::interrupted;
  }
  return ExitCode::done;
}

}  // namespace netio::cli

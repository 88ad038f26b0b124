#include "bench/idle.hpp"

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

  Use(const nlohmann::json& from, const nlohmann::json& to) {
    const auto difference = [&](const char* what) {
      return to.at(what).get<double>() - from.at(what).get<double>();
    };
    const double ns = difference("ns");
    core_percent = difference("cpu_ns") / ns * 100;
    switches_per_s = difference("switches") / ns * 1e9;
  }
  [[nodiscard]] nlohmann::ordered_json to_json() const {
    return {{"core_percent", core_percent}, {"context_switches_per_s", switches_per_s}};
  }
};

}  // namespace

ExitCode run_idle(const BenchArguments& arguments) {
  const System& system = *find_system(our_name);
  if (program_of(system).empty()) refuse_absent(system);
  Report report(arguments.report, false);
  Stage stage(arguments);
  Case what = stage.first_case();
  try {
    std::uint16_t port = what.meeting.port;
    const auto receiver = start_worker(system, "receive", what, stage.places(), port, {"--idle"});
    const auto sender = start_worker(system, "send", what, stage.places(), port, {"--idle"});
    let_pass(stage.loop(), std::chrono::milliseconds(500));  // greetings are over
    const auto receiver_from = receiver->ask("snap");
    const auto sender_from = sender->ask("snap");
    let_pass(stage.loop(), arguments.seconds);
    const Use receiving(receiver_from, receiver->ask("snap"));
    const Use sending(sender_from, sender->ask("snap"));
    const double most = std::max(receiving.core_percent, sending.core_percent);
    report.publish(
        fmt::format("A connected pair, {} without a message:\n"
                    "  sender    {:.3f} % of a core, {:.1f} context switches/s\n"
                    "  receiver  {:.3f} % of a core, {:.1f} context switches/s\n",
                    duration_text(what.seconds), sending.core_percent, sending.switches_per_s,
                    receiving.core_percent, receiving.switches_per_s),
        [&] {
          return nlohmann::ordered_json{{"case",
                                         {{"what", "idle"},
                                          {"scheme", what.meeting.scheme},
                                          {"seconds", what.seconds}}},
                                        {"sender", sending.to_json()},
                                        {"receiver", receiving.to_json()},
                                        {"core_percent_max", most}}
                     .dump(2) +
                 "\n";
        });
  } catch (const EndFailure& failure) {
    throw Failure(failure.what());
  } catch (const Interrupted&) {
    return ExitCode::interrupted;
  }
  return ExitCode::done;
}

}  // namespace netio::cli

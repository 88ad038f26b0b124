#include "bench/surface.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/results.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// A figure of one round: what it is held against, the surface, and the first once more as the
// control.
struct Turns {
  double base = 0;
  double surface = 0;
  double control = 0;
};

// One way or round trips, and what counts of them.
struct Work {
  What what;
  Mode mode;
  const char* name;
  const char* unit;
  std::string (*show)(double);
  double (*value)(const Sample&);
  const char* base = "";  // the surface that it is held against; empty: call-backs
};
constexpr std::array<Work, 3> all_works = {
    Work{What::throughput, Mode::buffered, "messages_per_s", "messages/s",
         [](double value) { return short_number(value); },
         [](const Sample& sample) { return sample.messages_per_s; }},
    Work{What::latency, Mode::unbuffered, "rtt_us_p50", "round trip, p50 us",
         [](double value) { return fmt::format("{:.2f}", value); },
         [](const Sample& sample) {
           return static_cast<double>(sample.round_trips.at(0.5)) / 1000;
         }},
    Work{What::throughput, Mode::buffered, "cpu_ns_per_message", "CPU ns/message",
         [](double value) { return fmt::format("{:.1f}", value); },
         [](const Sample& sample) { return sample.cpu_ns_per_message(); }, "gathered"},
};

// What a surface is measured by: queues have no round trips. Segments are to be as fast as one
// message, and cost less than to put that together.
std::vector<Work> works_of(const std::string& api) {
  if (api == "queued" || api == "gathered") return {all_works[0]};
  if (api == "segments") return {all_works[0], all_works[2]};
  return {all_works[0], all_works[1]};
}
std::string base_name(const Work& work) { return *work.base == 0 ? "callbacks" : work.base; }

class Surface {
 public:
  Surface(Stage& stage, const BenchArguments& arguments)
      : stage_(stage),
        what_(stage.first_case()),
        api_(arguments.api),
        mode_(arguments.mode.value_or(Mode::buffered)),
        works_(works_of(arguments.api)),
        rounds_wanted_(arguments.rounds),
        turns_(works_.size()) {}

  ExitCode run() {
    try {
      for (unsigned number = 1; number <= rounds_wanted_; ++number) {
        stage_.note(fmt::format("round {} of {}", number, rounds_wanted_));
        std::vector<Turns> round;
        for (const Work& work : works_) {
          const double base = measured(work, work.base);
          const double surface = measured(work, api_);
          round.push_back({base, surface, measured(work, work.base)});
        }
        for (std::size_t i = 0; i < works_.size(); ++i) turns_[i].push_back(round[i]);
      }
    } catch (const EndFailure& error) {
      failure_ = error.what();
      return ExitCode::failed;
    } catch (const Interrupted&) {
      return ExitCode::interrupted;
    }
    return ExitCode::done;
  }

  [[nodiscard]] std::string to_text() const {
    std::string text = fmt::format(
        "{} over {}, messages of {}, {} one way, when idle: {}; of messages/s higher is better, of "
        "the rest lower\n",
        api_, what_.meeting.scheme, binary_bytes(what_.message_bytes), name_of(mode_),
        name_of(what_.wait));
    for (std::size_t i = 0; i < works_.size() && rounds() != 0; ++i) {
      if (i == 0 || base_name(works_[i]) != base_name(works_[i - 1])) {
        text += fmt::format("{:<20} {:>12} {:>12} {:>8} {:>18} {:>18}\n", "", base_name(works_[i]),
                            api_, "ratio", "min .. max", "control");
      }
      const Spread of = ratio(i);
      const Spread twice = control(i);
      text += fmt::format("{:<20} {:>12} {:>12} {:>8.3f} {:>18} {:>18}\n", works_[i].unit,
                          works_[i].show(spread(i, base).median),
                          works_[i].show(spread(i, surface).median), of.median,
                          fmt::format("{:.3f} .. {:.3f}", of.min, of.max),
                          fmt::format("{:.3f} .. {:.3f}", twice.min, twice.max));
    }
    if (!failure_.empty()) text += "FAILED " + failure_ + "\n";
    if (rounds() != rounds_wanted_) {
      text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds(), rounds_wanted_);
    }
    return text;
  }

  [[nodiscard]] ordered_json to_json() const {
    ordered_json said = {{"case",
                          {{"what", "surface"},
                           {"api", api_},
                           {"scheme", what_.meeting.scheme},
                           {"size_bytes", what_.message_bytes},
                           {"mode", name_of(mode_)},
                           {"wait", name_of(what_.wait)},
                           {"seconds", what_.seconds},
                           {"rounds", rounds()},
                           {"rounds_wanted", rounds_wanted_}}},
                         {"complete", rounds() == rounds_wanted_}};
    if (!failure_.empty()) said["failed"] = failure_;
    for (std::size_t i = 0; i < works_.size() && rounds() != 0; ++i) {
      const char* const name = works_[i].name;
      const std::string held = base_name(works_[i]);
      said["systems"][held][name] = json_of(spread(i, base));
      said["systems"][api_][name] = json_of(spread(i, surface));
      said["ratio"][held][name] = ratio(i).median;
      said["ratio_spread"][held][name] = json_of(ratio(i));
      said["control"][name] = json_of(control(i));
    }
    return said;
  }

 private:
  static double base(const Turns& turns) { return turns.base; }
  static double surface(const Turns& turns) { return turns.surface; }

  double measured(const Work& work, const std::string& api) {
    Case what = what_;
    what.what = work.what;
    what.mode = work.what == What::throughput ? mode_ : work.mode;
    what.api = api;
    return work.value(measure(*find_system(our_name), what, stage_.places()));
  }

  [[nodiscard]] std::size_t rounds() const noexcept { return turns_.front().size(); }
  template <typename Value>
  [[nodiscard]] Spread spread(std::size_t work, Value&& value) const {
    std::vector<double> values;
    for (const Turns& turns : turns_[work]) values.push_back(value(turns));
    return spread_of(std::move(values));
  }
  // The surface over what it is held against: of that, the mean of its two turns.
  [[nodiscard]] Spread ratio(std::size_t work) const {
    return spread(work, [](const Turns& t) { return t.surface * 2 / (t.base + t.control); });
  }
  [[nodiscard]] Spread control(std::size_t work) const {
    return spread(work, [](const Turns& t) { return t.control / t.base; });
  }

  Stage& stage_;
  Case what_;
  std::string api_;
  Mode mode_;  // one way
  std::vector<Work> works_;
  unsigned rounds_wanted_;
  std::vector<std::vector<Turns>> turns_;  // by work
  std::string failure_;
};

}  // namespace

ExitCode run_surface(const BenchArguments& arguments) {
  if (program_of(*find_system(our_name)).empty()) refuse_absent(*find_system(our_name));
  if (arguments.message_bytes.size() > 1) {
    throw Failure("surface takes one --size", "Run it for each.", ExitCode::usage);
  }
  Report report(arguments.report, false);
  Stage stage(arguments);
  Surface measured(stage, arguments);
  const ExitCode code = measured.run();
  report.publish(measured.to_text(), [&] { return measured.to_json().dump(2) + "\n"; });
  return code;
}

}  // namespace netio::cli

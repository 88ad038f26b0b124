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

// A figure of one round: call-backs, the surface, and call-backs once more as the control.
struct Turns {
  double callbacks = 0;
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
};
constexpr std::array works = {
    Work{What::throughput, Mode::buffered, "messages_per_s", "messages/s",
         [](double value) { return short_number(value); },
         [](const Sample& sample) { return sample.messages_per_s; }},
    Work{What::latency, Mode::unbuffered, "rtt_us_p50", "round trip, p50 us",
         [](double value) { return fmt::format("{:.2f}", value); },
         [](const Sample& sample) {
           return static_cast<double>(sample.round_trips.at(0.5)) / 1000;
         }},
};

class Surface {
 public:
  Surface(Stage& stage, const BenchArguments& arguments)
      : stage_(stage),
        what_(stage.first_case()),
        api_(arguments.api),
        mode_(arguments.mode.value_or(Mode::buffered)),
        works_(arguments.api == "queued" ? 1 : works.size()),
        rounds_wanted_(arguments.rounds),
        turns_(works_) {}

  ExitCode run() {
    try {
      for (unsigned number = 1; number <= rounds_wanted_; ++number) {
        stage_.note(fmt::format("round {} of {}", number, rounds_wanted_));
        std::vector<Turns> round;
        for (std::size_t i = 0; i < works_; ++i) {
          const double callbacks = measured(works[i], "");
          const double surface = measured(works[i], api_);
          round.push_back({callbacks, surface, measured(works[i], "")});
        }
        for (std::size_t i = 0; i < works_; ++i) turns_[i].push_back(round[i]);
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
        "round trips lower\n",
        api_, what_.meeting.scheme, binary_bytes(what_.message_bytes), name_of(mode_),
        name_of(what_.wait));
    text += fmt::format("{:<20} {:>12} {:>12} {:>8} {:>18} {:>18}\n", "", "call-backs", api_,
                        "ratio", "min .. max", "control");
    for (std::size_t i = 0; i < works_ && rounds() != 0; ++i) {
      const Spread of = ratio(i);
      const Spread twice = control(i);
      text += fmt::format("{:<20} {:>12} {:>12} {:>8.3f} {:>18} {:>18}\n", works[i].unit,
                          works[i].show(spread(i, callbacks).median),
                          works[i].show(spread(i, surface).median), of.median,
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
    for (std::size_t i = 0; i < works_ && rounds() != 0; ++i) {
      const char* const name = works[i].name;
      said["systems"]["callbacks"][name] = json_of(spread(i, callbacks));
      said["systems"][api_][name] = json_of(spread(i, surface));
      said["ratio"]["callbacks"][name] = ratio(i).median;
      said["ratio_spread"]["callbacks"][name] = json_of(ratio(i));
      said["control"][name] = json_of(control(i));
    }
    return said;
  }

 private:
  static double callbacks(const Turns& turns) { return turns.callbacks; }
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
  // The surface over call-backs: of those, the mean of their two turns.
  [[nodiscard]] Spread ratio(std::size_t work) const {
    return spread(work, [](const Turns& t) { return t.surface * 2 / (t.callbacks + t.control); });
  }
  [[nodiscard]] Spread control(std::size_t work) const {
    return spread(work, [](const Turns& t) { return t.control / t.callbacks; });
  }

  Stage& stage_;
  Case what_;
  std::string api_;
  Mode mode_;  // one way
  std::size_t works_;
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

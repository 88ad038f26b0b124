#include "bench/loan.hpp"

#include <algorithm>
#include <optional>
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

// A round trip is written twice and read twice, some ns a byte.
constexpr double verifying_s_per_byte = 2e-8;
// By how much two runs of one thing may differ.
constexpr double control_max = 1.5;

// Each size in turn, the smallest a second time as the control.
struct LoanRound {
  std::vector<double> by_size;  // round trips, the medians in us
  double control = 0;
};

class Loans {
 public:
  Loans(Stage& stage, const BenchArguments& arguments)
      : stage_(stage),
        what_(stage.first_case()),
        sizes_(arguments.message_bytes),
        rounds_wanted_(arguments.rounds) {
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }

  ExitCode run(bool check) {
    try {
      if (check) check_bytes();
      while (rounds_.size() < rounds_wanted_) {
        stage_.note(fmt::format("round {} of {}", rounds_.size() + 1, rounds_wanted_));
        LoanRound round;
        for (const std::size_t bytes : sizes_) round.by_size.push_back(measured(bytes, false));
        round.control = measured(sizes_.front(), false);
        rounds_.push_back(std::move(round));
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
        "Loans over {} that neither end touches, one under way, when idle: {}; lower is better\n"
        "{:<10} {:>17} {:>18} {:>11}\n",
        what_.meeting.scheme, name_of(what_.wait), "", "there and back us", "min .. max",
        "one way us");
    if (!rounds_.empty()) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const Spread times = round_trips_us(i);
        text += fmt::format("{:<10} {:>17.3f} {:>18} {:>11.3f}\n", binary_bytes(sizes_[i]),
                            times.median, fmt::format("{:.3f} .. {:.3f}", times.min, times.max),
                            times.median / 2);
      }
      text += "Ratios, round by round (1: a larger loan takes no longer):\n";
      const std::string smallest = binary_bytes(sizes_.front());
      if (sizes_.size() > 1) {
        text += line(fmt::format("{} / {}", binary_bytes(sizes_.back()), smallest), ratio());
      }
      text += line(fmt::format("control: {0} / {0}", smallest), control());
      if (is_void()) {
        text += fmt::format(
            "VOID: two runs of one thing differ by {:.2f} times. The machine was busy; run it "
            "again.\n",
            std::max(control().median, 1 / control().median));
      }
    }
    if (!failure_.empty()) text += "FAILED " + failure_ + "\n";
    if (rounds_.size() != rounds_wanted_) {
      text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_.size(), rounds_wanted_);
    }
    return text;
  }

  [[nodiscard]] ordered_json to_json() const {
    ordered_json said = {{"case",
                          {{"what", "loan"},
                           {"touch", "none"},
                           {"scheme", what_.meeting.scheme},
                           {"wait", name_of(what_.wait)},
                           {"seconds", what_.seconds},
                           {"rounds", rounds_.size()},
                           {"rounds_wanted", rounds_wanted_}}},
                         {"complete", rounds_.size() == rounds_wanted_},
                         {"sizes", ordered_json::array()}};
    if (!failure_.empty()) said["failed"] = failure_;
    if (rounds_.empty()) return said;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const Spread times = round_trips_us(i);
      said["sizes"].push_back({{"size_bytes", sizes_[i]},
                               {"rtt_us_p50", json_of(times)},
                               {"one_way_us", times.median / 2}});
    }
    // The largest over the smallest.
    said["ratio"]["smallest"]["rtt_us_p50"] = ratio().median;
    said["ratio_spread"]["smallest"]["rtt_us_p50"] = json_of(ratio());
    said["control"]["rtt_us_p50"] = json_of(control());
    said["void"] = is_void();
    return said;
  }

 private:
  // That what travels is what was sent: untimed.
  void check_bytes() {
    for (const std::size_t bytes : sizes_) {
      stage_.note(fmt::format("{}, every byte checked", binary_bytes(bytes)));
      (void)measured(bytes, true);
    }
  }

  double measured(std::size_t bytes, bool verify) {
    Case what = what_;
    what.message_bytes = bytes;
    what.verify = verify;
    if (verify) what.seconds = 0.2 + verifying_s_per_byte * static_cast<double>(bytes);
    const Sample sample = measure(*find_system(our_name), what, stage_.places());
    return static_cast<double>(sample.round_trips.at(0.5)) / 1000;
  }

  template <typename Value>
  [[nodiscard]] Spread spread(Value&& value) const {
    std::vector<double> values;
    for (const LoanRound& round : rounds_) values.push_back(value(round));
    return spread_of(std::move(values));
  }
  [[nodiscard]] Spread round_trips_us(std::size_t size) const {
    return spread([size](const LoanRound& round) { return round.by_size[size]; });
  }
  // The largest over the smallest: of that, the mean of its two runs.
  [[nodiscard]] Spread ratio() const {
    return spread([](const LoanRound& round) {
      return round.by_size.back() * 2 / (round.by_size.front() + round.control);
    });
  }
  [[nodiscard]] Spread control() const {
    return spread([](const LoanRound& round) { return round.control / round.by_size.front(); });
  }
  [[nodiscard]] bool is_void() const {
    const double twice = control().median;
    return std::max(twice, 1 / twice) > control_max;
  }
  [[nodiscard]] static std::string line(const std::string& name, const Spread& ratio) {
    return fmt::format("  {:<30} {:>8.3f}   ({:.3f} .. {:.3f})\n", name, ratio.median, ratio.min,
                       ratio.max);
  }

  Stage& stage_;
  Case what_;
  std::vector<std::size_t> sizes_;  // the smallest first
  unsigned rounds_wanted_;
  std::vector<LoanRound> rounds_;
  std::string failure_;
};

}  // namespace

ExitCode run_untouched_loans(const BenchArguments& arguments) {
  if (program_of(*find_system(our_name)).empty()) refuse_absent(*find_system(our_name));
  if (arguments.against && !arguments.against->empty()) {
    throw Failure("untouched loans are compared by their size, against nobody",
                  "Leave out --against, or add --touch all.", ExitCode::usage);
  }
  Report report(arguments.report, false);
  Stage stage(arguments);
  Loans loans(stage, arguments);
  const ExitCode code = loans.run(arguments.check);
  report.publish(loans.to_text(), [&] { return loans.to_json().dump(2) + "\n"; });
  return code;
}

}  // namespace netio::cli

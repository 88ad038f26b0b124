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
// control; of Python also its peer there.
struct Turns {
  double base = 0;
  double surface = 0;
  double control = 0;
  double peer = 0;
};

// One way or round trips, and what counts of them.
struct Work {
  What what;
  Mode mode;
  const char* name;
  const char* unit;
  std::string (*show)(double);
  double (*value)(const Sample&);
  const char* base = "";    // the surface that it is held against; empty: call-backs
  const char* python = "";  // how messages are received there; empty: requests are answered
};

double messages_per_s(const Sample& sample) { return sample.messages_per_s; }
double round_trip_us(const Sample& sample) {
  return static_cast<double>(sample.round_trips.at(0.5)) / 1000;
}
std::string show_us(double value) { return fmt::format("{:.2f}", value); }

constexpr std::array<Work, 3> all_works = {
    Work{What::throughput, Mode::buffered, "messages_per_s", "messages/s", short_number,
         messages_per_s},
    Work{What::latency, Mode::unbuffered, "rtt_us_p50", "round trip, p50 us", show_us,
         round_trip_us},
    Work{What::throughput, Mode::buffered, "cpu_ns_per_message", "CPU ns/message",
         [](double value) { return fmt::format("{:.1f}", value); },
         [](const Sample& sample) { return sample.cpu_ns_per_message(); }, "gathered"},
};
// In Python: arrays of messages whose words are summed, each message by itself, and requests.
constexpr std::array<Work, 3> python_works = {
    Work{What::throughput, Mode::buffered, "batch_messages_per_s", "messages/s, arrays",
         short_number, messages_per_s, "", "batches"},
    Work{What::throughput, Mode::buffered, "messages_per_s", "messages/s, each", short_number,
         messages_per_s, "", "messages"},
    Work{What::latency, Mode::unbuffered, "rtt_us_p50", "request, p50 us", show_us, round_trip_us},
};

// What a surface is measured by: queues have no round trips. Segments are to be as fast as one
// message, and cost less than to put that together.
std::vector<Work> works_of(const std::string& api) {
  if (api == python_name) return {python_works.begin(), python_works.end()};
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
        turns_(works_.size()),
        peer_(api_ == python_name && what_.meeting.scheme == "tcp" &&
              what_.wait == IdlePolicy::sleep) {}

  ExitCode run() {
    try {
      for (unsigned number = 1; number <= rounds_wanted_; ++number) {
        stage_.note(fmt::format("round {} of {}", number, rounds_wanted_));
        std::vector<Turns> round;
        for (const Work& work : works_) {
          const double base = measured(work, work.base);
          const double surface = measured(work, api_);
          const double control = measured(work, work.base);
          round.push_back({base, surface, control, peer_ ? measured_peer(work) : 0});
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
      const bool begins = i == 0 || base_name(works_[i]) != base_name(works_[i - 1]);
      if (begins) text += heading(base_name(works_[i]), "control");
      text += row(i, base, ratio(i), range_of(control(i)));
    }
    for (std::size_t i = 0; i < works_.size() && peer_ && rounds() != 0; ++i) {
      if (i == 0) text += heading(pyzmq_name, "");
      text += row(i, peer, peer_ratio(i), "");
    }
    if (!peer_absent_.empty()) text += fmt::format("not compared with {}\n", peer_absent_);
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
    if (!peer_absent_.empty()) said["not_compared"] = peer_absent_;
    for (std::size_t i = 0; i < works_.size() && rounds() != 0; ++i) {
      const char* const name = works_[i].name;
      const std::string held = base_name(works_[i]);
      said["systems"][held][name] = json_of(spread(i, base));
      said["systems"][api_][name] = json_of(spread(i, surface));
      said["ratio"][held][name] = ratio(i).median;
      said["ratio_spread"][held][name] = json_of(ratio(i));
      said["control"][name] = json_of(control(i));
      if (!peer_) continue;
      const std::string at(pyzmq_name);
      said["systems"][at][name] = json_of(spread(i, peer));
      said["ratio"][at][name] = peer_ratio(i).median;
      said["ratio_spread"][at][name] = json_of(peer_ratio(i));
    }
    return said;
  }

 private:
  static double base(const Turns& turns) { return turns.base; }
  static double surface(const Turns& turns) { return turns.surface; }
  static double peer(const Turns& turns) { return turns.peer; }

  // The first line of a table, and a line of it.
  [[nodiscard]] std::string heading(std::string_view held, const std::string& last) const {
    return fmt::format("{:<20} {:>12} {:>12} {:>8} {:>18}{}\n", "", held, api_, "ratio",
                       "min .. max", last_cell(last));
  }
  template <typename Value>
  [[nodiscard]] std::string row(std::size_t work, Value&& held, const Spread& of,
                                const std::string& last) const {
    const auto show = works_[work].show;
    return fmt::format("{:<20} {:>12} {:>12} {:>8.3f} {:>18}{}\n", works_[work].unit,
                       show(spread(work, held).median), show(spread(work, surface).median),
                       of.median, range_of(of), last_cell(last));
  }
  static std::string last_cell(const std::string& text) {
    return text.empty() ? text : fmt::format(" {:>18}", text);
  }
  static std::string range_of(const Spread& spread) {
    return fmt::format("{:.3f} .. {:.3f}", spread.min, spread.max);
  }

  double measured(const Work& work, const std::string& api) {
    if (api == python_name) return measured_in_python(work, *find_system(python_name));
    Case what = case_of(work);
    what.api = api;
    return work.value(measure(*find_system(our_name), what, stage_.places()));
  }
  double measured_in_python(const Work& work, const System& system) {
    Case what = case_of(work);
    what.api = work.python;
    return work.value(measure(system, what, stage_.places()));
  }
  // If this Python does not have it: 0, and it is not measured any more.
  double measured_peer(const Work& work) {
    const System& system = *find_system(pyzmq_name);
    if (program_of(*find_system(system.sender)).empty()) {
      return without_peer(fmt::format("{}: no {} to send to it", pyzmq_name, system.sender));
    }
    try {
      return measured_in_python(work, system);
    } catch (const EndFailure& error) {
      if (std::string_view(error.what()).find("no module zmq") == std::string_view::npos) throw;
      return without_peer(error.what());
    }
  }
  double without_peer(const std::string& why) {
    peer_ = false;
    peer_absent_ = why;
    return 0;
  }
  [[nodiscard]] Case case_of(const Work& work) const {
    Case what = what_;
    what.what = work.what;
    what.mode = work.what == What::throughput ? mode_ : work.mode;
    if (api_ == python_name) {
      what.sums = work.python == std::string_view("batches");
      what.requests = work.what == What::latency;
    }
    return what;
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
  [[nodiscard]] Spread peer_ratio(std::size_t work) const {
    return spread(work, [](const Turns& t) { return t.surface / t.peer; });
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
  bool peer_;                              // pyzmq is measured, too
  std::string peer_absent_;
  std::string failure_;
};

void check_python(const BenchArguments& arguments) {
  const System& python = *find_system(python_name);
  if (program_of(python).empty()) refuse_absent(python);
  if (command_for(python, {}).program.empty()) {
    throw Failure("there is no python3 in the path",
                  "Put one in front that has netio: pip install ./python, in its folder.");
  }
  const Meeting meeting = meeting_of(arguments.address);
  if (meeting.in_one_process() || meeting.has_ring()) {
    throw Failure("an end in Python is a process of its own, and asks for no ring",
                  "Give tcp://, shm:// or a fabric without ?engine=ring.", ExitCode::usage);
  }
  if (arguments.message_bytes.front() % 8 != 0) {
    throw Failure("messages are read in Python as words of 8 bytes",
                  "Give a --size that is a multiple of 8.", ExitCode::usage);
  }
}

}  // namespace

ExitCode run_surface(const BenchArguments& arguments) {
  if (program_of(*find_system(our_name)).empty()) refuse_absent(*find_system(our_name));
  if (arguments.message_bytes.size() > 1) {
    throw Failure("surface takes one --size", "Run it for each.", ExitCode::usage);
  }
  if (arguments.api == python_name) check_python(arguments);
  Report report(arguments.report, false);
  Stage stage(arguments);
  Surface measured(stage, arguments);
  const ExitCode code = measured.run();
  report.publish(measured.to_text(), [&] { return measured.to_json().dump(2) + "\n"; });
  return code;
}

}  // namespace netio::cli

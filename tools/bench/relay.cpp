#include "bench/relay.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/all_sizes.hpp"
#include "bench/relay_results.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// What has its turn in a round: a system, and how it is used.
struct Passing {
  std::string_view name;
  std::string_view system = name;
  std::vector<std::string> of_all = {};    // said to each of the three processes
  std::vector<std::string> of_relay = {};  // said to the relay alone
  bool relayed = true;
};

// More than ZeroMQ's default of 1,000, with which its processes wait for each other more often.
const std::string zmq_waiting_max = "100000";

const std::vector<Passing>& all_passings() {
  static const std::vector<Passing> all = {
      {.name = our_name},
      {.name = "raw"},
      {.name = "zmq", .of_all = {"--waiting-max", zmq_waiting_max}},
      {.name = "zmq-defaults", .system = "zmq"},
      {.name = "zmq-2-threads",
       .system = "zmq",
       .of_all = {"--waiting-max", zmq_waiting_max, "--io-threads", "2"}},
      {.name = "released", .system = our_name, .of_relay = {"--api", "released"}},
      {.name = "own", .system = our_name, .of_relay = {"--api", "own"}},
      {.name = "direct", .system = our_name, .relayed = false}};
  return all;
}

// Why it cannot do what is asked; empty if it can.
std::string unfit_relay(const Passing& passing, const BenchArguments& arguments,
                        const Meeting& from, const Meeting& to) {
  const System& system = *find_system(passing.system);
  if (system.name == our_name) return {};
  if (from.scheme != "tcp" || to.scheme != "tcp") return "relays from tcp to tcp only";
  if (arguments.wait == IdlePolicy::adaptive) return "does not know --wait adaptive";
  if (arguments.wait == IdlePolicy::spin && !system.one_thread) return "cannot spin in its proxy";
  return {};
}

// netio, and what it is held against: by default raw and zmq between sockets, else memory of one's
// own. `skipped` gets a line for each that nobody asked for by name and is not there.
std::vector<const Passing*> passings_for(const BenchArguments& arguments, const Meeting& from,
                                         const Meeting& to, std::vector<std::string>& skipped) {
  const bool sockets = from.scheme == "tcp" && to.scheme == "tcp";
  const std::vector<std::string> usual =
      sockets ? std::vector<std::string>{"raw", "zmq"} : std::vector<std::string>{"own", "direct"};
  std::vector<const Passing*> chosen = {&all_passings().front()};
  if (program_of(*find_system(our_name)).empty()) refuse_absent(*find_system(our_name));
  for (const std::string& name : arguments.against.value_or(usual)) {
    const auto found = std::find_if(all_passings().begin(), all_passings().end(),
                                    [&name](const Passing& each) { return each.name == name; });
    if (found == all_passings().end()) {
      std::vector<std::string_view> known;
      for (const Passing& each : all_passings()) known.push_back(each.name);
      throw Failure(fmt::format("{} is no relay that can be measured", name),
                    fmt::format("Known are: {}", fmt::join(known, ", ")), ExitCode::usage);
    }
    const std::string why = unfit_relay(*found, arguments, from, to);
    const System& system = *find_system(found->system);
    const bool here = !program_of(system).empty();
    if (arguments.against && !why.empty()) {
      throw Failure(fmt::format("{} {}", name, why), "Leave it out of --against.", ExitCode::usage);
    }
    if (arguments.against && !here) refuse_absent(system);
    if (!why.empty()) {
      skipped.push_back(fmt::format("{} {}", name, why));
    } else if (!here) {
      skipped.push_back(fmt::format("{} is not there (package {})", name, system.package));
    } else if (std::find(chosen.begin(), chosen.end(), &*found) == chosen.end()) {
      chosen.push_back(&*found);
    }
  }
  return chosen;
}

// What one process did between two looks at it.
struct Did {
  double messages = 0;
  double seconds = 0;
  double cpu_ns = 0;
  double switches = 0;

  Did(const nlohmann::json& before, const nlohmann::json& after)
      : messages(difference(before, after, "messages")),
        seconds(difference(before, after, "ns") / 1e9),
        cpu_ns(difference(before, after, "cpu_ns")),
        switches(difference(before, after, "switches")) {}
};

class RelayRounds {
 public:
  RelayRounds(Stage& stage, std::vector<const Passing*> passings, std::string floor, Meeting to)
      : stage_(stage),
        passings_(std::move(passings)),
        floor_(std::move(floor)),
        to_(std::move(to)) {}

  // False after Ctrl-C; the results hold the whole rounds before it.
  bool run(RelayResults& results, unsigned rounds, bool check_bytes) {
    const Case what = results.what();
    try {
      if (check_bytes) {
        stage_.note(fmt::format("{}, every byte checked", binary_bytes(what.message_bytes)));
        Case checking = what;
        checking.verify = true;
        checking.seconds = std::min(checking.seconds, 0.3);
        for (const Passing* const each : passings_) (void)try_one(*each, checking, results);
      }
      for (unsigned number = 1; number <= rounds; ++number) {
        stage_.note(
            fmt::format("{}, round {} of {}", binary_bytes(what.message_bytes), number, rounds));
        results.add(one(what, results));
      }
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  // The floor at both ends of the round.
  RelayRound one(const Case& what, RelayResults& results) {
    RelayRound round;
    const auto take = [&](const Passing& each) {
      if (auto sample = try_one(each, what, results)) round.samples.emplace(each.name, *sample);
    };
    const auto is_floor = [this](const Passing* each) { return each->name == floor_; };
    const auto floor = std::find_if(passings_.begin(), passings_.end(), is_floor);
    if (floor != passings_.end()) take(**floor);
    for (const Passing* const each : passings_) {
      if (!is_floor(each)) take(*each);
    }
    if (floor != passings_.end()) round.control = try_one(**floor, what, results);
    return round;
  }

  // One that fails is left out from then on.
  std::optional<RelaySample> try_one(const Passing& passing, const Case& what,
                                     RelayResults& results) {
    if (failed_.count(&passing) != 0) return std::nullopt;
    try {
      return measured(passing, what);
    } catch (const EndFailure& failure) {
      failed_.insert(&passing);
      results.failed(std::string(passing.name), failure.what());
      stage_.note(fmt::format("{} is left out: {}", passing.name, failure.what()));
      return std::nullopt;
    }
  }

  RelaySample measured(const Passing& passing, const Case& what) {
    const System& system = *find_system(passing.system);
    const Places places = stage_.places_with_relay();
    Case beyond = what;  // between the relay and the receiver
    beyond.meeting = to_;
    std::uint16_t to_port = to_.port;
    const auto receiver = start_worker(system, "receive", beyond, places, to_port, passing.of_all);
    std::unique_ptr<End> relay;
    std::uint16_t port = passing.relayed ? what.meeting.port : to_port;
    if (passing.relayed) relay = start_relay(passing, what, places, to_port, port);
    const auto sender =
        start_worker(system, "send", passing.relayed ? what : beyond, places, port, passing.of_all);
    let_pass(stage_.loop(), warm_up(what));
    // In this order both times: the windows are of one length.
    const auto look = [&] {
      return std::array<nlohmann::json, 3>{receiver->ask("snap"), sender->ask("snap"),
                                           relay ? relay->ask("snap") : nlohmann::json()};
    };
    const auto before = look();
    let_messages_pass(stage_.loop(), what, *receiver, before[0]);
    const auto after = look();
    // Nobody must find the next one gone before it was told to stop.
    check_faults(*sender, stop_worker(*sender));
    if (relay) check_faults(*relay, stop_worker(*relay));
    check_faults(*receiver, after[0]);

    const Did received(before[0], after[0]);
    if (received.messages <= 0) {
      throw EndFailure(fmt::format("{}: nothing arrived", receiver->name()));
    }
    RelaySample sample;
    sample.messages_per_s = received.messages / received.seconds;
    sample.bytes_per_s = sample.messages_per_s * static_cast<double>(what.message_bytes);
    sample.cpu_ns = (received.cpu_ns + Did(before[1], after[1]).cpu_ns) / received.messages;
    if (!relay) return sample;
    const Did relayed(before[2], after[2]);
    sample.relay_cpu_ns = relayed.cpu_ns / received.messages;
    sample.cpu_ns += sample.relay_cpu_ns;
    sample.switches_per_s = relayed.switches / relayed.seconds;
    sample.counts = after[2].contains("copies");
    if (sample.counts && relayed.messages > 0) {
      const auto each = [&](const char* counter) {
        return difference(before[2], after[2], counter) / relayed.messages;
      };
      sample.copies = each("copies");
      sample.bytes_copied = each("bytes_copied");
      sample.pages = each("pages_out");
    }
    return sample;
  }

  std::unique_ptr<End> start_relay(const Passing& passing, const Case& what, const Places& places,
                                   std::uint16_t to_port, std::uint16_t& port) const {
    std::vector<std::string> words = passing.of_all;
    words.insert(words.end(), passing.of_relay.begin(), passing.of_relay.end());
    if (to_.in_memory()) {
      words.insert(words.end(), {"--to-name", to_.name});
    } else {
      words.insert(words.end(), {"--to-host", to_.host, "--to-port", std::to_string(to_port)});
    }
    if (to_.on_fabric()) words.insert(words.end(), {"--to-provider", to_.provider});
    return start_worker(*find_system(passing.system), "relay", what, places, port, words);
  }

  Stage& stage_;
  std::vector<const Passing*> passings_;
  std::string floor_;
  Meeting to_;
  std::set<const Passing*> failed_;
};

// Where the relay meets the receiver.
Meeting second_meeting(const BenchArguments& arguments, const Meeting& from) {
  if (arguments.to.empty() && from.port != 0) {
    throw Failure("both sides of the relay cannot have one port",
                  "Say --to, or give port 0, which is any that is free.", ExitCode::usage);
  }
  Meeting to =
      meeting_without_ring(arguments.to.empty() ? arguments.address : arguments.to, "a relay");
  if (from.in_one_process() || to.in_one_process()) {
    throw Failure("a relay is measured between processes", "Give a tcp or a shm address.",
                  ExitCode::usage);
  }
  if (to.in_memory() && to.name == from.name) to.name += "-to";
  return to;
}

}  // namespace

ExitCode run_bench_relay(const BenchArguments& arguments) {
  const Meeting from = meeting_without_ring(arguments.address, "a relay");
  const Meeting to = second_meeting(arguments, from);
  std::vector<std::string> skipped;
  const std::vector<const Passing*> passings = passings_for(arguments, from, to, skipped);
  std::vector<std::string> names;
  names.reserve(passings.size());
  for (const Passing* const each : passings) names.emplace_back(each->name);
  // The first that netio is held against.
  const std::string floor = names.size() > 1 ? names[1] : std::string();
  Report report(arguments.report, false);
  Stage stage(arguments);
  for (const std::string& line : skipped) stage.note(line);
  std::vector<RelayResults> all;
  bool whole = true;
  for (const std::size_t bytes : arguments.message_bytes) {
    Case what = stage.first_case();
    what.message_bytes = bytes;
    all.emplace_back(what, to.scheme, names, floor, arguments.rounds);
    whole =
        RelayRounds(stage, passings, floor, to).run(all.back(), arguments.rounds, arguments.check);
    if (!whole) break;
  }
  publish(report, all);
  return outcome(all, whole);
}

}  // namespace netio::cli

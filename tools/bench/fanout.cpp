#include "bench/fanout.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/audience.hpp"
#include "bench/fanout_results.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::string_view push_name = "push";

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Failure(what, advice, ExitCode::usage);
}

// "1000x8": netio itself with 1,000 tags, all wanted by each of 8 subscribers.
std::optional<Contender> another_audience(const std::string& name, const FanoutArguments& fanout) {
  const std::size_t by = name.find('x');
  if (by == std::string::npos || name.empty() || name.front() < '0' || name.front() > '9') {
    return std::nullopt;
  }
  Contender contender{name, find_system(our_name), fanout, false};
  try {
    const std::uint64_t tags = parse_count(name.substr(0, by));
    const std::uint64_t subscribers = parse_count(name.substr(by + 1));
    if (tags == 0 || tags > 10'000'000 || subscribers == 0 || subscribers > 10'000) {
      throw std::invalid_argument("too few or too many");
    }
    contender.fanout.tags = static_cast<std::uint32_t>(tags);
    contender.fanout.subscribers = static_cast<std::uint32_t>(subscribers);
  } catch (const std::invalid_argument&) {
    refuse(name + " is no number of tags and of subscribers",
           "Say for instance --against 1000x1: 1,000 tags, one subscriber.");
  }
  contender.fanout.recipients.reset();
  contender.fanout.stopped = 0;
  return contender;
}

// Why a Push does not do what is asked; empty if it does.
std::string unfit_for_push(const FanoutArguments& fanout) {
  if (fanout.subscribers != 1) return "gives each message to one receiver: for --subscribers 1";
  if (fanout.policy != "block") return "waits for its receiver: for --policy block";
  if (fanout.recipients == 0U) return "has a receiver that takes all: not for --unsubscribed";
  return {};
}

void check(const BenchArguments& arguments, const Meeting& meeting) {
  const FanoutArguments& fanout = arguments.fanout;
  if (meeting.in_one_process()) {
    refuse("publishers and subscribers are measured between processes",
           "Give a shm or a tcp address.");
  }
  if (arguments.message_bytes.size() > 1) refuse("fanout takes one --size", "Run it for each.");
  if (fanout.recipients.value_or(0) > fanout.subscribers) {
    refuse("there are more --recipients than --subscribers", "Have more --subscribers.");
  }
  if (fanout.stopped >= fanout.subscribers && fanout.stopped != 0) {
    refuse("with --stop nobody would be left to measure", "Have more --subscribers.");
  }
  if (fanout.stopped != 0 && fanout.policy == "block") {
    refuse("a publisher waits for ever for one that is stopped, under --policy block",
           "Say --policy drop_new, for instance.");
  }
}

// netio first, as asked for; then the references and the peers.
std::vector<Contender> contenders_for(const BenchArguments& arguments, const Meeting& meeting,
                                      std::vector<std::string>& skipped) {
  std::vector<Contender> chosen;
  const FanoutArguments& fanout = arguments.fanout;
  BenchArguments of_peers = arguments;
  const std::string unfit = unfit_for_push(fanout);
  const Contender push{std::string(push_name), find_system(our_name), fanout, true};
  if (arguments.against) {
    of_peers.against->clear();
    std::set<std::string> seen;
    for (const std::string& name : *arguments.against) {
      if (!seen.insert(name).second) continue;
      if (auto other = another_audience(name, fanout)) {
        chosen.push_back(std::move(*other));
      } else if (name != push_name) {
        of_peers.against->push_back(name);
      } else if (unfit.empty()) {
        chosen.push_back(push);
      } else {
        refuse(fmt::format("{} {}", name, unfit), "Leave it out of --against.");
      }
    }
  } else if (unfit.empty()) {
    chosen.push_back(push);
  }
  std::vector<Contender> all;
  for (const System* const system : systems_for(of_peers, meeting, skipped)) {
    all.push_back({std::string(system->name), system, fanout, false});
  }
  all.insert(all.begin() + 1, chosen.begin(), chosen.end());
  return all;
}

class FanoutRounds {
 public:
  FanoutRounds(Stage& stage, std::vector<Contender> contenders, std::string reference)
      : stage_(stage), contenders_(std::move(contenders)), reference_(std::move(reference)) {}

  // False after Ctrl-C; the results hold the whole rounds before it.
  bool run(FanoutResults& results, unsigned rounds, bool check_bytes) {
    const Case what = stage_.first_case();
    try {
      if (check_bytes) {
        stage_.note("every byte checked");
        Case checking = what;
        checking.verify = true;
        checking.seconds = std::min(checking.seconds, 0.3);
        for (const Contender& contender : contenders_) (void)try_one(contender, checking, results);
      }
      for (unsigned number = 1; number <= rounds; ++number) {
        stage_.note(fmt::format("round {} of {}", number, rounds));
        results.add(one(what, results));
      }
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  FanoutRound one(const Case& what, FanoutResults& results) {
    FanoutRound round;
    for (const Contender& contender : contenders_) {
      if (auto sample = try_one(contender, what, results)) {
        round.samples.emplace(contender.name, std::move(*sample));
      }
    }
    for (const Contender& contender : contenders_) {
      if (contender.name == reference_) round.control = try_one(contender, what, results);
    }
    return round;
  }

  // One that fails is left out from then on.
  std::optional<FanoutSample> try_one(const Contender& contender, const Case& what,
                                      FanoutResults& results) {
    if (failed_.count(contender.name) != 0) return std::nullopt;
    try {
      return Audience(stage_, contender, what).measure();
    } catch (const EndFailure& failure) {
      failed_.insert(contender.name);
      results.failed(contender.name, failure.what());
      stage_.note(fmt::format("{} is left out: {}", contender.name, failure.what()));
      return std::nullopt;
    }
  }

  Stage& stage_;
  std::vector<Contender> contenders_;
  std::string reference_;
  std::set<std::string> failed_;
};

}  // namespace

ExitCode run_fanout(const BenchArguments& arguments) {
  const Meeting meeting = meeting_without_ring(arguments.address, "a fanout");
  check(arguments, meeting);
  std::vector<std::string> skipped;
  std::vector<Contender> contenders = contenders_for(arguments, meeting, skipped);
  std::vector<std::string> names;
  std::string reference;
  for (const Contender& contender : contenders) {
    // The first that is netio too, but not the one that is asked about.
    if (reference.empty() && !names.empty() && contender.system->name == our_name) {
      reference = contender.name;
    }
    names.push_back(contender.name);
  }
  Report report(arguments.report, false);
  Stage stage(arguments);
  for (const std::string& line : skipped) stage.note(line);
  FanoutResults results(stage.first_case(), arguments.fanout, std::move(names), reference,
                        arguments.rounds);
  FanoutRounds rounds(stage, std::move(contenders), reference);
  const bool whole = rounds.run(results, arguments.rounds, arguments.check);
  report.publish(results.to_text(), [&] { return results.to_json().dump(2) + "\n"; });
  if (!whole) return ExitCode::interrupted;
  return results.any_failed() ? ExitCode::failed : ExitCode::done;
}

}  // namespace netio::cli

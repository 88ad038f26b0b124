#include "bench/connections.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/results.hpp"
#include "bench/stage.hpp"
#include "limits.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint32_t sender_processes = 4;
// Until everybody is connected and greeted, and what that took is given back.
std::chrono::nanoseconds settling(const Case& what) {
  return std::min(std::chrono::nanoseconds(std::chrono::seconds(1)), 5 * what.duration());
}

double resident(End& end) { return end.ask("snap").at("resident_bytes").get<double>(); }

// What the buffers of all TCP sockets of this machine hold, whoever has them.
double socket_bytes() {
  double pages = 0;
  if (std::FILE* const file = std::fopen("/proc/net/sockstat", "re")) {
    std::array<char, 256> line;
    unsigned long value = 0;
    while (std::fgets(line.data(), line.size(), file) != nullptr) {
      if (std::sscanf(line.data(), "TCP: inuse %*u orphan %*u tw %*u alloc %*u mem %lu", &value) ==
          1) {
        pages = static_cast<double>(value);
      }
    }
    std::fclose(file);
  }
  return pages * 4096;
}

// A receiver and the processes that send to it, each with its share of the connections.
class Crowd {
 public:
  Crowd(Stage& stage, const System& system, const Case& what, std::uint32_t count,
        const std::vector<std::string>& more) {
    std::uint16_t port = what.meeting.port;
    Case all = what;
    all.connections = count;
    receiver_ = start_worker(system, "receive", all, stage.places(), port, more);
    receiver_alone_bytes_ = resident(*receiver_);
    std::uint32_t first = 0;
    for (std::uint32_t left = std::min(sender_processes, count); left > 0; --left) {
      Case share = what;
      share.connections = (count - first) / left;
      std::vector<std::string> arguments = more;
      arguments.insert(arguments.end(), {"--connection-first", std::to_string(first)});
      senders_.push_back(start_worker(system, "send", share, stage.places(), port, arguments));
      first += share.connections;
    }
  }

  [[nodiscard]] End& receiver() noexcept { return *receiver_; }
  [[nodiscard]] double receiver_alone_bytes() const noexcept { return receiver_alone_bytes_; }
  [[nodiscard]] double senders_resident() {
    double sum = 0;
    for (const auto& sender : senders_) sum += resident(*sender);
    return sum;
  }
  [[nodiscard]] std::size_t processes() const noexcept { return senders_.size(); }
  void stop() {
    for (const auto& sender : senders_) (void)stop_worker(*sender);
  }

 private:
  std::unique_ptr<End> receiver_;
  double receiver_alone_bytes_ = 0;
  std::vector<std::unique_ptr<End>> senders_;
};

struct Memory {
  double receiver_bytes = 0;  // resident, of each idle connection
  double sender_bytes = 0;
  double socket_bytes = 0;  // in the kernel, both sides
};

Memory measure_memory(Stage& stage, const System& system, const Case& what, std::uint32_t count) {
  const auto n = static_cast<double>(count);
  double one_each = 0;
  std::uint32_t processes = std::min(sender_processes, count);
  {
    Crowd few(stage, system, what, processes, {"--idle"});
    let_pass(stage.loop(), settling(what));
    one_each = few.senders_resident();
    few.stop();
  }
  const double sockets_before = socket_bytes();
  Crowd crowd(stage, system, what, count, {"--idle"});
  let_pass(stage.loop(), settling(what));
  Memory memory;
  memory.receiver_bytes = (resident(crowd.receiver()) - crowd.receiver_alone_bytes()) / n;
  memory.sender_bytes =
      (crowd.senders_resident() - one_each) / std::max(1.0, n - static_cast<double>(processes));
  memory.socket_bytes = (socket_bytes() - sockets_before) / n;
  crowd.stop();
  return memory;
}

Sample measure_rate(Stage& stage, const System& system, const Case& what, std::uint32_t count) {
  Crowd crowd(stage, system, what, count, {});
  let_pass(stage.loop(), settling(what));
  const json from = crowd.receiver().ask("snap");
  let_messages_pass(stage.loop(), what, crowd.receiver(), from);
  const json to = crowd.receiver().ask("snap");
  crowd.stop();
  const auto difference = [&](const char* key) {
    return to.at(key).get<double>() - from.at(key).get<double>();
  };
  if (const auto faults = to.at("faults").get<std::uint64_t>(); faults != 0) {
    throw EndFailure(
        fmt::format("{} found {} messages wrong or out of order", system.name, faults));
  }
  if (difference("messages") <= 0) throw EndFailure(fmt::format("{}: nothing came", system.name));
  Sample sample;
  sample.messages_per_s = difference("messages") / difference("ns") * 1e9;
  sample.bytes_per_s = sample.messages_per_s * static_cast<double>(what.message_bytes);
  sample.receiver.cpu_ns_per_message = difference("cpu_ns") / difference("messages");
  return sample;
}

// What came of one system.
struct Outcome {
  Memory memory;
  std::vector<double> rates;   // of the receiver, by round
  std::vector<double> cpu_ns;  // of the receiver for each message, by round
};

class Comparison {
 public:
  Comparison(Stage& stage, const BenchArguments& arguments, std::vector<const System*> systems)
      : stage_(stage),
        what_(stage.first_case()),
        count_(arguments.connections),
        rounds_wanted_(arguments.rounds),
        systems_(std::move(systems)) {}

  ExitCode run() {
    try {
      for (const System* const system : systems_) {
        stage_.note(fmt::format("{}: {} idle connections", system->name, count_));
        outcomes_[std::string(system->name)].memory =
            measure_memory(stage_, *system, what_, count_);
      }
      for (; rounds_ < rounds_wanted_; ++rounds_) round();
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
        "{} connections, {} messages of {}; of messages/s higher is better, of the rest lower\n",
        grouped(count_), name_of(what_.mode), binary_bytes(what_.message_bytes));
    for (const auto& [name, outcome] : outcomes_) {
      if (outcome.rates.empty()) continue;
      const Spread rate = spread_of(outcome.rates);
      text += fmt::format(
          "{:<6} {} connected, {} ({} .. {})\n"
          "       an idle connection: {} resident in the sender, {} in the receiver{}\n",
          name, grouped(count_), scaled(rate.median, "messages/s"), scaled(rate.min, "messages/s"),
          scaled(rate.max, "messages/s"), scaled(outcome.memory.sender_bytes, "B"),
          scaled(outcome.memory.receiver_bytes, "B"), in_kernel(outcome));
      if (name == our_name) {
        const Spread cpu = spread_of(outcome.cpu_ns);
        const Spread ratio = ratio_of(outcome.cpu_ns, alone_cpu_ns_);
        text += fmt::format(
            "       CPU of the receiver: {:.1f} ns/message ({:.1f} .. {:.1f}), {:.3f} ({:.3f} .. "
            "{:.3f}) of what it is with one connection\n",
            cpu.median, cpu.min, cpu.max, ratio.median, ratio.min, ratio.max);
        continue;
      }
      const Spread ratio = ratio_of(outcomes_.at(std::string(our_name)).rates, outcome.rates);
      text += fmt::format("  {} / {}   {:.3f}   ({:.3f} .. {:.3f})\n", our_name, name, ratio.median,
                          ratio.min, ratio.max);
    }
    if (!failure_.empty()) text += "FAILED " + failure_ + "\n";
    if (rounds_ != rounds_wanted_) {
      text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_, rounds_wanted_);
    }
    return text;
  }

  [[nodiscard]] ordered_json to_json() const {
    ordered_json said = {{"case",
                          {{"what", "connections"},
                           {"scheme", what_.meeting.scheme},
                           {"count", count_},
                           {"size_bytes", what_.message_bytes},
                           {"rounds", rounds_},
                           {"rounds_wanted", rounds_wanted_}}},
                         {"complete", rounds_ == rounds_wanted_},
                         {"systems", ordered_json::object()},
                         {"ratio", ordered_json::object()}};
    for (const auto& [name, outcome] : outcomes_) {
      if (outcome.rates.empty()) continue;
      said["systems"][name] = {
          {"connected", count_},
          {"messages_per_s", json_of(spread_of(outcome.rates))},
          {"receiver_cpu_ns_per_message", json_of(spread_of(outcome.cpu_ns))},
          {"sender_resident_bytes_per_connection", outcome.memory.sender_bytes},
          {"receiver_resident_bytes_per_connection", outcome.memory.receiver_bytes},
          {"kernel_bytes_per_connection", outcome.memory.socket_bytes}};
      if (name == our_name) {
        said["systems"][name]["receiver_cpu_ns_per_message_to_one_connection"] =
            json_of(ratio_of(outcome.cpu_ns, alone_cpu_ns_));
        continue;
      }
      const Spread ratio = ratio_of(outcomes_.at(std::string(our_name)).rates, outcome.rates);
      said["ratio"][name] = {{"messages_per_s", ratio.median}};
      said["ratio_spread"][name] = {{"messages_per_s", json_of(ratio)}};
    }
    if (!failure_.empty()) said["failed"] = failure_;
    return said;
  }

 private:
  void round() {
    stage_.note(fmt::format("round {} of {}", rounds_ + 1, rounds_wanted_));
    std::map<std::string, Sample> samples;
    double alone_cpu_ns = 0;
    for (const System* const system : systems_) {
      samples[std::string(system->name)] = measure_rate(stage_, *system, what_, count_);
      if (system->name != our_name) continue;
      alone_cpu_ns = measure_rate(stage_, *system, what_, 1).receiver.cpu_ns_per_message;
    }
    for (const auto& [name, sample] : samples) {
      outcomes_[name].rates.push_back(sample.messages_per_s);
      outcomes_[name].cpu_ns.push_back(sample.receiver.cpu_ns_per_message);
    }
    alone_cpu_ns_.push_back(alone_cpu_ns);
  }

  [[nodiscard]] std::string in_kernel(const Outcome& outcome) const {
    if (what_.meeting.in_memory()) return " (what both map counts in both)";
    return fmt::format(", {} in buffers of the kernel here",
                       scaled(outcome.memory.socket_bytes, "B"));
  }

  [[nodiscard]] static Spread ratio_of(const std::vector<double>& ours,
                                       const std::vector<double>& theirs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < theirs.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
    return spread_of(std::move(ratios));
  }

  Stage& stage_;
  Case what_;
  std::uint32_t count_;
  unsigned rounds_wanted_;
  unsigned rounds_ = 0;
  std::vector<const System*> systems_;
  std::map<std::string, Outcome> outcomes_;
  std::vector<double> alone_cpu_ns_;  // ours with one connection, by round
  std::string failure_;
};

// Looked at first: who runs out waits for connections that cannot come.
void refuse_too_many(const BenchArguments& arguments, const Meeting& meeting) {
  constexpr std::uint64_t besides = 64;
  constexpr std::uint64_t each_in_memory = 7;  // the guide's table says which
  const std::uint64_t wanted =
      besides + arguments.connections * (meeting.in_memory() ? each_in_memory : 1);
  const std::optional<std::uint64_t> open_files = read_limits().open_files.soft;
  if (!arguments.remote.empty() || !open_files || wanted <= *open_files) return;
  throw Failure(fmt::format("{} connections take about {} open files in the receiver, and a "
                            "process may have {} here",
                            grouped(arguments.connections), grouped(wanted), grouped(*open_files)),
                "Raise the limit (ulimit -n), or lower --count.");
}

}  // namespace

ExitCode run_connections(const BenchArguments& arguments) {
  std::vector<std::string> skipped;
  const Meeting meeting = meeting_without_ring(arguments.address, "a number of connections");
  if (meeting.in_one_process()) {
    throw Failure("many connections are measured between processes", "Give a shm or a tcp address.",
                  ExitCode::usage);
  }
  refuse_too_many(arguments, meeting);
  std::vector<const System*> systems = systems_for(arguments, meeting, skipped);
  Report report(arguments.report, false);
  Stage stage(arguments);
  for (const std::string& line : skipped) stage.note(line);
  Comparison comparison(stage, arguments, std::move(systems));
  const ExitCode code = comparison.run();
  report.publish(comparison.to_text(), [&] { return comparison.to_json().dump(2) + "\n"; });
  return code;
}

}  // namespace netio::cli

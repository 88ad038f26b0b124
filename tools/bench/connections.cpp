#include "bench/connections.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/results.hpp"
#include "bench/stage.hpp"
#include "report.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint32_t sender_processes = 4;
constexpr auto settling = std::chrono::milliseconds(1000);

double resident(End& end) { return end.ask("snap").at("resident_bytes").get<double>(); }

// What the kernel holds for the TCP sockets of this machine: both ends, if both are here.
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
    std::uint16_t port = what.port;
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
    let_pass(stage.loop(), settling);
    one_each = few.senders_resident();
    few.stop();
  }
  const double sockets_before = socket_bytes();
  Crowd crowd(stage, system, what, count, {"--idle"});
  let_pass(stage.loop(), settling);
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
  let_pass(stage.loop(), settling);
  const json from = crowd.receiver().ask("snap");
  let_pass(stage.loop(), std::chrono::nanoseconds(static_cast<std::int64_t>(what.seconds * 1e9)));
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

struct Outcome {
  std::uint32_t connected = 0;
  Memory memory;
  std::vector<double> rates;
};

std::string text_of(const std::string& name, const Outcome& outcome, const Spread& rate) {
  return fmt::format(
      "{:<6} {} connected, {} ({} .. {}); resident per idle connection {} here, {} there; "
      "kernel {}\n",
      name, grouped(outcome.connected), scaled(rate.median, "messages/s"),
      scaled(rate.min, "messages/s"), scaled(rate.max, "messages/s"),
      scaled(outcome.memory.sender_bytes, "B"), scaled(outcome.memory.receiver_bytes, "B"),
      scaled(outcome.memory.socket_bytes, "B"));
}

}  // namespace

ExitCode run_connections(const BenchArguments& arguments) {
  std::vector<std::string> skipped;
  const std::vector<const System*> systems = systems_for(arguments, skipped);
  Report report(arguments.report, false);
  Stage stage(arguments);
  const Case what = stage.first_case();
  const std::uint32_t count = arguments.connections;
  std::map<std::string, Outcome> outcomes;
  unsigned rounds_done = 0;
  std::string failure;
  bool interrupted = false;
  try {
    for (const System* const system : systems) {
      const std::string name(system->name);
      stage.note(fmt::format("{}: {} idle connections", name, count));
      outcomes[name].memory = measure_memory(stage, *system, what, count);
      outcomes[name].connected = count;  // or an end would have failed
    }
    for (; rounds_done < arguments.rounds; ++rounds_done) {
      stage.note(fmt::format("round {} of {}", rounds_done + 1, arguments.rounds));
      std::map<std::string, double> rates;
      for (const System* const system : systems) {
        rates[std::string(system->name)] = measure_rate(stage, *system, what, count).messages_per_s;
      }
      for (const auto& [name, rate] : rates) outcomes[name].rates.push_back(rate);
    }
  } catch (const EndFailure& error) {
    failure = error.what();
  } catch (const Interrupted&) {
    interrupted = true;
  }
  std::string text = fmt::format("{} connections, {} messages of {}\n", grouped(count),
                                 what.mode == Mode::buffered ? "buffered" : "unbuffered",
                                 binary_bytes(what.message_bytes));
  ordered_json said = {{"case",
                        {{"what", "connections"},
                         {"count", count},
                         {"size_bytes", what.message_bytes},
                         {"rounds", rounds_done},
                         {"rounds_wanted", arguments.rounds}}},
                       {"complete", rounds_done == arguments.rounds},
                       {"systems", ordered_json::object()},
                       {"ratio", ordered_json::object()}};
  const auto spread_json = [](const Spread& spread) {
    return ordered_json{{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
  };
  for (const auto& [name, outcome] : outcomes) {
    if (outcome.rates.empty()) continue;
    const Spread rate = spread_of(outcome.rates);
    text += text_of(name, outcome, rate);
    said["systems"][name] = {
        {"connected", outcome.connected},
        {"messages_per_s", spread_json(rate)},
        {"sender_resident_bytes_per_connection", outcome.memory.sender_bytes},
        {"receiver_resident_bytes_per_connection", outcome.memory.receiver_bytes},
        {"kernel_bytes_per_connection", outcome.memory.socket_bytes}};
    if (name == our_name) continue;
    std::vector<double> ratios;
    const std::vector<double>& ours = outcomes[std::string(our_name)].rates;
    for (std::size_t i = 0; i < outcome.rates.size(); ++i) {
      ratios.push_back(ours[i] / outcome.rates[i]);
    }
    const Spread ratio = spread_of(ratios);
    text += fmt::format("  {} / {:<18} {:.3f}   ({:.3f} .. {:.3f})\n", our_name, name, ratio.median,
                        ratio.min, ratio.max);
    said["ratio"][name] = {{"messages_per_s", ratio.median}};
  }
  if (!failure.empty()) text += "FAILED " + failure + "\n";
  said["failed"] = failure;
  if (rounds_done != arguments.rounds) {
    text += fmt::format("INCOMPLETE: {} of {} rounds\n", rounds_done, arguments.rounds);
  }
  report.publish(text, [&] { return said.dump(2) + "\n"; });
  if (interrupted) return ExitCode::interrupted;
  return failure.empty() ? ExitCode::done : ExitCode::failed;
}

}  // namespace netio::cli

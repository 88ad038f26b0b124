#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace netio::cli {

namespace {

using nlohmann::json;

// What an end did between two looks at it.
struct Span {
  double messages = 0;
  double seconds = 0;
  double cpu_ns = 0;
  double switches = 0;

  Span(const json& from, const json& to)
      : messages(difference(from, to, "messages")),
        seconds(difference(from, to, "ns") / 1e9),
        cpu_ns(difference(from, to, "cpu_ns")),
        switches(difference(from, to, "switches")) {}

  [[nodiscard]] EndSample sample(double of_messages) const {
    return {of_messages > 0 ? cpu_ns / of_messages : 0, seconds > 0 ? switches / seconds : 0};
  }
};

Sample measure_workers(const System& system, const Case& what, const Places& places) {
  const bool asks = what.asks();
  std::uint16_t port = what.meeting.port;
  const bool alone = what.meeting.in_one_process();  // both ends are the dialer's process
  const std::unique_ptr<End> binder =
      alone ? nullptr : start_worker(system, asks ? "reply" : "receive", what, places, port);
  const auto dialer = start_worker(system, asks ? "request" : "send", what, places, port);
  End& receiver = alone ? *dialer : *binder;
  let_pass(dialer->loop(), warm_up(what));
  if (asks) (void)dialer->ask("record");
  const json binder_from = receiver.ask("snap");
  const json dialer_from = dialer->ask("snap");
  let_pass(dialer->loop(), what.duration());
  const json binder_to = receiver.ask("snap");
  const json dialer_to = dialer->ask("snap");
  // The other end must not find its peer gone before it was told to stop.
  const json dialer_last = stop_worker(*dialer);
  check_faults(*dialer, dialer_last);
  check_faults(receiver, binder_to);

  const Span binder_did(binder_from, binder_to);
  const Span dialer_did(dialer_from, dialer_to);
  const double messages = asks ? dialer_did.messages : binder_did.messages;
  const double seconds = asks ? dialer_did.seconds : binder_did.seconds;
  if (messages <= 0) throw EndFailure(fmt::format("{}: nothing arrived", receiver.name()));
  Sample sample;
  sample.messages_per_s = messages / seconds;
  sample.bytes_per_s = sample.messages_per_s * static_cast<double>(what.message_bytes);
  sample.sender = dialer_did.sample(messages);
  if (!alone) sample.receiver = binder_did.sample(messages);
  if (asks) {
    for (const json& step : dialer_last.at("round_trips")) {
      sample.round_trips.add(step.at(0).get<std::uint64_t>(), step.at(1).get<std::uint64_t>());
    }
  }
  return sample;
}

// iperf3 has no messages: its bytes are counted as if they were.
Sample measure_iperf3(const System& system, const Case& what, const Places& places) {
  constexpr std::uint16_t port_default = 5201;
  const std::string port =
      std::to_string(what.meeting.port != 0 ? what.meeting.port : port_default);
  const std::string name(system.name);
  const auto server =
      places.there.start(name + " (receiving)", name,
                         {"-s", "-1", "-B", what.meeting.host, "-p", port, "--forceflush"});
  for (std::string line; line.find("listening") == std::string::npos;) {
    line = server->hear(std::chrono::seconds(10));
    if (line.find("error") != std::string::npos)
      throw EndFailure(fmt::format("{}: {}", name, line));
  }
  const auto seconds = static_cast<int>(std::max(1.0, std::round(what.seconds)));
  const auto client = places.here.start(
      name + " (sending)", name,
      {"-c", what.meeting.host, "-p", port, "-J", "-O", "1", "-t", std::to_string(seconds), "-l",
       std::to_string(std::min<std::size_t>(what.message_bytes, std::size_t{1} << 20U))});
  std::string text;
  for (std::string line; line != "}"; text += line) {
    line = client->hear(std::chrono::seconds(seconds + 30));
  }
  const json said = json::parse(text, nullptr, false);
  if (!said.is_object() || said.contains("error")) {
    throw EndFailure(name + ": " +
                     (said.is_object() ? said["error"].get<std::string>() : "no result"));
  }
  const json& end = said.at("end");
  const json& used = end.at("cpu_utilization_percent");
  Sample sample;
  sample.bytes_per_s = end.at("sum_received").at("bits_per_second").get<double>() / 8;
  sample.messages_per_s = sample.bytes_per_s / static_cast<double>(what.message_bytes);
  const auto cpu_ns = [&](const char* side) {
    return used.at(side).get<double>() / 100 * 1e9 / sample.messages_per_s;
  };
  sample.sender.cpu_ns_per_message = cpu_ns("host_total");
  sample.receiver.cpu_ns_per_message = cpu_ns("remote_total");
  return sample;
}

}  // namespace

std::string_view name_of(Mode mode) { return mode == Mode::buffered ? "buffered" : "unbuffered"; }

std::string_view name_of(IdlePolicy wait) {
  switch (wait) {
    case IdlePolicy::spin:
      return "spin";
    case IdlePolicy::adaptive:
      return "adaptive";
    default:
      return "sleep";
  }
}

double difference(const json& from, const json& to, const char* what) {
  return to.at(what).get<double>() - from.at(what).get<double>();
}

void check_faults(const End& end, const json& said) {
  const auto faults = said.at("faults").get<std::uint64_t>();
  if (faults != 0) {
    throw EndFailure(fmt::format("{} found {} messages wrong or out of order", end.name(), faults));
  }
}

std::unique_ptr<End> start_worker(const System& system, const std::string& role, const Case& what,
                                  const Places& places, std::uint16_t& port,
                                  const std::vector<std::string>& more) {
  const bool binds = role == "receive" || role == "reply" || role == "publish" || role == "relay" ||
                     role == "build";
  const bool both = what.meeting.in_one_process();
  std::vector<std::string> arguments = {role,
                                        "--size",
                                        std::to_string(what.message_bytes),
                                        "--mode",
                                        std::string(name_of(what.mode)),
                                        "--wait",
                                        std::string(name_of(what.wait)),
                                        "--rate",
                                        fmt::format("{}", what.rate),
                                        "--connections",
                                        std::to_string(what.connections)};
  // Subscribers are many: they share the cores that the publisher leaves.
  const bool shares = role == "subscribe" && system.one_thread;
  int cpu = binds ? places.cpu_there : places.cpu_here;
  if (role == "relay") cpu = places.cpu_between;
  if (!system.one_thread || shares) cpu = -1;
  arguments.insert(arguments.end(), {"--cpu", std::to_string(cpu)});
  if (shares) {
    arguments.insert(arguments.end(), {"--keep-off-cpu", std::to_string(places.cpu_there)});
  }
  if (what.meeting.in_memory()) {
    arguments.insert(arguments.end(), {"--name", what.meeting.name});
  } else {
    arguments.insert(arguments.end(),
                     {"--host", what.meeting.host, "--port", std::to_string(port)});
  }
  if (both) {
    const int binder_cpu = system.one_thread ? places.cpu_there : -1;
    arguments.insert(arguments.end(), {"--both", "--binder-cpu", std::to_string(binder_cpu)});
  }
  if (what.meeting.on_fabric()) {
    arguments.insert(arguments.end(), {"--provider", what.meeting.provider, "--window",
                                       std::to_string(what.window)});
  }
  if (what.what == What::loan && system.name == our_name) {
    arguments.emplace_back("--loan");
  }
  if (what.requests && system.name == our_name) arguments.emplace_back("--requests");
  if (what.concurrent != 0) {
    arguments.insert(arguments.end(), {"--concurrent", std::to_string(what.concurrent)});
  }
  if (what.verify) arguments.emplace_back("--verify");
  if (!what.api.empty()) arguments.insert(arguments.end(), {"--api", what.api});
  arguments.insert(arguments.end(), more.begin(), more.end());
  const std::string name = fmt::format("{} ({}ing)", system.name,
                                       both                  ? "send and receiv"
                                       : role == "reply"     ? "reply"
                                       : role == "receive"   ? "receiv"
                                       : role == "readout"   ? "send"
                                       : role == "subscribe" ? "subscrib"
                                                             : role);
  auto end = (binds ? places.there : places.here).start(name, std::string(system.name), arguments);
  const json ready = end->answer();
  if (binds) port = ready.at("port").get<std::uint16_t>();
  return end;
}

json stop_worker(End& end) {
  end.say("stop");
  return end.answer();
}

Sample measure(const System& system, const Case& what, const Places& places) {
  return system.name == "iperf3" ? measure_iperf3(system, what, places)
                                 : measure_workers(system, what, places);
}

}  // namespace netio::cli

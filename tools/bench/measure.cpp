#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "worker/tally.hpp"

namespace netio::cli {

namespace {

using nlohmann::json;

// Of messages that are so large that they say when they arrived, so many at least are measured:
// fewer, and a measurement of a second is mostly that of its ends. It is given so much more time.
constexpr double timed_messages_min = 3;
constexpr std::chrono::seconds timed_within{60};
constexpr std::chrono::milliseconds between_looks{50};

// How long an end may take to begin and to end. It takes the memory of its messages then and gives
// it back, and on a fabric also registers it.
std::chrono::nanoseconds patience_of(const Case& what) {
  constexpr double bytes_per_s_min = 10e6;
  const std::chrono::duration<double> for_memory(static_cast<double>(what.message_bytes) /
                                                 bytes_per_s_min);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(for_memory) + answer_within;
}

// What an end did between two looks at it.
struct Span {
  double messages = 0;
  double seconds = 0;
  double cpu_ns = 0;
  double switches = 0;
  double messages_per_s = 0;

  Span(const json& from, const json& to)
      : messages(difference(from, to, "messages")),
        seconds(difference(from, to, "ns") / 1e9),
        cpu_ns(difference(from, to, "cpu_ns")),
        switches(difference(from, to, "switches")) {
    const bool timed = from.contains("last_ns") && to.contains("last_ns") && messages > 0;
    const double arriving = timed ? difference(from, to, "last_ns") / 1e9 : seconds;
    if (arriving > 0) messages_per_s = messages / arriving;
  }

  void add_to(EndSample& end, double of_messages_per_s) const {
    if (seconds <= 0 || of_messages_per_s <= 0) return;
    end.cpu_ns_per_message += cpu_ns / seconds / of_messages_per_s;
    end.switches_per_s += switches / seconds;
  }
};

// One of the streams that are measured together: its two ends, and what they said at two looks.
class Stream {
 public:
  Stream(const System& system, const Case& of_all, const Places& places, std::uint32_t number)
      : asks_(of_all.asks()), both_ways_(of_all.both_ways), patience_(patience_of(of_all)) {
    Case what = of_all;
    if (number != 0 && what.meeting.in_memory()) what.meeting.name += fmt::format("-{}", number);
    std::uint16_t port = what.meeting.port;
    // In one process both ends are the dialer's.
    if (!what.meeting.in_one_process()) {
      binder_ = start_worker(system, asks_ ? "reply" : "receive", what, places, port);
    }
    const bool sends_itself = asks_ || system.sender.empty();
    if (!sends_itself) what.api.clear();  // it is the receiver's
    dialer_ = start_worker(sends_itself ? system : *find_system(system.sender),
                           asks_ ? "request" : "send", what, places, port);
  }

  [[nodiscard]] Loop& loop() noexcept { return dialer_->loop(); }
  void record() {
    if (asks_) (void)dialer_->ask("record");
  }
  // Until so many have come since the first look, or the time is up: a machine may be so busy that
  // an end has not had its turn.
  void await_messages(double count) {
    const auto until = loop().now() + timed_within;
    double arrived = 0;
    while ((arrived = arrived_since_first_look()) < count && loop().now() < until) {
      let_pass(loop(), between_looks);
    }
    if (arrived <= 0) throw EndFailure(fmt::format("{}: nothing arrived", receiver().name()));
  }
  void look_first() {
    binder_from_ = receiver().ask("snap");
    dialer_from_ = dialer_->ask("snap");
  }
  void look_again() {
    binder_to_ = receiver().ask("snap");
    dialer_to_ = dialer_->ask("snap");
  }
  // The other end must not find its peer gone before it was told to stop.
  void stop() {
    dialer_last_ = stop_worker(*dialer_, patience_);
    check_faults(*dialer_, dialer_last_);
    check_faults(receiver(), binder_to_);
  }

  [[nodiscard]] double messages_per_s() const {
    const Span binder_did(binder_from_, binder_to_);
    const Span dialer_did(dialer_from_, dialer_to_);
    const bool nothing =
        (!asks_ && binder_did.messages <= 0) || ((asks_ || both_ways_) && dialer_did.messages <= 0);
    if (nothing) throw EndFailure(fmt::format("{}: nothing arrived", receiver().name()));
    return (asks_ ? 0 : binder_did.messages_per_s) +
           (asks_ || both_ways_ ? dialer_did.messages_per_s : 0);
  }
  // To what all streams together are, so many messages a second.
  void add_to(Sample& sample) const {
    Span(dialer_from_, dialer_to_).add_to(sample.sender, sample.messages_per_s);
    if (binder_) Span(binder_from_, binder_to_).add_to(sample.receiver, sample.messages_per_s);
    if (!asks_) return;
    for (const json& step : dialer_last_.at("round_trips")) {
      sample.round_trips.add(step.at(0).get<std::uint64_t>(), step.at(1).get<std::uint64_t>());
    }
  }

 private:
  [[nodiscard]] End& receiver() const noexcept { return binder_ ? *binder_ : *dialer_; }
  // At the end that has counted the fewest.
  [[nodiscard]] double arrived_since_first_look() {
    const auto count = [](const json& from, const json& to) {
      return to.at("messages").get<double>() - from.value("messages", 0.0);
    };
    const double at_dialer =
        asks_ || both_ways_ ? count(dialer_from_, dialer_->ask("snap")) : timed_messages_min;
    if (asks_) return at_dialer;
    return std::min(at_dialer, count(binder_from_, receiver().ask("snap")));
  }

  bool asks_;
  bool both_ways_;
  std::chrono::nanoseconds patience_;
  std::unique_ptr<End> binder_;
  std::unique_ptr<End> dialer_;
  json binder_from_ = json::object();
  json dialer_from_ = json::object();
  json binder_to_;
  json dialer_to_;
  json dialer_last_;
};

Sample measure_workers(const System& system, const Case& what, const Places& places) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::uint32_t i = 0; i < what.streams; ++i) {
    streams.push_back(std::make_unique<Stream>(system, what, places, i));
  }
  Loop& loop = streams.front()->loop();
  const bool timed = what.message_bytes >= bench::large_bytes_min;
  let_pass(loop, warm_up(what));
  for (const auto& stream : streams) {
    if (timed) stream->await_messages(1);
    stream->record();
  }
  for (const auto& stream : streams) stream->look_first();
  let_pass(loop, what.duration());
  for (const auto& stream : streams) stream->await_messages(timed ? timed_messages_min : 1);
  for (const auto& stream : streams) stream->look_again();
  for (const auto& stream : streams) stream->stop();

  Sample sample;
  for (const auto& stream : streams) sample.messages_per_s += stream->messages_per_s();
  sample.bytes_per_s = sample.messages_per_s * static_cast<double>(what.message_bytes);
  for (const auto& stream : streams) stream->add_to(sample);
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
      {"-c", what.meeting.host, "-p", port, "-J", "-O", "1", "-P", std::to_string(what.streams),
       "-t", std::to_string(seconds), "-l",
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

std::string name_by_role(const System& system, const std::string& role, bool both) {
  return fmt::format("{} ({}ing)", system.name,
                     both                  ? "send and receiv"
                     : role == "reply"     ? "reply"
                     : role == "receive"   ? "receiv"
                     : role == "readout"   ? "send"
                     : role == "manage"    ? "manag"
                     : role == "subscribe" ? "subscrib"
                                           : role);
}

void add_number(std::vector<std::string>& arguments, const char* name, std::uint64_t value) {
  if (value != 0) arguments.insert(arguments.end(), {name, std::to_string(value)});
}

// What is not of every measurement, as far as the system knows it.
void add_tuning(std::vector<std::string>& arguments, const System& system, const Case& what) {
  if (system.rings) {
    add_number(arguments, "--slot-bytes", what.meeting.slot_bytes);
    add_number(arguments, "--slots", what.meeting.slots);
  }
  if (system.only_of_surface) {
    const std::string library(system.name == python_name ? our_name : system.name);
    arguments.insert(arguments.end(), {"--library", library});
  }
  if (system.name != our_name) return;
  add_number(arguments, "--page-bytes", what.page_bytes);
  if (what.both_ways) arguments.emplace_back("--both-ways");
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

void let_messages_pass(Loop& loop, const Case& what, End& end, const json& from, double messages) {
  constexpr int looks_max = 200;
  let_pass(loop, what.duration());
  for (int looks = 0; looks < looks_max; ++looks) {
    if (difference(from, end.ask("snap"), "messages") >= messages) return;
    let_pass(loop, between_looks);
  }
}

void check_faults(const End& end, const json& said) {
  const auto faults = said.at("faults").get<std::uint64_t>();
  if (faults != 0) {
    throw EndFailure(fmt::format("{} found {} messages wrong or out of order", end.name(), faults));
  }
}

std::unique_ptr<End> start_worker(const System& system, const std::string& role, const Case& what,
                                  const Places& places, std::uint16_t& port,
                                  const std::vector<std::string>& more, const std::string& name) {
  const bool binds = role == "receive" || role == "reply" || role == "publish" || role == "relay" ||
                     role == "build" || role == "manage" || role == "node";
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
  if (!system.one_thread || shares || !what.pinned) cpu = -1;
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
  add_tuning(arguments, system, what);
  if (what.sums && role == "receive") arguments.emplace_back("--sum");
  if (what.verify) arguments.emplace_back("--verify");
  if (!what.api.empty()) arguments.insert(arguments.end(), {"--api", what.api});
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto end = (binds ? places.there : places.here)
                 .start(name.empty() ? name_by_role(system, role, both || what.both_ways) : name,
                        std::string(system.name), arguments);
  const json ready = end->answer(patience_of(what));
  if (binds) port = ready.at("port").get<std::uint16_t>();
  return end;
}

json stop_worker(End& end, std::chrono::nanoseconds within) {
  end.say("stop");
  return end.answer(within);
}

Sample measure(const System& system, const Case& what, const Places& places) {
  return system.name == "iperf3" ? measure_iperf3(system, what, places)
                                 : measure_workers(system, what, places);
}

}  // namespace netio::cli

#include "worker/worker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "worker/own_network.hpp"

namespace netio::bench {

namespace {

using nlohmann::ordered_json;

std::int64_t ns_of(const timeval& time) noexcept {
  return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1000;
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long size = 0;
    unsigned long long resident = 0;
    if (std::fscanf(file, "%llu %llu", &size, &resident) == 2) pages = resident;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Since the program began. What getrusage() says includes the process that started it.
std::uint64_t resident_bytes_max() {
  unsigned long long kib = 0;
  if (std::FILE* const file = std::fopen("/proc/self/status", "re")) {
    std::array<char, 256> line{};
    while (std::fgets(line.data(), static_cast<int>(line.size()), file) != nullptr) {
      if (std::sscanf(line.data(), "VmHWM: %llu kB", &kib) == 1) break;
    }
    std::fclose(file);
  }
  return std::uint64_t{kib} * 1024;
}

ordered_json usage() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {{"ns", now_ns()},
          {"cpu_ns", ns_of(used.ru_utime) + ns_of(used.ru_stime)},
          {"switches", used.ru_nvcsw + used.ru_nivcsw},
          {"resident_bytes", resident_bytes()},
          {"resident_bytes_max", resident_bytes_max()}};
}

// A machine with fewer cores measures all the same.
void pin_to(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}
void keep_off(int cpu) {
  cpu_set_t set;
  if (cpu < 0 || sched_getaffinity(0, sizeof set, &set) != 0) return;
  CPU_CLR(static_cast<std::size_t>(cpu), &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}

Reads reads_of(const Options& options) {
  if (options.sum) return Reads::words;
  return options.name.empty() ? Reads::nothing : Reads::lines;
}

}  // namespace

Worker::Worker(const Options& given, const Worker* binder)
    : options(given),
      tally(given.connections, given.message_bytes, given.verify, reads_of(given)),
      binder_(binder) {}

Worker::~Worker() {
  if (control_.joinable()) control_.detach();  // it sits in a read that nothing ends
}

void Worker::ready(std::uint16_t port) {
  if (told_) return told_();
  answer(ordered_json{{"ready", true}, {"port", port}}.dump());
  control_ = std::thread([this] { obey(); });
}

void Worker::obey() {
  std::string line;
  while (std::getline(std::cin, line) && line != "stop") {
    if (line == "snap") {
      const Tally& counted = counting().tally;
      ordered_json said = {{"messages", counted.messages()}, {"faults", faults()}};
      if (const std::int64_t last = counted.last_ns(); last != 0) said["last_ns"] = last;
      if (more_) more_(said);
      said.update(usage());
      answer(said.dump());
    } else if (line == "record" || line.starts_with("record ")) {
      begin_ns_ = std::strtoll(line.c_str() + std::string_view("record").size(), nullptr, 10);
      recording_.store(true, std::memory_order_release);
      answer("{}");
    } else {
      answer(ordered_json{{"error", "no such command: " + line}}.dump());
    }
  }
  stopping_.store(true, std::memory_order_relaxed);
  if (wake_) wake_();
}

void Worker::answer(const std::string& line) {
  std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

void Worker::finish() {
  ordered_json said = {{"end", true}, {"faults", faults()}};
  const bool times = options.role == Role::request || options.role == Role::build ||
                     (options.role == Role::receive && options.rate > 0);
  if (times) said["round_trips"] = round_trips_.steps();
  if (last_) last_(said);
  answer(said.dump());
}

std::int64_t Pace::wait(std::uint64_t number, bool sleeps) const {
  if (!open_loop()) return now_ns();
  const std::int64_t due = at(number);
  for (std::int64_t now = now_ns(); now < due; now = now_ns()) {
    if (sleeps) std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
  }
  return due;
}

void end_with(const std::exception& error) {
  std::cout << ordered_json{{"error", error.what()}}.dump() << std::endl;
  std::_Exit(1);
}

namespace {

void check_node(const Options& options, const std::string& who, Reach reach) {
  const bool elsewhere = !options.provider.empty() || !options.name.empty();
  if (!reach.meshes || (elsewhere && !reach.meshes_elsewhere)) {
    throw std::invalid_argument(who + " is no node of a mesh here");
  }
  const MeshOptions& mesh = options.mesh;
  const auto unknown = [&mesh](std::uint32_t node) { return node >= mesh.nodes; };
  if (unknown(mesh.number) || std::any_of(mesh.targets.begin(), mesh.targets.end(), unknown)) {
    throw std::invalid_argument("there is no node of that number");
  }
  if (!mesh.hosts.empty() && mesh.hosts.size() != mesh.nodes) {
    throw std::invalid_argument("a mesh needs the hosts of all its nodes, or of none");
  }
}

void check_reach(const Options& options, const char* system, Reach reach) {
  const std::string who = system;
  if (!reach.fabrics && (!options.provider.empty() || options.window != 0)) {
    throw std::invalid_argument(who + " runs over sockets: it has no --provider and no --window");
  }
  if (!reach.memory && !options.name.empty()) {
    throw std::invalid_argument(who + " does not run in shared memory: it has no --name");
  }
  if (!reach.loans && options.loan) throw std::invalid_argument(who + " has no loans: no --loan");
  const bool fanout = options.role == Role::publish || options.role == Role::subscribe;
  if (fanout && !reach.publishes) throw std::invalid_argument(who + " is no publisher here");
  if (options.role == Role::relay && !reach.relays) {
    throw std::invalid_argument(who + " is no relay here");
  }
  const bool building =
      options.role == Role::build || options.role == Role::readout || options.role == Role::manage;
  if (building && !reach.builds) throw std::invalid_argument(who + " builds no events here");
  if (building && options.role != Role::manage &&
      (options.build.number >=
       (options.role == Role::build ? options.build.builders : options.build.readouts))) {
    throw std::invalid_argument("there is no end of that --number");
  }
  if (options.role == Role::node) check_node(options, who, reach);
  if (!options.delay.empty() && !reach.points) {
    throw std::invalid_argument(who + " has no points, and no --delay");
  }
  if (!options.api.empty() && !reach.surfaces) {
    throw std::invalid_argument(who + " has no other surface");
  }
  if (!reach.pages && options.page_bytes != 0) {
    throw std::invalid_argument(who + " has no --page-bytes");
  }
  if (!reach.rings && options.has_ring()) {
    throw std::invalid_argument(who + " has no --slot-bytes and --slots");
  }
  const bool one_way = options.role == Role::send || options.role == Role::receive;
  if (one_way && options.rate > 0 && (!reach.paced || options.both_ways)) {
    throw std::invalid_argument(who + " has no --rate one way");
  }
  if (options.sum && (!reach.surfaces || options.role != Role::receive)) {
    throw std::invalid_argument(who + " has no --sum here");
  }
  if (options.both_ways && (!reach.both_ways || !one_way || options.loan || options.both ||
                            options.idle || options.connections != 1)) {
    throw std::invalid_argument(who + " has no --both-ways here");
  }
  const bool asks = options.role == Role::request || options.role == Role::reply;
  if (options.requests && (!reach.requests || !asks || options.loan || !options.api.empty())) {
    throw std::invalid_argument(who + " has no --requests here");
  }
  if (options.concurrent != 0 &&
      (!reach.concurrent || !asks || options.loan || !options.api.empty())) {
    throw std::invalid_argument(who + " has no --concurrent here");
  }
  const bool dials = options.role == Role::send || options.role == Role::request;
  if (options.both && (options.name.empty() || !dials)) {
    throw std::invalid_argument("--both is for send and request with a --name");
  }
}

// The end that binds, on a thread. Never destroyed: its thread goes with the process.
const Worker* start_binder(const Options& dialer, void (*run)(Worker&)) {
  Options options = dialer;
  options.role = dialer.role == Role::send ? Role::receive : Role::reply;
  options.cpu = dialer.binder_cpu;
  auto& binder = *new Worker(options);
  const auto bound = std::make_shared<std::promise<void>>();
  binder.on_ready([bound] { bound->set_value(); });
  std::thread([&binder, run] {
    try {
      pin_to(binder.options.cpu);
      run(binder);
    } catch (const std::exception& error) {
      end_with(error);
    }
  }).detach();
  bound->get_future().wait();
  return &binder;
}

}  // namespace

int worker_main(int argc, char** argv, const char* system, void (*run)(Worker&), Reach reach) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the command, which then ends its workers
  const Options options = parse_options(argc, argv, system);
  try {
    check_reach(options, system, reach);
    if (!options.own_network.empty()) {
      enter_own_network(options.own_network, options.mesh.hosts);
    }
    const Worker* const binder = options.both ? start_binder(options, run) : nullptr;
    pin_to(options.cpu);
    keep_off(options.keep_off_cpu);
    // Never destroyed: the control thread may still look at it.
    auto& worker = *new Worker(options, binder);
    run(worker);
    worker.finish();
    std::_Exit(0);
  } catch (const std::exception& error) {
    end_with(error);
  }
}

}  // namespace netio::bench

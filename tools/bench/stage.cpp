#include "bench/stage.hpp"

#include <sched.h>

#include <fmt/format.h>

#include "bench/local.hpp"
#include "bench/remote.hpp"
#include "exit_code.hpp"
#include "standard_error.hpp"

namespace netio::cli {

namespace {

constexpr std::uint32_t concurrent_default = 1000;

ContextOptions small_context() {
  ContextOptions options;
  options.send_pool_bytes = 1U << 20U;
  options.receive_pool_bytes = 1U << 20U;
  return options;
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

Stage::Stage(const BenchArguments& arguments)
    : arguments_(arguments),
      meeting_(meeting_of(arguments.address)),
      context_(small_context()),
      interrupt_(context_.loop(), [] {}) {
  if (meeting_.in_memory() && !arguments.remote.empty()) {
    throw Failure(fmt::format("{} addresses are of one machine", meeting_.scheme),
                  "Leave out --remote, or give an address of that host.", ExitCode::usage);
  }
  here_ = std::make_unique<LocalPlace>(context_.loop());
  const std::vector<int> cpus = usable_cpus();
  if (arguments.remote.empty()) {
    there_ = std::make_unique<LocalPlace>(context_.loop());
    if (cpus.size() > 1) {
      cpu_here_ = cpus[0];
      cpu_there_ = cpus[1];
      if (cpus.size() > 2) cpu_between_ = cpus[2];
    } else {
      note("one core only: both ends share it, which says little about the systems");
    }
  } else {
    there_ = std::make_unique<RemotePlace>(context_, arguments.remote);
    if (!cpus.empty()) cpu_here_ = cpus.back();
    cpu_there_ = 0;
  }
}

Stage::~Stage() = default;

Places Stage::places_with_relay() noexcept {
  if (cpu_between_ < 0) return {*here_, *there_, -1, -1, -1};
  return {*here_, *there_, cpu_here_, cpu_there_, cpu_between_};
}

Case Stage::first_case() const {
  Case what;
  what.what = arguments_.what;
  what.meeting = meeting_;
  what.window = arguments_.window;
  what.message_bytes = arguments_.message_bytes.front();
  what.touched = arguments_.touched;
  const bool gathers = arguments_.what != What::latency && arguments_.what != What::loan &&
                       arguments_.what != What::mesh;
  what.mode = arguments_.mode.value_or(gathers ? Mode::buffered : Mode::unbuffered);
  what.wait = arguments_.wait;
  what.rate = arguments_.rate;
  what.requests = arguments_.requests;
  if (what.requests && what.what == What::throughput) {
    what.concurrent = arguments_.concurrent.value_or(concurrent_default);
  }
  what.seconds = std::chrono::duration<double>(arguments_.seconds).count();
  return what;
}

void Stage::note(const std::string& text) const {
  if (progress_ != nullptr) return progress_->note(text);
  if (!arguments_.report.quiet) say("netio bench: {}\n", text);
}

}  // namespace netio::cli

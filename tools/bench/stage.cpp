#include "bench/stage.hpp"

#include <charconv>
#include <sched.h>

#include <fmt/format.h>

#include "bench/local.hpp"
#include "bench/remote.hpp"
#include "exit_code.hpp"
#include "standard_error.hpp"

namespace netio::cli {

namespace {

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

[[noreturn]] void refuse_address(const std::string& address) {
  throw Failure(fmt::format("\"{}\" is not an address that can be measured", address),
                "Give an IP number and a port, such as tcp://127.0.0.1:0 or tcp://[::1]:0.",
                ExitCode::usage);
}

}  // namespace

Stage::Stage(const BenchArguments& arguments)
    : arguments_(arguments), context_(small_context()), interrupt_(context_.loop(), [] {}) {
  const std::string& address = arguments.address;
  const std::size_t colon = address.rfind(':');
  if (!address.starts_with("tcp://") || colon < 7) refuse_address(address);
  host_ = address.substr(6, colon - 6);
  if (host_.starts_with('[') && host_.ends_with(']')) host_ = host_.substr(1, host_.size() - 2);
  if (host_ == "localhost") host_ = "127.0.0.1";
  const std::string port = address.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), port_);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) refuse_address(address);

  here_ = std::make_unique<LocalPlace>(context_.loop());
  const std::vector<int> cpus = usable_cpus();
  if (arguments.remote.empty()) {
    there_ = std::make_unique<LocalPlace>(context_.loop());
    if (cpus.size() > 1) {
      cpu_here_ = cpus[0];
      cpu_there_ = cpus[1];
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

Case Stage::first_case() const {
  Case what;
  what.what = arguments_.what;
  what.host = host_;
  what.port = port_;
  what.message_bytes = arguments_.message_bytes.front();
  const bool latency = arguments_.what == BenchArguments::What::latency;
  what.mode = arguments_.mode.value_or(latency ? Mode::unbuffered : Mode::buffered);
  what.wait = arguments_.wait;
  what.rate = arguments_.rate;
  what.seconds = std::chrono::duration<double>(arguments_.seconds).count();
  return what;
}

void Stage::note(const std::string& text) const {
  if (!arguments_.report.quiet) say("netio bench: {}\n", text);
}

}  // namespace netio::cli

#include "bench/copies.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/copies_results.hpp"
#include "bench/copies_stage.hpp"
#include "bench/end.hpp"
#include "fabrics.hpp"
#include "interrupt.hpp"
#include "report.hpp"

namespace netio::cli {

namespace {

// Messages up to this are sent alone, and also as many as nearly fill a page.
constexpr std::size_t small_bytes_max = std::size_t{1} << 10U;
// With the frames (16 bytes with a tag, and padding) less than a page of 64 KiB, more than the
// quarter of it up to which pages are gathered.
constexpr std::size_t small_in_all_bytes = std::size_t{48} << 10U;
constexpr std::size_t frame_bytes = 24;
constexpr std::size_t head_bytes = 64;
constexpr std::size_t body_bytes = std::size_t{40} << 10U;

std::vector<CopiesLoad> loads_of(const std::vector<std::size_t>& sizes) {
  std::vector<CopiesLoad> loads;
  for (const std::size_t bytes : sizes) {
    if (bytes <= small_bytes_max) {
      const std::size_t messages = small_in_all_bytes / (bytes + frame_bytes);
      loads.push_back({bytes, 0, static_cast<std::uint32_t>(messages)});
    }
    loads.push_back({bytes, 0, 1});
  }
  loads.push_back({head_bytes + body_bytes, head_bytes, 1});
  return loads;
}

std::vector<CopiesWire> all_wires() {
  std::vector<CopiesWire> wires = {
      {"tcp", "tcp://127.0.0.1:0", {}}, {"shm", "shm://*", {}}, {"inproc", "inproc://*", {}}};
  const Fabrics fabrics = read_fabrics();
  wires.push_back({"ofi+tcp", "ofi+tcp://127.0.0.1:0", fabrics.why_not("ofi+tcp")});
  wires.push_back({"verbs", {}, fabrics.why_not("verbs")});
  for (const FabricDevice& device : fabrics.devices) {
    if (device.scheme != "verbs" || device.hosts.empty()) continue;
    wires.back().address = fmt::format("verbs://{}:0", device.hosts.front());
    break;
  }
  return wires;
}

void measure(const BenchArguments& arguments, CopiesResults& results) {
  std::vector<CopiesWire> wires = all_wires();
  std::erase_if(wires, [&results](const CopiesWire& wire) {
    if (!wire.why_absent.empty()) results.absent(wire);
    return !wire.why_absent.empty();
  });
  const std::vector<CopiesLoad> loads = loads_of(arguments.message_bytes);
  CopiesContexts contexts;
  const Interrupt interrupt(contexts.stage.loop(), [] {});
  for (const CopiesWire& from : wires) {
    for (const CopiesWire& to : wires) {
      for (const Mode mode : {Mode::buffered, Mode::unbuffered}) {
        if (arguments.mode.value_or(mode) != mode) continue;
        CopiesStage stage(contexts, from, to, mode);
        for (const CopiesLoad& load : loads) {
          const bool shares_page = load.messages > 1;  // which only buffered messages do
          if (!shares_page || mode == Mode::buffered) results.add(stage.measure(load));
        }
      }
    }
  }
}

}  // namespace

ExitCode run_copies(const BenchArguments& arguments) {
  Report report(arguments.report, false);
  CopiesResults results;
  ExitCode code = ExitCode::done;
  try {
    measure(arguments, results);
  } catch (const Interrupted&) {
    code = ExitCode::interrupted;
  }
  report.publish(arguments.markdown ? results.to_markdown() : results.to_text(),
                 [&] { return results.to_json().dump(2) + "\n"; });
  return code;
}

}  // namespace netio::cli

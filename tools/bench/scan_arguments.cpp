// The command line of `netio bench scan`.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/common_options.hpp"
#include "bench/meeting.hpp"
#include "bench/scan_parameter.hpp"
#include "bench/system.hpp"

namespace netio::cli {

namespace {

std::string usual_values() {
  std::string text;
  for (const ParameterInfo& info : all_parameters()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", info.name, info.usual_values);
  }
  return text;
}

void add_fixed(CLI::App& app, ScanArguments& scan) {
  add_bytes(app, "--page-bytes", scan.page_bytes, "Of netio's contexts: a page (64KiB)");
  add_bytes(app, "--slot-bytes", scan.slot_bytes,
            "On a fabric, and with the engine ring: a slot of the ring (as the address has it)");
  add_number(
      app, "--slots", 1, info_of(ScanParameter::slots).most,
      [&scan](std::uint32_t n) { scan.slots = n; },
      "On a fabric, and with the engine ring: its slots (as the address has them)");
  add_number(
      app, "--streams", 1, info_of(ScanParameter::streams).most,
      [&scan](std::uint32_t n) { scan.streams = n; },
      "Connections that are measured together, each with two processes of its own, none of which "
      "is pinned to a core if there are several (1)");
  app.add_flag(
      "--both-ways", scan.both_ways,
      "Both ends send and receive at once, as two ends of a Pair; the rate is that of both "
      "directions together");
  app.add_flag("--round-trips", scan.round_trips,
               "Measure the time there and back, one message at a time, instead of the rate");
  app.get_option("--round-trips")->excludes("--both-ways");
}

// The least that is measured.
std::size_t slot_bytes_of(const ScanArguments& scan) {
  if (scan.parameter == ScanParameter::slot_bytes) {
    return static_cast<std::size_t>(*std::min_element(scan.values.begin(), scan.values.end()));
  }
  return static_cast<std::size_t>(scan.slot_bytes != 0 ? scan.slot_bytes : slot_bytes_default);
}

// Once all options are read, as what the values mean depends on the parameter.
void finish(BenchArguments& bench, bool has_size) {
  ScanArguments& scan = bench.scan;
  const ParameterInfo& info = info_of(scan.parameter);
  try {
    scan.values = parse_values(info, scan.values_text.value_or(info.usual_values));
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError("--values", error.what());
  }
  for (const auto& [name, parameter, value] :
       {std::tuple{"--page-bytes", ScanParameter::page_bytes, scan.page_bytes},
        std::tuple{"--slot-bytes", ScanParameter::slot_bytes, scan.slot_bytes}}) {
    if (value == 0) continue;
    try {
      check_value(info_of(parameter), value);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError(name, error.what());
    }
  }
  if (has_size && scan.parameter == ScanParameter::size) {
    throw CLI::ValidationError("--size", "is what is scanned: leave it out, or scan another");
  }
  if (bench.message_bytes.size() > 1) {
    throw CLI::ValidationError("--size", "is one size here: scan it with --parameter size");
  }
  // Of a scanned size, the smallest: peers may know no smaller ones.
  if (scan.parameter == ScanParameter::size) {
    bench.message_bytes = {
        static_cast<std::size_t>(*std::min_element(scan.values.begin(), scan.values.end()))};
  } else if (!has_size) {
    scan.fills_slots = info.usual_message_bytes == 0;
    bench.message_bytes = {scan.fills_slots ? slot_bytes_of(scan) : info.usual_message_bytes};
  }
}

}  // namespace

void add_scan(CLI::App& app, BenchArguments& bench) {
  ScanArguments& scan = bench.scan;
  add_common(app, bench);
  Choices<ScanParameter> parameters;
  for (const ParameterInfo& info : all_parameters()) {
    parameters.emplace_back(info.name, info.parameter);
  }
  add_choice_to(app, "--parameter", parameters, scan.parameter,
                "What is varied. slot_bytes, slots: of the ring of a fabric's address "
                "(engine=ring); page_bytes: of netio's contexts; size: bytes of a message; window: "
                "under way on a fabric; streams: connections (size)");
  app.add_option("--values", scan.values_text,
                 "Its values: 4KiB,64KiB; 4KiB..32MiB is doubled each time, 1..16+1 goes in steps "
                 "(" +
                     usual_values() + ")")
      ->type_name("LIST");
  add_mode(app, bench);
  app.get_option("--mode")->description(
      "buffered or unbuffered (page_bytes: buffered; else unbuffered, and from 64 KiB on lent)");
  add_comparison(app, bench,
                 "Peers that have their turns at every value, such as raw or fabric (none); of "
                 "size, window and streams, one way. Known: " +
                     system_names());
  app.get_option("--rounds")->description("Rounds; in each, every value has its turn (5)");
  add_sizes(app, bench);
  app.get_option("--size")->description(
      "Bytes of a message, while something else is scanned (slot_bytes, slots: as large as a slot; "
      "streams: 1MiB; window: 64KiB; page_bytes: 64)");
  add_window(app, bench);
  add_fixed(app, scan);
  add_plot(app, bench);
  add_csv(app, bench, "Write each turn of each round into FILE, a line each");
  CLI::Option* const size = app.get_option("--size");
  app.parse_complete_callback([&bench, size] { finish(bench, size->count() != 0); });
}

}  // namespace netio::cli

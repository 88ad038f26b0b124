#include "probe.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <netio/context.hpp>
#include <netio/probe.hpp>

#include "peer_wait.hpp"
#include "report.hpp"
#include "standard_error.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

ProbeResult ask(const InfoArguments& arguments) {
  ContextOptions options;
  options.send_pool_bytes = options.receive_pool_bytes = std::size_t{4} << 20U;
  Context context(options);
  ProbeResult found;
  const Probe probe(
      context, arguments.address,
      [&](const ProbeResult& result) {
        found = result;
        context.stop();
      },
      arguments.within);
  context.run();
  return found;
}

std::string versions(const ProbeResult& found) {
  return found.wire_version_min == found.wire_version_max
             ? fmt::format("wire version {}", found.wire_version_min)
             : fmt::format("wire versions {} to {}", found.wire_version_min,
                           found.wire_version_max);
}

std::string to_text(const std::string& address, const ProbeResult& found) {
  std::string text = address + "\n";
  const auto row = [&text](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<16} {}\n", name, value);
  };
  row("answers",
      fmt::format("netio {}, {}", found.release.empty() ? "of an older release" : found.release,
                  versions(found)));
  row("socket", found.name.empty() ? found.pattern
                                   : fmt::format("{}, named \"{}\"", found.pattern, found.name));
  if (found.message_bytes_max != 0) row("message limit", binary_bytes(found.message_bytes_max));
  row("round trip", time_text(static_cast<std::uint64_t>(found.round_trip.count())));
  if (address.starts_with("netio://")) {
    row("wires there",
        fmt::format("tcp{}{}", found.offers.empty() ? "" : ", ", fmt::join(found.offers, ", ")));
  }
  row("wire from here", found.wire_reason.empty()
                            ? found.wire
                            : fmt::format("{} ({})", found.wire, found.wire_reason));
  return text;
}

ordered_json found_json(const ProbeResult& found) {
  return {{"release", found.release},
          {"pattern", found.pattern},
          {"name", found.name},
          {"run", fmt::format("{:02x}", fmt::join(found.run, ""))},
          {"wire_version_min", found.wire_version_min},
          {"wire_version_max", found.wire_version_max},
          {"message_bytes_max", found.message_bytes_max},
          {"offers", found.offers},
          {"wire", found.wire},
          {"wire_reason", found.wire_reason},
          {"round_trip_us", static_cast<double>(found.round_trip.count()) * 1e-3}};
}

}  // namespace

ExitCode run_probe(const InfoArguments& arguments) {
  Report report(arguments.report, false);
  const ProbeResult found = ask(arguments);
  const ExitCode code = found.answered ? ExitCode::done : ExitCode::failed;
  std::string error;
  if (!found.answered) {
    PeerInfo there;
    there.address = arguments.address;
    error = fmt::format("no netio answers at {}: {}", there.address, why(there, found.down));
  }
  if (!found.answered) {
    // Nobody is waited for, so there is no option to wait longer.
    const bool refused = found.down.reason == DownReason::refused;
    say_error("netio info", error,
              refused ? "start the side there that binds, or check the address"
                      : advice_for(arguments.address, found.down.reason));
  }
  const auto to_json = [&] {
    ordered_json json = {{"command", "info"},          {"netio", NETIO_VERSION},
                         {"outcome", outcome(code)},   {"exit_code", static_cast<int>(code)},
                         {"error", nullptr},           {"address", arguments.address},
                         {"answered", found.answered}, {"answer", nullptr}};
    if (!found.answered) {
      json["error"] = error;
    } else {
      json["answer"] = found_json(found);
    }
    return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
  };
  report.publish(found.answered ? to_text(arguments.address, found) : std::string(), to_json);
  return code;
}

}  // namespace netio::cli

#include "relay_report.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "books_json.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

// Over less time a rate says more about the start than about the wires.
constexpr double rated_seconds_min = 0.01;

std::string received_text(const Books& books) {
  return fmt::format("{} delivered, {} missed", grouped(books.delivered), grouped(books.missed));
}

std::string sent_text(const Books& books) {
  const std::string reasons = drop_reasons(books.dropped_by);
  return fmt::format(
      "{} sent: {} acknowledged, {} dropped{}{}, {} unacknowledged", grouped(books.sent),
      grouped(books.acknowledged), grouped(books.dropped()),
      reasons.empty() ? "" : fmt::format(" ({})", reasons),
      books.in_doubt == 0 ? "" : fmt::format(", {} in doubt", grouped(books.in_doubt)),
      grouped(books.unacknowledged));
}

std::string side_text(std::string_view name, const RelaySide& side, bool sends, bool receives) {
  std::string text = fmt::format("  {:<8}", name);
  if (receives) text += received_text(side.books);
  if (receives && sends) text += "; ";
  if (sends) text += sent_text(side.books);
  if (side.counters.unwanted != 0) {
    text += fmt::format("; {} wanted by nobody", grouped(side.counters.unwanted));
  }
  return text + fmt::format("; peers: {}, {} here to the end\n", peers_text(side.peers), side.here);
}

ordered_json side_json(const RelaySide& side) {
  return {{"addresses", side.addresses},
          {"peers",
           {{"came", side.peers.came},
            {"ended", side.peers.ended},
            {"lost", side.peers.lost},
            {"here", side.here}}},
          {"received", received_json(side.books)},
          {"sent", sent_json(side.books)},
          {"copies", side.counters.copies},
          {"bytes_copied", side.counters.bytes_copied},
          {"resent", side.counters.resent},
          {"unwanted", side.counters.unwanted}};
}

}  // namespace

std::string to_text(const RelaySummary& summary) {
  const ForwardBooks& passed = summary.passed;
  const bool both = summary.pattern == "pair" || summary.pattern == "request";
  std::string text =
      fmt::format("relayed   {}, {} in {}", counted(passed.passed, "message"),
                  scaled(static_cast<double>(passed.bytes), "B"), duration_text(summary.seconds));
  if (summary.seconds >= rated_seconds_min) {
    text += fmt::format(": {}, {}",
                        scaled(static_cast<double>(passed.passed) / summary.seconds, "messages/s"),
                        scaled(static_cast<double>(passed.bytes) / summary.seconds, "B/s"));
  }
  if (summary.code == ExitCode::interrupted) text += ", interrupted";
  text += "\n";
  if (passed.dropped != 0) {
    text += fmt::format("  dropped here  {}\n", counted(passed.dropped, "message"));
  }
  if (passed.held + passed.unsettled != 0) {
    text += fmt::format("  left here     {} held, {} not settled\n", grouped(passed.held),
                        grouped(passed.unsettled));
  }
  return text + side_text("from", summary.from, both, true) +
         side_text("to", summary.to, true, both);
}

std::string to_json(const RelaySummary& summary) {
  const ForwardBooks& passed = summary.passed;
  const bool rated = summary.seconds >= rated_seconds_min;
  const auto rate = [&](std::uint64_t amount) {
    return rated ? ordered_json(static_cast<double>(amount) / summary.seconds) : ordered_json();
  };
  const ordered_json error = summary.error.empty() ? ordered_json() : ordered_json(summary.error);
  const ordered_json json = {{"command", "relay"},
                             {"pattern", summary.pattern},
                             {"netio", NETIO_VERSION},
                             {"outcome", outcome(summary.code)},
                             {"exit_code", static_cast<int>(summary.code)},
                             {"error", error},
                             {"messages", passed.passed},
                             {"bytes", passed.bytes},
                             {"seconds", summary.seconds},
                             {"messages_per_second", rate(passed.passed)},
                             {"bytes_per_second", rate(passed.bytes)},
                             {"dropped_here", passed.dropped},
                             {"held", passed.held},
                             {"unsettled", passed.unsettled},
                             {"from", side_json(summary.from)},
                             {"to", side_json(summary.to)}};
  return json.dump(2) + "\n";
}

}  // namespace netio::cli

#include "bench/copies_results.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/measure.hpp"

namespace netio::cli {

namespace {

using nlohmann::ordered_json;

double copies_per_message(const CopiesResult& result, const CopiesCount& count) {
  return static_cast<double>(count.copies) / static_cast<double>(result.messages);
}

double bytes_per_byte(const CopiesResult& result, const CopiesCount& count) {
  return static_cast<double>(count.bytes) /
         (static_cast<double>(result.messages) * static_cast<double>(result.load.bytes));
}

// Where the payload is copied, of a table that names no numbers. Frames are copied with it, but
// never as much as the payload once more.
std::string words_of(const CopiesResult& result) {
  const bool receiving = result.receiving.copies != 0;
  const bool sending = result.sending.copies != 0;
  if (receiving && sending) return "parts, copy";
  if (receiving) return "parts";
  return sending ? "copy" : "in place";
}

ordered_json json_of(const CopiesResult& result, const CopiesCount& count) {
  return {{"copies_per_message", copies_per_message(result, count)},
          {"bytes_copied_per_byte", bytes_per_byte(result, count)}};
}

}  // namespace

std::string CopiesResults::to_text() const {
  std::string text =
      "What a stage copies of each message that it passes on: to put the parts of a message "
      "together\nas it receives (receiving), and as it sends (sending). Bytes are for each byte of "
      "payload.\n";
  const char* const format = "{:<18} {:<11} {:<18} {:>10} {:>10} {:>10} {:>10}\n";
  text +=
      fmt::format(fmt::runtime(format), "", "", "", "receiving", "receiving", "sending", "sending");
  text += fmt::format(fmt::runtime(format), "wires", "mode", "message", "copies", "bytes", "copies",
                      "bytes");
  for (const CopiesResult& one : results_) {
    const auto number = [](double value) { return fmt::format("{:.3f}", value); };
    text += fmt::format(
        fmt::runtime(format), one.from + " -> " + one.to, name_of(one.mode), one.load.name(),
        number(copies_per_message(one, one.receiving)), number(bytes_per_byte(one, one.receiving)),
        number(copies_per_message(one, one.sending)), number(bytes_per_byte(one, one.sending)));
  }
  for (const CopiesWire& wire : absent_) {
    text += fmt::format("{}: left out, {}\n", wire.scheme, wire.why_absent);
  }
  return text;
}

// Results come pair by pair and mode by mode, each with all loads.
std::string CopiesResults::to_markdown() const {
  if (results_.empty()) return {};
  const auto same_row = [](const CopiesResult& one, const CopiesResult& other) {
    return one.from == other.from && one.to == other.to && one.mode == other.mode;
  };
  std::string head = "| from | to | mode |";
  std::string rule = "| --- | --- | --- |";
  std::string rows;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const CopiesResult& one = results_[i];
    if (same_row(one, results_.front())) {
      head += fmt::format(" {} |", one.load.name());
      rule += " --- |";
    }
    if (i == 0 || !same_row(one, results_[i - 1])) {
      rows += fmt::format("{}| {} | {} | {} |", i == 0 ? "" : "\n", one.from, one.to,
                          name_of(one.mode));
    }
    rows += fmt::format(" {} |", words_of(one));
  }
  return fmt::format("{}\n{}\n{}\n", head, rule, rows);
}

ordered_json CopiesResults::to_json() const {
  ordered_json said = {{"case", {{"what", "copies"}}},
                       {"absent", ordered_json::object()},
                       {"rows", ordered_json::array()}};
  for (const CopiesWire& wire : absent_) said["absent"][wire.scheme] = wire.why_absent;
  for (const CopiesResult& one : results_) {
    said["rows"].push_back({{"from", one.from},
                            {"to", one.to},
                            {"mode", name_of(one.mode)},
                            {"message", one.load.name()},
                            {"size_bytes", one.load.bytes},
                            {"segments", one.load.head_bytes != 0 ? 2 : 1},
                            {"messages", one.messages},
                            {"receiving", json_of(one, one.receiving)},
                            {"sending", json_of(one, one.sending)}});
  }
  return said;
}

}  // namespace netio::cli

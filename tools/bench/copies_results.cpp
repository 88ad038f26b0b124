#include "bench/copies_results.hpp"

#include <cmath>
#include <cstdint>
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

// How often the payload was copied, in parts or at once. Its frame may be copied with it.
long times_copied(const CopiesResult& result, const CopiesCount& count) {
  constexpr std::size_t framed_bytes = 16;  // with a tag
  const std::uint64_t once = result.messages * (result.load.bytes + framed_bytes);
  return std::lround(static_cast<double>(count.bytes) / static_cast<double>(once));
}

// What stands in the table of docs/any-wire.md.
std::string words_of(const CopiesResult& result) {
  const long receiving = times_copied(result, result.receiving);
  const long sending = times_copied(result, result.sending);
  std::string words;
  if (receiving != 0) words = fmt::format("{} receiving", receiving);
  if (sending != 0) words += fmt::format("{}{} sending", words.empty() ? "" : ", ", sending);
  return words.empty() ? "in place" : words;
}

ordered_json json_of(const CopiesResult& result, const CopiesCount& count) {
  return {{"copies_per_message", copies_per_message(result, count)},
          {"bytes_copied_per_byte", bytes_per_byte(result, count)}};
}

}  // namespace

std::string CopiesResults::to_text() const {
  std::string text =
      "What a stage copies of each message that it passes on: while it receives it (parts that it "
      "puts\ntogether, short pages of shm), and while it sends it. Bytes are for each byte of "
      "payload.\n";
  const char* const format = "{:<18} {:<11} {:<20} {:>10} {:>10} {:>10} {:>10}\n";
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

// A table for each mode. Results come pair by pair, each with all loads of a mode.
std::string CopiesResults::to_markdown() const {
  std::string text;
  for (const Mode mode : {Mode::buffered, Mode::unbuffered}) {
    std::string head = fmt::format("| {} |", name_of(mode));
    std::string rule = "| --- |";
    std::string rows;
    const CopiesResult* before = nullptr;
    const CopiesResult* first = nullptr;
    for (const CopiesResult& one : results_) {
      if (one.mode != mode) continue;
      if (first == nullptr) first = &one;
      if (one.from == first->from && one.to == first->to) {
        head += fmt::format(" {} |", one.load.name());
        rule += " --- |";
      }
      if (before == nullptr || one.from != before->from || one.to != before->to) {
        rows += fmt::format("{}| {} to {} |", rows.empty() ? "" : "\n", one.from, one.to);
      }
      rows += fmt::format(" {} |", words_of(one));
      before = &one;
    }
    if (first == nullptr) continue;
    text += fmt::format("{}{}\n{}\n{}\n", text.empty() ? "" : "\n", head, rule, rows);
  }
  return text;
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

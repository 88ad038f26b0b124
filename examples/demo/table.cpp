// Drawing and printing; standard output only.
#include "table.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "text.hpp"

namespace demo {

namespace {

// Head, read-out, subscribers, trigger, and one that stays empty.
constexpr int table_lines = 2 + static_cast<int>(first_subscriber_count) + 2;

std::uint64_t faults(const Report& report) {
  return report.damaged + report.twice + report.out_of_order;
}

const Report& report_of(const Snapshot& now, std::size_t role) {
  return role == monitor_index ? now.monitor() : now.children[role];
}

std::string_view state_of(const Snapshot& now, std::size_t role) {
  if (role == recorder_index && now.recorder_stopped) return ", STOPPED";
  if (role != monitor_index || !now.monitor_killed) return "";
  return now.monitor_restarted ? ", the second" : ", KILLED";
}

bool works(const Snapshot& now, std::size_t role) {
  if (role == recorder_index) return !now.recorder_stopped;
  return role != monitor_index || !now.monitor_killed || now.monitor_restarted;
}

// A row of the table; the codes clear what an earlier one left there.
std::string row(std::string_view name, std::string_view rate, std::string_view megabytes,
                std::string_view total, std::string_view remark) {
  return fmt::format("{:<10} {:>12} {:>8} {:>14}   {}\x1b[K\n", name, rate, megabytes, total,
                     remark);
}

}  // namespace

Table::Table() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void Table::Rate::look(double now_seconds, std::uint64_t now_fragments, std::uint64_t now_bytes) {
  if (now_seconds < seconds) *this = {};  // another process reports
  if (now_seconds <= seconds) return;
  const double passed = now_seconds - seconds;
  per_second = static_cast<double>(now_fragments - fragments) / passed;
  megabytes_per_second = static_cast<double>(now_bytes - bytes) / passed / 1e6;
  seconds = now_seconds;
  fragments = now_fragments;
  bytes = now_bytes;
}

void Table::show(const Snapshot& now) {
  sent_.look(now.seconds, now.sent, now.sent_bytes);
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const Report& report = report_of(now, i);
    taken_[i].look(report.seconds, report.fragments, report.bytes);
    // It does not report, so its last rate would stay.
    if (!works(now, i)) taken_[i].per_second = taken_[i].megabytes_per_second = 0;
  }
  if (terminal_) {
    draw(now);
  } else {
    print_line(now);
  }
  std::fflush(stdout);
}

void Table::note(double seconds, std::string_view what) const {
  if (terminal_) return;
  print(stdout, "{:3.0f} s: {}\n", seconds, what);
  std::fflush(stdout);
}

void Table::draw(const Snapshot& now) {
  std::string text;
  if (drawn_) text += fmt::format("\x1b[{}F", table_lines);
  drawn_ = true;
  text += row(fmt::format("{:.1f} s", now.seconds), "per second", "MB/s", "fragments", "");
  text += row("read-out", grouped(sent_.per_second),
              fmt::format("{:.1f}", sent_.megabytes_per_second), grouped(now.sent),
              fmt::format("ring {}, {}", percent(now.ring_fill),
                          now.busy ? "BUSY" : fmt::format("busy {} times", now.times_busy)));
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const Report& report = report_of(now, i);
    text += row(roles[i].name, grouped(taken_[i].per_second),
                fmt::format("{:.1f}", taken_[i].megabytes_per_second), grouped(report.fragments),
                fmt::format("{}, missed {}, {} faults{}", netio::to_string(roles[i].policy),
                            grouped(report.missed), faults(report), state_of(now, i)));
  }
  const Report& trigger = now.children[trigger_index];
  text += row("trigger", "", "", grouped(trigger.triggers),
              fmt::format("round trip p50 {}, p99 {}, max {}", microseconds(trigger.p50_ns),
                          microseconds(trigger.p99_ns), microseconds(trigger.max_ns)));
  text += "\x1b[K\n";
  std::fputs(text.c_str(), stdout);
}

void Table::print_line(const Snapshot& now) const {
  std::string subscribers;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    subscribers += fmt::format(", {} {}/s", roles[i].name, grouped(taken_[i].per_second));
  }
  const Report& trigger = now.children[trigger_index];
  print(stdout, "{:3.0f} s: {}/s, {:.1f} MB/s, ring {}{}{}, round trip {}\n", now.seconds,
        grouped(sent_.per_second), sent_.megabytes_per_second, percent(now.ring_fill),
        now.busy ? ", BUSY" : "", subscribers, microseconds(trigger.p50_ns));
}

}  // namespace demo

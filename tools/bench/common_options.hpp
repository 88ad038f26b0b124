// Options that several kinds of measurement have.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/arguments.hpp"
#include "parsed_option.hpp"
#include "units.hpp"

namespace netio::cli {

void add_common(CLI::App& app, BenchArguments& bench);
void add_mode(CLI::App& app, BenchArguments& bench);
// What --against says of those that are measured if nothing else is said.
[[nodiscard]] std::string all_peers();
void add_comparison(CLI::App& app, BenchArguments& bench, const std::string& peers = all_peers());
void add_sizes(CLI::App& app, BenchArguments& bench, const std::string& defaults = "(64)");
void add_plot(CLI::App& app, BenchArguments& bench);
void add_csv(CLI::App& app, BenchArguments& bench, const char* description);
void add_window(CLI::App& app, BenchArguments& bench);
void add_rate(CLI::App& app, BenchArguments& bench, const std::string& unit,
              const std::string& description);
// The first of the address that others give as a whole.
void add_wire(CLI::App& app, BenchArguments& bench, const char* names = "--wire");
// `netio bench scan`.
void add_scan(CLI::App& app, BenchArguments& bench);

// A number within bounds.
template <typename Take>
void add_number(CLI::App& app, const char* name, std::uint64_t least, std::uint64_t most, Take take,
                const char* description) {
  add_parsed(
      app, name, "N", parse_count,
      [=](std::uint64_t count) {
        if (count < least || count > most) {
          throw CLI::ValidationError(name, fmt::format("is {} to {}", least, most));
        }
        take(static_cast<std::uint32_t>(count));
      },
      description);
}

inline void add_bytes(CLI::App& app, const char* name, std::uint64_t& into,
                      const char* description) {
  add_parsed(
      app, name, "BYTES", parse_bytes, [&into](std::uint64_t bytes) { into = bytes; }, description);
}

}  // namespace netio::cli

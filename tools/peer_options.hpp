// The options of a command that say where it meets its peers, and what it does when the network
// fails; and how the values are read that several commands take.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "arguments.hpp"

namespace netio::cli {

// Who is at the other end, and who binds unless told otherwise.
struct Side {
  std::string_view peer;
  bool binds = false;
  bool sends = true;
  bool resumes = true;  // the pattern keeps what is not acknowledged, or hears of what is kept
};

void add_peer(CLI::App& app, PeerArguments& peer, const Side& side);
// All of them but the address, and who binds.
void add_settings(CLI::App& app, PeerArguments& peer, const Side& side);

// Why two commands cannot meet there; empty if they can.
[[nodiscard]] std::string why_no_address(const std::string& address);

// Throw std::invalid_argument, which says what the value may be.
[[nodiscard]] std::size_t parse_message_bytes(const std::string& text);
[[nodiscard]] std::uint64_t parse_more_than_none(const std::string& text);
[[nodiscard]] std::chrono::nanoseconds parse_more_than_no_time(const std::string& text);

}  // namespace netio::cli

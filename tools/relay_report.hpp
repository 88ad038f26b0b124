// What `netio relay` has to report at its end, in words for a person and as JSON for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <netio/books.hpp>
#include <netio/forward.hpp>

#include "exit_code.hpp"
#include "summary.hpp"

namespace netio::cli {

// One side of a relay.
struct RelaySide {
  std::vector<std::string> addresses;
  PeerCounts peers;
  std::uint64_t here = 0;  // peers, at the end
  Books books;
  Counters counters;
};

struct RelaySummary {
  std::string pattern;
  ExitCode code = ExitCode::done;
  std::string error;   // empty: none
  double seconds = 0;  // in which both sides had a peer
  ForwardBooks passed;
  RelaySide from;
  RelaySide to;
};

// Lines, the last one ended.
[[nodiscard]] std::string to_text(const RelaySummary& summary);
// An object, indented, its last line ended.
[[nodiscard]] std::string to_json(const RelaySummary& summary);

}  // namespace netio::cli

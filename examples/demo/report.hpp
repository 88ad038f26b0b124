// What subscribers and trigger tell the read-out four times a second, and once more at their end.
// Both are the same program, so a plain struct will do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <netio/books.hpp>

namespace demo {

struct Report {
  std::uint32_t child = 0;  // which: the index of its role, or the trigger's
  std::uint32_t final = 0;  // the last one; a builder's ledger follows in the same message
  double seconds = 0;       // since a subscriber's first fragment, or the trigger was connected
  double cpu_seconds = 0;   // used since then
  // A subscriber's.
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;                       // checksum or size wrong
  std::uint64_t twice = 0;                         // seen before
  std::uint64_t out_of_order = 0;                  // behind a later one of the same link
  std::uint64_t delivered = 0;                     // by its socket's books
  std::uint64_t missed = 0;                        // the same
  decltype(netio::Books::dropped_by) missed_by{};  // as told by the gaps
  // The trigger's.
  std::uint64_t triggers = 0;
  std::uint64_t round_trips = 0;
  std::int64_t p50_ns = 0;  // of the round trips since the last report; in the final one: of all
  std::int64_t p99_ns = 0;
  std::int64_t p999_ns = 0;
  std::int64_t max_ns = 0;
};
static_assert(std::is_trivially_copyable_v<Report>);

// False if it is not one.
inline bool report_in(std::span<const std::byte> bytes, Report& report) noexcept {
  if (bytes.size() < sizeof report) return false;
  std::memcpy(&report, bytes.data(), sizeof report);
  return true;
}

}  // namespace demo

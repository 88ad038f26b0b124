// Which fragments came: one bit for each, by link and sequence. The whole is complete when every
// fragment is in exactly one of the builders' ledgers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fragment.hpp"

namespace demo {

class Ledger {
 public:
  enum class Entry : std::uint8_t { in_order, late, twice };
  // Enters a fragment, and says how it stands to those entered before.
  Entry enter(std::uint32_t link, std::uint64_t sequence);

  // As bytes, and back; unpack() answers false if they are no ledger.
  void pack(std::vector<std::byte>& to) const;
  bool unpack(std::span<const std::byte> from);

  [[nodiscard]] bool has(std::uint32_t link, std::uint64_t sequence) const noexcept;
  // Sequences above those that could have been sent.
  [[nodiscard]] std::uint64_t end(std::uint32_t link) const noexcept { return next_[link]; }

 private:
  std::array<std::vector<std::uint64_t>, link_count> bits_;
  std::array<std::uint64_t, link_count> next_{};  // one more than the largest entered
};

// The ledgers of all builders against what the card made.
struct Comparison {
  std::uint64_t once = 0;
  std::uint64_t missing = 0;
  std::uint64_t several = 0;  // in more than one ledger
  std::uint64_t unknown = 0;  // never made
  std::string first_fault;    // "link 3, fragment 1234 is missing"; empty without one
};
[[nodiscard]] Comparison compare(std::span<const Ledger> ledgers,
                                 const std::array<std::uint64_t, link_count>& made_by_link);

}  // namespace demo

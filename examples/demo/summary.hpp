// The last words of a run, to standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <netio/books.hpp>

#include "card.hpp"
#include "ledger.hpp"
#include "snapshot.hpp"

namespace demo {

struct Outcome {
  Snapshot last;
  double seconds = 0;  // from the card's start to the last acknowledgement
  bool interrupted = false;
  netio::Books books;
  std::uint64_t agains = 0;
  double cpu_seconds = 0;  // of this process, the card's thread included
};

void print_summary(const Outcome& outcome, const Card& card);

// Every fragment against the builders' ledgers; prints what comes of it. True if all is well.
bool verify(const Outcome& outcome, const Card& card, std::span<const Ledger> ledgers);

}  // namespace demo

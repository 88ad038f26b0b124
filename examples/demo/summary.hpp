// The last words of a run, to standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <netio/books.hpp>

#include "card.hpp"
#include "ledger.hpp"
#include "snapshot.hpp"
#include "subscriptions.hpp"

namespace demo {

struct Outcome {
  Snapshot last;
  double card_seconds = 0;
  double seconds = 0;  // from the card's start to the last acknowledgement
  bool interrupted = false;
  netio::Books books;
  double cpu_seconds = 0;  // of this process, the card's thread included
  netio::Counters counters;
  Subscriptions subscriptions;
};

void print_summary(const Outcome& outcome, const Card& card);

// Both print what comes of it, and answer true if all is well.
// The books of each subscription, at the read-out and at the subscriber.
bool verify_books(const Outcome& outcome, const Card& card);
// Every fragment against the builders' ledgers.
bool verify(const Outcome& outcome, const Card& card, std::span<const Ledger> ledgers);

}  // namespace demo

// Each subscription's books at both ends, and whether they are exact.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "summary.hpp"
#include "text.hpp"

namespace demo {

namespace {

// "1,234 (dropped new)", for each reason
std::string dropped_text(const netio::Books& books) {
  std::string text;
  for (std::size_t i = 0; i < books.dropped_by.size(); ++i) {
    if (books.dropped_by[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(books.dropped_by[i]),
                        netio::to_string(static_cast<netio::DropReason>(i)));
  }
  return text.empty() ? "0 dropped" : text;
}

std::string in_doubt_text(const netio::Books& books) {
  if (books.in_doubt == 0) return {};
  return fmt::format(" + {} in doubt", grouped(books.in_doubt));
}

std::uint64_t made_for(const Role& role, const Card& card) {
  std::uint64_t made = 0;
  for (std::uint64_t link = role.links.first; link <= role.links.last; ++link) {
    made += card.made_by_link()[link];
  }
  return made;
}

// What is wrong with the books of one subscription; empty if nothing is.
std::string fault_of(std::size_t index, const Subscription& at_readout, const Report& report,
                     const Card& card) {
  const netio::Books& books = at_readout.books;
  if (!at_readout.ended) return "the read-out has no last word of it";
  if (books.sent != books.acknowledged + books.dropped() + books.unsettled()) {
    return "the read-out's do not add up";
  }
  if (!at_readout.in_order) {
    // It was killed: its last report is of a moment before.
    return report.delivered > books.sent ? "more came than was sent" : "";
  }
  if (index != monitor_again_index && books.sent != made_for(roles[index], card)) {
    return fmt::format("{} were made", grouped(made_for(roles[index], card)));
  }
  if (books.unsettled() != 0) return "not all is acknowledged";
  if (report.delivered != books.acknowledged || report.fragments != report.delivered) {
    return "they do not agree on what was delivered";
  }
  if (report.missed != books.dropped() || report.missed_by != books.dropped_by) {
    return "they do not agree on what was dropped";
  }
  if (roles[index].policy == netio::Policy::block && report.missed != 0) {
    return "it was not to lose any";
  }
  if (report.damaged + report.twice + report.out_of_order != 0) return "fragments are faulty";
  return {};
}

}  // namespace

bool verify_books(const Outcome& outcome, const Card& card) {
  std::size_t exact = 0;
  std::size_t subscriptions = 0;
  print(stdout, "Books: the read-out's, and the subscriber's own\n");
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const Subscription& one = outcome.subscriptions.of(i);
    if (!one.came) continue;
    ++subscriptions;
    const Report& report = outcome.last.children[i];
    const std::string fault = fault_of(i, one, report, card);
    if (fault.empty()) ++exact;
    print(stdout,
          "  {:<14} {} sent = {} acknowledged + {}{} + {} unacknowledged; {}{} delivered, {} "
          "missed{}{}\n",
          roles[i].name, grouped(one.books.sent), grouped(one.books.acknowledged),
          dropped_text(one.books), in_doubt_text(one.books), grouped(one.books.unacknowledged),
          one.in_order ? "" : "killed, last report: ", grouped(report.delivered),
          grouped(report.missed), fault.empty() ? "" : ": WRONG, ", fault);
  }
  if (exact == subscriptions) {
    print(stdout,
          "Books exact: each of {} subscriptions adds up, and both ends agree where both lived.\n",
          subscriptions);
  } else {
    print(stdout, "BOOKS NOT EXACT: {} of {} subscriptions.\n", subscriptions - exact,
          subscriptions);
  }
  return exact == subscriptions;
}

}  // namespace demo

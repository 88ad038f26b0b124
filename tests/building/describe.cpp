// See describe.hpp.
#include "building/describe.hpp"

#include "building/play.hpp"

namespace netio::test {

using namespace detail;

namespace {

struct InWords {
  std::string operator()(const UnitHello& m) const {
    return "hello of " + text(m.source) + ", begins at " + text(m.begins) + ", settled " +
           text(m.settled) + ", sent " + text(m.sent_below) + " and before " + text(m.sent_before);
  }
  std::string operator()(const UnitDropped& m) const {
    return "has lost " + text(m.from) + " to " + text(m.below);
  }
  std::string operator()(const UnitMark& m) const { return "mark " + text(m.below); }
  std::string operator()(const UnitWaits& m) const { return "waits with " + text(m.event); }
  std::string operator()(const UnitWants&) const { return "wants a turn"; }
  std::string operator()(const UnitRests&) const { return "gives its turn back"; }
  std::string operator()(const UnitShort&) const { return "is short"; }
  std::string operator()(const UnitBusy& m) const { return m.busy ? "is busy" : "is busy no more"; }
  std::string operator()(const BuilderHello& m) const {
    return "hello of builder " + text(m.builder) + ", wanted " + text(m.wanted) + ", settled " +
           text(m.settled) + ", window " + text(m.window);
  }
  std::string operator()(const BuilderDone& m) const {
    return "settled " + text(m.settled) + ", returned " + text(m.returned);
  }
  std::string operator()(const BuilderGrant& m) const { return "grants " + text(m.event); }
  std::string operator()(const BuilderWanted& m) const { return "wanted " + text(m.from); }
  std::string operator()(const BuilderTurn&) const { return "gives a turn"; }
  std::string operator()(const BuilderAsks&) const { return "asks whether it is busy"; }
};

std::string in_words(const EventSpan& span) { return text(span.from) + " to " + text(span.below); }
std::string in_words(const Assignment& m) {
  const std::string to = m.builder == no_builder ? "nobody" : "builder " + text(m.builder);
  return in_words(m.span) + " is " + text(term_of(m.number)) + "." + text(m.number & UINT32_MAX) +
         " of " + to + (m.again ? ", again" : "");
}
std::string in_words(const std::vector<Assignment>& list) {
  std::string words;
  for (const Assignment& each : list) words += "; " + in_words(each);
  return words;
}

struct ManagersInWords {
  std::string operator()(const UnitToManager& m) const { return std::visit(*this, m); }
  std::string operator()(const ManagerToUnit& m) const { return std::visit(*this, m); }
  std::string operator()(const BuilderToManager& m) const { return std::visit(*this, m); }
  std::string operator()(const ManagerToBuilder& m) const { return std::visit(*this, m); }

  std::string operator()(const UnitJoins& m) const {
    std::string words = "joins, term " + text(m.term) + ", begins at " + text(m.begins) +
                        ", assigned " + text(m.assigned) + ", open";
    for (const EventSpan& each : m.open) words += " " + in_words(each);
    return words;
  }
  std::string operator()(const UnitProduced& m) const {
    return "produced " + text(m.below) + ", oldest " + text(m.oldest) + (m.busy ? ", busy" : "");
  }
  std::string operator()(const UnitWelcome& m) const {
    return "welcome to term " + text(m.term) + ", assigned " + text(m.assigned) + in_words(m.open);
  }
  std::string operator()(const UnitAssigned& m) const { return in_words(m.assignment); }
  std::string operator()(const UnitRevoked& m) const {
    return "builder " + text(m.builder) + " has nothing below " + text(m.below & UINT32_MAX);
  }
  std::string operator()(const UnitSettled& m) const { return "settled " + in_words(m.span); }
  std::string operator()(const UnitAsked&) const { return "asks"; }
  std::string operator()(const UnitStops& m) const { return "stops at " + text(m.at); }
  std::string operator()(const BuilderJoins& m) const {
    return "joins, term " + text(m.term) + ", newest " + text(m.newest_term);
  }
  std::string operator()(const BuilderReports& m) const {
    return "report " + text(m.number) + ", done " + text(m.done & UINT32_MAX);
  }
  std::string operator()(const BuilderWelcome& m) const {
    return "welcome to term " + text(m.term) + ", first " + text(m.first & UINT32_MAX) +
           in_words(m.open);
  }
  std::string operator()(const BuilderExpects& m) const { return in_words(m.assignment); }
  std::string operator()(const BuilderRevoked& m) const {
    return "nothing below " + text(m.below & UINT32_MAX);
  }
  std::string operator()(const BuilderLease& m) const { return "lease by " + text(m.number); }
};

}  // namespace

std::string describe(const WithManager& what) {
  if (const auto* message = std::get_if<ToManager>(&what)) {
    return std::visit(ManagersInWords{}, *message);
  }
  return std::visit(ManagersInWords{}, std::get<FromManager>(what));
}

std::string describe(const OnWire& what) {
  if (const auto* fragment = std::get_if<SentFragment>(&what)) {
    return "fragment " + text(fragment->head.event) + " of " + text(fragment->head.bytes) +
           " bytes";
  }
  if (const auto* message = std::get_if<UnitMessage>(&what)) {
    return std::visit(InWords{}, *message);
  }
  return std::visit(InWords{}, std::get<BuilderMessage>(what));
}

}  // namespace netio::test

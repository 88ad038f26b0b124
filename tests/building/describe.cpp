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
    return "dropped " + text(m.from) + " to " + text(m.below);
  }
  std::string operator()(const UnitMark& m) const { return "mark " + text(m.below); }
  std::string operator()(const UnitWaits& m) const { return "waits with " + text(m.event); }
  std::string operator()(const UnitWants&) const { return "wants a turn"; }
  std::string operator()(const UnitRests&) const { return "gives its turn back"; }
  std::string operator()(const UnitShort&) const { return "is short"; }
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
};

}  // namespace

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

// The connections of a schedule of event building, one for each pair of unit and builder. A
// connection keeps the order of what is on it. When it is cut, what is on it is lost, and each side
// hears of it in its own time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "building/play.hpp"

namespace netio::test {

struct Wire {
  std::uint32_t source = 0;
  std::uint32_t builder = 0;
  std::uint64_t id = 0;  // of the connection; each has another
  bool up = false;       // what is put on it arrives
  bool unit_has = false;
  bool builder_has = false;
  bool greeted = false;  // the builder has taken the unit's hello
  bool dialing = false;
  std::int64_t cut_off_until = 0;
  std::int64_t up_since = 0;
  std::int64_t greeted_since = 0;
  std::int64_t gone_since = 0;           // when the builder heard of its end
  std::array<std::size_t, 2> on_wire{};  // to the unit, to the builder
  std::array<bool, 2> refused{};
  std::array<std::int64_t, 2> last_at{};
};

class Wires {
 public:
  explicit Wires(Play& play);

  [[nodiscard]] Wire& of(std::uint32_t source, std::uint32_t builder) {
    return wires_[source * play_.drawn.plan.builders + builder];
  }
  [[nodiscard]] Wire& any() { return wires_[play_.any(wires_.size())]; }

  void dial_all();
  void dial(std::uint32_t source, std::uint32_t builder);
  void cut(std::uint32_t source, std::uint32_t builder, bool told_soon);
  void cut_off(Wire& wire, std::int64_t time);
  void no_more_faults();
  // False if the connection takes no more for now.
  bool put(Wire& wire, bool to_builder, OnWire what);

 private:
  void note_return(std::uint32_t builder);
  void made(Wire& wire);
  void tell_unit(Wire& wire, std::uint64_t id);
  void tell_builder(Wire& wire, std::uint64_t id);
  void arrive(Wire& wire, bool to_builder, std::uint64_t id, const OnWire& what);
  void deliver(Wire& wire, bool to_builder, std::uint64_t id, const OnWire& what);
  void hand_to_builder(Wire& wire, const OnWire& what);
  void tell_writable(Wire& wire, bool to_builder, std::uint64_t id);
  [[nodiscard]] bool lies(const OnWire& what);

  Play& play_;
  std::vector<Wire> wires_;
  std::uint64_t fragments_ = 0;
};

}  // namespace netio::test

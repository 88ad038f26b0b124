// The connections of units and builders to the manager of a schedule. Like those between units and
// builders, they keep the order; when one is cut, each side hears of it in its own time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "build/manager_messages.hpp"
#include "building/play.hpp"

namespace netio::test {

using ToManager = std::variant<detail::UnitToManager, detail::BuilderToManager>;
using FromManager = std::variant<detail::ManagerToUnit, detail::ManagerToBuilder>;
using WithManager = std::variant<ToManager, FromManager>;

// What a process does at its end of a connection. All but `lives` are called in its own time.
struct ManagerEnd {
  std::function<bool()> lives;
  std::function<void(std::function<void()>)> put;  // what the process does next
  std::function<void()> connected;
  std::function<void(const WithManager&)> received;
  std::function<void()> disconnected;
  std::function<void()> writable;
};

class ManagerWire {
 public:
  ManagerWire(Play& play, std::string client, ManagerEnd client_end, ManagerEnd manager_end)
      : play_(play),
        client_(std::move(client)),
        ends_{std::move(client_end), std::move(manager_end)} {}

  void dial();
  void cut(bool told_soon);
  void cut_off(std::int64_t time);
  void no_more_faults() { cut_off_until_ = 0; }
  void client_died();
  void manager_died();
  // False if the connection takes no more for now. `now_ns` is the sender's time.
  bool put(bool to_manager, const WithManager& message, std::int64_t now_ns = 0);
  template <typename Message>
  bool put(bool to_manager, const Message& message, std::int64_t now_ns = 0) {
    if constexpr (std::is_constructible_v<ToManager, Message>) {
      return put(to_manager, WithManager(ToManager(message)), now_ns);
    } else {
      return put(to_manager, WithManager(FromManager(message)), now_ns);
    }
  }
  [[nodiscard]] bool up() const { return up_ && has_[0] && has_[1]; }
  [[nodiscard]] std::int64_t up_since() const { return up_since_; }

 private:
  static constexpr std::size_t manager = 1;

  void made();
  void tell(std::size_t end, std::uint64_t id);
  void tell_writable(std::size_t end, std::uint64_t id);

  Play& play_;
  std::string client_;
  std::array<ManagerEnd, 2> ends_;
  std::uint64_t id_ = 0;
  bool up_ = false;
  std::array<bool, 2> has_{};  // the end knows of the connection
  bool dialing_ = false;
  std::int64_t cut_off_until_ = 0;
  std::int64_t up_since_ = 0;
  std::array<std::size_t, 2> on_wire_{};  // to this end
  std::array<bool, 2> refused_{};         // the other end has to be told that it may send
  std::array<std::int64_t, 2> last_at_{};
};

class ManagerWires {
 public:
  explicit ManagerWires(Play& play);

  [[nodiscard]] ManagerWire& of_unit(std::uint32_t source) { return wires_[source]; }
  [[nodiscard]] ManagerWire& of_builder(std::uint32_t builder) {
    return wires_[play_.drawn.plan.sources + builder];
  }
  [[nodiscard]] ManagerWire& any() { return wires_[play_.any(wires_.size())]; }
  void dial_all();
  void manager_died();
  void no_more_faults();

 private:
  Play& play_;
  std::vector<ManagerWire> wires_;
};

}  // namespace netio::test

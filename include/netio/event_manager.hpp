// EventManager: gives ranges of events to builder units, and takes them away from builders that are
// gone. A system whose plan is `managed` has one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <netio/books.hpp>
#include <netio/context.hpp>
#include <netio/event_building.hpp>
#include <netio/export.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class ManagerCore;
}

// The options of an event manager. `plan` has to be given.
struct ManagerOptions {
  BuildPlan plan{};  // the same at all units and builders; `managed` is true
  // A builder hands events over only while it has a lease, which it renews four times as often. If
  // it does not report for two leases, its ranges are given to other builders. From 10 ms to a day.
  // A new manager assigns nothing for two leases, so that all leases of an earlier one are over.
  std::chrono::nanoseconds lease = std::chrono::seconds(1);
  // A range is assigned when all units have produced it. A unit that is gone for as long as this,
  // or that produces nothing while the others are further, is not waited for until it goes on. From
  // 10 ms to a day.
  std::chrono::nanoseconds wait = std::chrono::seconds(1);
  // Of the connections to units and builders. What is said there about sending, tags,
  // acknowledgements and the size of messages has no meaning here.
  SocketOptions socket{};
};

// Whether a builder may hand events over.
enum class LeaseState : std::uint8_t {
  none,     // it has not reported, or its lease is over
  held,     // it reported within the last lease
  overdue,  // its lease is over; its ranges are taken away if it does not report again
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(LeaseState state) noexcept;

// What a manager has done, and knows at this moment. An assignment is a range of events, or a part
// of one, that a builder was given.
struct ManagerBooks {
  // A unit, as it has told the manager.
  struct Unit {
    bool connected = false;  // it has joined, and its connection is up
    bool behind = false;     // it is not waited for
    bool busy = false;       // its store is full
    EventId produced;        // it has produced everything below
  };
  // A builder, as it has told the manager.
  struct Builder {
    bool connected = false;               // it has joined, and its connection is up
    LeaseState lease = LeaseState::none;  // whether it may hand events over
    std::uint32_t weight = 0;             // of its share; 0: it never joined
    std::uint32_t credit = 0;             // how many assignments it takes at a time
    std::uint64_t open = 0;               // assignments that it has
    std::uint64_t done = 0;               // assignments that it is done with
    std::vector<std::string> addresses;   // where units reach it
  };
  std::uint64_t assigned = 0;     // assignments of events that were not assigned before
  std::uint64_t again = 0;        // to another builder, or after another manager
  std::uint64_t settled = 0;      // assignments that a builder was done with
  std::uint64_t revoked = 0;      // assignments that were taken away
  std::uint64_t open = 0;         // assignments that builders have
  std::uint64_t waiting = 0;      // spans of events that wait for another builder
  std::uint64_t events = 0;       // event numbers in `assigned`; some may have no event
  std::uint64_t term = 0;         // of this manager; 0: it does not assign yet
  EventId produced;               // no unit is known to have produced anything at or above this
  EventId assigned_below;         // everything below was assigned, or does not exist
  std::vector<Unit> units;        // by their numbers
  std::vector<Builder> builders;  // by their numbers
};

// Gives each range of events to a builder unit when all units have produced it. Units and builders
// connect to it. It tells units at which addresses they reach the builders. It keeps nothing on
// disk: if it is killed, a new one learns from units and builders what is settled, and assigns the
// rest again. Whoever starts managers sees to it that only one is at work at a time.
//
// Owner thread only. No call blocks. Call-backs run as those of a Socket, and may do the same.
class NETIO_API EventManager {
 public:
  // Throws Error for options that make no sense.
  EventManager(Context& context, const ManagerOptions& options);
  ~EventManager();
  EventManager(const EventManager&) = delete;
  EventManager& operator=(const EventManager&) = delete;

  // Listens for units and builders: see Socket::bind(). May be called any number of times.
  std::string bind(std::string_view address);

  // Builds no event at or above this one, except those that were assigned before. Units are told to
  // end there. Calls `then` once, from the loop, when all units have produced everything below, and
  // all of it is settled. A second call replaces the first one, and its `then`. To end a run as
  // soon as possible, give books().produced.
  void stop(EventId at, std::function<void()> then);
  // Assigns nothing more, says good-bye, and calls `then` once, from the loop. What is open stays
  // with the units, and with the builders as long as they have a lease. A second call only sets a
  // new `linger` and another `then`, which is called also if the first one was.
  void close(std::chrono::nanoseconds linger, std::function<void()> then);

  // Set the calls for a unit or a builder that has joined:
  void on_unit_up(std::function<void(std::uint32_t source, const PeerInfo&)> call);
  void on_builder_up(std::function<void(std::uint32_t builder, const PeerInfo&)> call);
  // Set the calls for the end of its connection:
  void on_unit_down(std::function<void(std::uint32_t source, const PeerInfo&, const Down&)> call);
  void on_builder_down(
      std::function<void(std::uint32_t builder, const PeerInfo&, const Down&)> call);
  // Sets the call for a peer that cannot work with this manager, with the reason for a person:
  // another plan, a number that is connected already, a breach of the rules, or another kind of
  // socket. The connection is ended. A unit or a builder that had joined is told of by its
  // on_..._down, too.
  void on_refused(std::function<void(const PeerInfo&, std::string_view why)> call);
  // Sets the call for another manager, whose term is not below that of this one. This manager does
  // nothing more: all connections are ended, and who connects is refused. Destroy it.
  void on_superseded(std::function<void(std::uint64_t term)> call);
  // Sets the call for the end of this manager because there was no memory, with the reason for a
  // person. It does nothing more, as above. A new manager may be made.
  void on_failed(std::function<void(std::string_view why)> call);

  // A snapshot. Allocates memory.
  [[nodiscard]] ManagerBooks books() const;
  // What the socket of this manager counted: see Socket::counters().
  [[nodiscard]] Counters counters() const;

 private:
  std::unique_ptr<detail::ManagerCore> core_;
};

}  // namespace netio

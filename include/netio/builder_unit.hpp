// BuilderUnit: receives the fragments of every read-out unit, and hands over whole events.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <netio/books.hpp>
#include <netio/context.hpp>
#include <netio/event_building.hpp>
#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class BuilderCore;
class EventPart;
class EventReleases;
struct BuiltEvent;
}  // namespace detail

// The options of a builder unit. `plan` and `builder` have to be given.
struct BuilderOptions {
  BuildPlan plan{};           // the same at all units and builders
  std::uint32_t builder = 0;  // the number of this one, below plan.builders
  // How long an event waits for a unit that is able to send its fragment and does not. Without an
  // event manager, a unit whose store is full is not able to, and is waited for as long as it
  // answers that it still is. Fragments of the event that come meanwhile make it wait longer, twice
  // this at most.
  std::chrono::nanoseconds deadline = std::chrono::seconds(1);
  // Without an event manager: how long an event waits for a unit that this builder has not met
  // since it began, or that it still waited for when it lost the last of its units. They come back
  // one after the other, and each tries in pauses of up to SocketOptions::reconnect_after_max. It
  // counts from when the first one came. If it is shorter than the deadline, it is that.
  std::chrono::nanoseconds meet_within = std::chrono::seconds(10);
  // The bytes of each unit that may be here, and be on their way, for events that are not handed
  // over. Each fragment counts 64 bytes more than it has, and one of segments the table of their
  // sizes, too. A larger fragment is sent when its event is the oldest. 0: what the context has
  // room for, up to 4 MiB.
  std::size_t window_bytes = 0;
  // While the user keeps events of more bytes than this, none is handed over, and units are held
  // back. A single larger event may be kept. 0: a quarter of the receive pool of the context, or
  // less if ContextOptions::large_bytes_max is small.
  std::size_t keep_bytes_max = 0;
  // An event that is kept is settled when it is released, and not when it was handed over: until
  // then its units hold its fragments.
  bool settle_released = false;
  // So many units may send at a time, in turn; 0: all of them.
  std::uint32_t turns = 0;
  // With an event manager: of all builders' weights, this one's is the share of events that it
  // gets, as long as it is fast enough.
  std::uint32_t weight = 1;
  // With an event manager: how many ranges it is given at a time. With more, its units send while
  // the manager hears of what is done; with fewer, less has to be built again if it fails.
  std::uint32_t credit = 8;
  // Of the connections to units. What is said there about sending, tags and acknowledgements has no
  // meaning here.
  SocketOptions socket{};
};

// The fragment of one source of an event.
struct EventFragment {
  MessageView message;                           // its bytes; empty if there is none
  FragmentStatus status = FragmentStatus::good;  // as the unit said
  Missing missing = Missing::no;                 // why there is none
  bool here = false;                             // there is one; it may have no bytes

  // The bytes.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return message.bytes(); }
};

// The fragments of an event that the user has kept. Movable; may be destroyed, which releases it,
// on any thread, also after the builder unit is gone.
class NETIO_API KeptEvent {
 public:
  // The fragment of one source, as EventFragment has it.
  struct Fragment {
    Message message;                               // its bytes; empty if there is none
    FragmentStatus status = FragmentStatus::good;  // as the unit said
    Missing missing = Missing::no;                 // why there is none
    bool here = false;                             // there is one; it may have no bytes

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {  // the bytes
      return message.bytes();
    }
  };

  KeptEvent() noexcept = default;  // empty
  // The other one is empty afterwards. An event that is assigned to is released before:
  KeptEvent(KeptEvent&& other) noexcept = default;
  KeptEvent& operator=(KeptEvent&& other) noexcept;
  ~KeptEvent() { release(); }

  // As of Event:
  [[nodiscard]] EventId id() const noexcept { return id_; }
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] bool again() const noexcept { return again_; }
  [[nodiscard]] const std::vector<Fragment>& fragments() const noexcept { return fragments_; }
  // Gives the memory back, and is empty afterwards.
  void release() noexcept;

 private:
  friend class Event;
  friend class detail::BuilderCore;
  EventId id_;
  EventId position_;  // as its builder knows it
  bool complete_ = false;
  bool again_ = false;
  std::vector<Fragment> fragments_;  // by source
  std::shared_ptr<detail::EventReleases> releases_;
};

// An event, in the memory that its fragments came in. Valid until the call-back returns.
class NETIO_API Event {
 public:
  // Its run and its number.
  [[nodiscard]] EventId id() const noexcept;
  // Every source has sent its fragment, or has none.
  [[nodiscard]] bool complete() const noexcept;
  // An earlier run of this builder, or another builder, may have handed it over.
  [[nodiscard]] bool again() const noexcept;
  // The number of sources.
  [[nodiscard]] std::size_t size() const noexcept;
  // The fragment of this source, below size().
  [[nodiscard]] EventFragment operator[](std::size_t source) const noexcept;
  // Of all fragments, with the tables of those that are of segments.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Keeps it for as long as you like, within BuilderOptions::keep_bytes_max: a second call returns
  // an empty one. Throws std::bad_alloc; nothing is kept then.
  [[nodiscard]] KeptEvent keep() const;

  // For the library.
  Event(detail::BuilderCore& core, const detail::BuiltEvent& event) noexcept
      : core_(&core), event_(&event) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() = default;

 private:
  detail::BuilderCore* core_;
  const detail::BuiltEvent* event_;
};

// Events of one range that are handed over together, in their order: at least one. Valid until the
// call-back returns.
class NETIO_API EventRange {
 public:
  // What is said of one event:
  struct Entry {
    EventId id;             // its run and its number
    bool complete = false;  // as of Event
    bool again = false;     // as of Event
  };
  // All of them.
  [[nodiscard]] std::span<const Entry> events() const noexcept;
  // The number of sources.
  [[nodiscard]] std::size_t sources() const noexcept;
  // The fragments of this source, below sources(), next to each other: one for each of events(), in
  // their order. To keep one, keep its message; that is in no count of the builder's.
  [[nodiscard]] std::span<const EventFragment> of(std::size_t source) const noexcept;
  // Of all fragments, with the tables of those that are of segments.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  // For the library.
  explicit EventRange(const detail::EventPart& part) noexcept : part_(&part) {}
  EventRange(const EventRange&) = delete;
  EventRange& operator=(const EventRange&) = delete;
  ~EventRange() = default;

 private:
  const detail::EventPart* part_;
};

// What a builder has done, and has at this moment.
struct BuilderBooks {
  // A count for each reason. That of Missing::no: the unit said that it has none.
  using MissingCounts = std::array<std::uint64_t, static_cast<std::size_t>(Missing::count_)>;
  // Of fragments of one source: received = built + incomplete + late + open.
  struct Source {
    std::uint64_t received = 0;    // that came
    std::uint64_t built = 0;       // handed over in complete events
    std::uint64_t incomplete = 0;  // handed over in others
    std::uint64_t late = 0;        // came when their event was handed over or settled
    std::uint64_t open = 0;        // of open events
    bool connected = false;        // the unit is
    bool busy = false;             // without an event manager: its store is full, so it is not late
    MissingCounts missing_by{};    // events that were handed over without a fragment of it
  };
  std::uint64_t complete = 0;    // events that were handed over with all that exists of them
  std::uint64_t incomplete = 0;  // others
  std::uint64_t again = 0;       // of both, those that an earlier run may have handed over
  std::uint64_t open = 0;        // events that wait
  std::uint64_t bytes = 0;       // of fragments that were handed over, as Event::bytes()
  // Of open events, in bytes, as BuilderOptions::window_bytes counts them.
  std::uint64_t open_bytes = 0;
  std::uint64_t open_bytes_max = 0;  // the most it was
  // The same of events that are kept.
  std::uint64_t kept_bytes = 0;
  std::uint64_t kept_bytes_max = 0;  // the most it was
  std::vector<Source> sources;       // by their numbers
};

// What one builder has handed over of a run: see BuilderUnit::on_run_end().
struct RunBooks {
  std::uint64_t run = 0;         // its number
  std::uint64_t complete = 0;    // events that were handed over with all that exists of them
  std::uint64_t incomplete = 0;  // others
  std::uint64_t again = 0;       // of both, those that an earlier run may have handed over
  std::uint64_t bytes = 0;       // of their fragments, as Event::bytes()
  // By the numbers of sources: events that were handed over without a fragment of the source.
  std::vector<BuilderBooks::MissingCounts> missing_by;
};

// Builds the events of its ranges. An event is handed over when every source has sent its fragment
// or said that it has none, or when its deadline is over. Events are handed over in their order.
//
// Owner thread only. No call blocks. Call-backs run as those of a Socket, and may do the same.
class NETIO_API BuilderUnit {
 public:
  // Throws Error for options that make no sense, or if the context has too little memory for them.
  BuilderUnit(Context& context, const BuilderOptions& options);
  ~BuilderUnit();
  BuilderUnit(const BuilderUnit&) = delete;
  BuilderUnit& operator=(const BuilderUnit&) = delete;

  // The options of a context that has enough memory for a builder of these options: `context`, with
  // larger sizes where they are needed. Throws Error for options that make no sense.
  [[nodiscard]] static ContextOptions with_memory(const BuilderOptions& options,
                                                  ContextOptions context = {});

  // Listens for units: see Socket::bind(). May be called for several addresses, as on a host with
  // several network interfaces: units spread over them (ReadoutUnit::connect()). With an event
  // manager at most 16.
  std::string bind(std::string_view address);

  // Connects to the event manager, which gives this builder its ranges, and tells units where it is
  // bound. For a plan that is `managed`; once. Throws Error, as Socket::connect() does.
  void join(std::string_view manager);
  // Set the calls for the event manager. If it is gone, no event is handed over when the lease is
  // over. They are as on_up(), on_down() and on_refused() of a ReadoutUnit for its builders:
  void on_manager_up(std::function<void(const PeerInfo&)> call);
  void on_manager_down(std::function<void(const PeerInfo&, const Down&)> call);
  void on_manager_refused(std::function<void(std::string_view why)> call);

  // Sets the call for events. Until then units are accepted, their fragments wait here, and units
  // are held back when their windows are full. The builder is done with an event when the call has
  // returned, or later if it was kept (BuilderOptions::settle_released). If the call destroys the
  // builder unit, the event stays valid until the call returns, but its units are not told that it
  // is settled: the next run of this builder, or another builder, is given it again.
  void on_event(std::function<void(const Event&)> call);
  // Sets the call in place of that of on_event(), for events by range: those of one range that are
  // ready together are handed over in one call. It waits for no event that the call for single
  // events would not have waited for, so a range may come in several parts. The builder is done
  // with the events when the call has returned. The call may destroy the builder unit, as that of
  // on_event() may. Throws std::bad_alloc, and Error with
  // BuilderOptions::settle_released, for which events have to be kept one by one.
  void on_range(std::function<void(const EventRange&)> call);

  // Sets the call for a run that is over, without an event manager: each event of it that this
  // builder has was handed over. That is so when every unit has said that it has nothing more of
  // the run, or is not waited for any more: what such a unit sends later is late. It is called
  // before the first event of the next run is handed over, and not after close(). A run of which
  // there was no event here is left out if its end is heard of together with that of a later one,
  // or if an earlier process was done with it.
  //
  // The books count what was handed over since the end of the run before, or since a call was set
  // first. They are valid until the call returns. The call may do what that of on_event() may; to
  // end the builder after a run, close() it, because units are told then what is settled. If the
  // call destroys the builder, the next process with its number is given the last events again, and
  // tells of the end of the run once more. Throws std::bad_alloc, and Error for a plan that is
  // `managed`.
  void on_run_end(std::function<void(const RunBooks&)> call);

  // Sets the call for a unit that is connected, has the plan of this builder, and has begun: see
  // ReadoutUnit::advance().
  void on_up(std::function<void(std::uint32_t source, const PeerInfo&)> call);
  // Sets the call for a unit whose connection ended.
  void on_down(std::function<void(std::uint32_t source, const PeerInfo&, const Down&)> call);
  // Sets the call for who cannot work with this builder, with the reason for a person: another
  // plan, a source that is connected already, a breach of the rules, or another kind of socket. The
  // connection is ended.
  void on_refused(std::function<void(const PeerInfo&, std::string_view why)> call);

  // Hands nothing over, and does not tell of the end of runs, until resume(). Units go on as far as
  // their windows allow. To end in order with events that are kept, pause, release them on whatever
  // thread they are, and close().
  void pause() noexcept;
  // Goes on in another turn of the loop.
  void resume() noexcept;

  // Takes no more fragments, tells units what is settled, says good-bye, and calls `then` once,
  // from the loop. What is not handed over stays with the units, and so does what is kept with
  // BuilderOptions::settle_released, which is not waited for. A second call only sets a new
  // `linger` and another `then`, which is called also if the first one was.
  void close(std::chrono::nanoseconds linger, std::function<void()> then);

  // Sets the call for its end, once: behind the `then` of close(), and also if Context::close() has
  // closed it.
  void on_closed(std::function<void()> call);

  // A snapshot. Allocates memory.
  [[nodiscard]] BuilderBooks books() const;
  // How full the memory for kept events is, from 0 to 1: books().kept_bytes as a share of
  // keep_bytes_max. No event is handed over that does not fit the rest.
  [[nodiscard]] double fill() const noexcept;
  // Set the calls for fill() reaching SocketOptions::high_watermark of BuilderOptions::socket, and
  // for fill() falling to low_watermark after that. Both are called at the end of a turn:
  void on_high_watermark(std::function<void()> call);
  void on_low_watermark(std::function<void()> call);
  // The connections to units, by the numbers of sources, as Socket::peers() has them. That of a
  // unit that is not connected is not `up`. Allocates memory.
  [[nodiscard]] std::vector<PeerSnapshot> peers() const;
  // What the socket of this builder counted: see Socket::counters(). Messages of the protocol are
  // counted there as fragments are.
  [[nodiscard]] Counters counters() const;
  // Without an event manager: everything below it is settled. Units are told at the end of a range
  // or before, and hold it until then. It moves on after on_event() and on_run_end() have returned.
  [[nodiscard]] EventId settled() const noexcept;

 private:
  std::unique_ptr<detail::BuilderCore> core_;
};

}  // namespace netio

// A builder unit without wires: it opens an event with its first fragment, and hands the event over
// when every source has sent its fragment or has none, or when the event's deadline is over. Events
// are handed over in their order. Time and messages come in by calls, and messages are sent through
// BuilderOutput. Owner thread only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/growing_ring.hpp"
#include "build/build_messages.hpp"
#include "build/build_plan.hpp"
#include "build/builder_source.hpp"
#include "build/fragment_run.hpp"
#include "build/kept_events.hpp"
#include "build/objection.hpp"
#include "build/open_events.hpp"
#include "build/plan_range.hpp"
#include "build/settled_fragments.hpp"

namespace netio::detail {

struct BuilderSettings {
  BuildPlan plan;
  std::uint32_t builder = 0;
  std::uint64_t builder_run = 0;   // drawn by the owner; never 0
  std::uint64_t window_bytes = 0;  // of each source, as a sum of window_cost()
  // How long an event waits for a source that is able to send and does not. Fragments of the event
  // that come meanwhile make it wait longer, twice this at most.
  std::int64_t deadline_ns = 0;
  // The same for a source that this builder has not met since it began, or that it still waited for
  // when it lost the last one. It is the deadline at least.
  std::int64_t meet_within_ns = 0;
  // While the user keeps events of more than this cost, no event is handed over. An event that is
  // larger is handed over when nothing is kept.
  std::uint64_t keep_bytes_max = UINT64_MAX;
  // Events that are kept are settled when they are released, and not before.
  bool done_with_release = false;
  std::uint32_t turns = 0;  // as many units send at a time; 0: all of them

  // What makes no sense in these settings, in words for the user; empty if nothing does.
  [[nodiscard]] std::string fault() const;
};

struct BuiltEvent {
  EventId id;
  std::span<const OpenFragment> fragments;  // by source
  std::span<const Missing> missing;         // by source
  bool full = false;                        // every source has a fragment of it
  bool complete = false;                    // nothing is missing
  bool again = false;       // an earlier run of this builder may have handed it over
  std::uint64_t bytes = 0;  // of the fragments
};

struct BuilderBooks {
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t again = 0;          // of both
  std::uint64_t held_cost = 0;      // of open events
  std::uint64_t held_cost_max = 0;  // the most it has been
  std::uint64_t kept_cost = 0;      // of events that were handed over and are kept
  std::uint64_t kept_cost_max = 0;  // the most it has been
};

// These are called from within calls of the protocol. They must not call it back.
class BuilderOutput {
 public:
  // False if the wire takes no more for now. The owner then calls writable() when it does.
  virtual bool say(std::uint32_t source, const BuilderMessage& message) noexcept = 0;
  // True: the user keeps the event, and the owner calls release() when he is done with it. False:
  // the memory of its fragments is the owner's again.
  virtual bool hand_over(const BuiltEvent& event) noexcept = 0;
  // Units are about to hear that what was handed over is settled, or nothing more is ready.
  virtual void handed_over() noexcept {}
  // All that this builder has below was handed over, or never will be: the end of a run, or a
  // position in a later run than the one before. `earlier`: an earlier run of this builder was done
  // with it. With a manager, what comes are assignments.
  virtual void runs_closed(EventId, bool) noexcept {}
  // The fragment came too late for its event, or broke a rule.
  virtual void drop(std::uint32_t source, EventId event, std::uint64_t memory) noexcept = 0;
  // The unit breaks the rules. The owner ends the connection.
  virtual void refuse(std::uint32_t source, std::string why) = 0;
  // Asked before each hand-over. After false the owner calls retry() when it may be true.
  virtual bool may_hand_over(EventId) noexcept { return true; }
  // The same before the end of a range. A manager's assignments end all the same.
  virtual bool may_end_range() noexcept { return true; }

 protected:
  ~BuilderOutput() = default;
};

// Where it says so, a call throws std::bad_alloc, and has changed nothing then. The owner may call
// again, or end the connection: what did not arrive is sent once more on the next one.
class BuilderProtocol {
 public:
  // The settings have no fault(). Throws std::bad_alloc.
  BuilderProtocol(const BuilderSettings& settings, BuilderOutput& output);

  // To working with a unit of this plan and source, which looks for this builder.
  [[nodiscard]] Objection objection_to(const BuildPlan& plan, std::uint32_t source,
                                       std::uint32_t builder) const;
  // A connection began with this hello. Without an objection it belongs to hello.source from now
  // on. Throws std::bad_alloc.
  [[nodiscard]] Objection connected(const UnitHello& hello);
  void disconnected(std::uint32_t source) noexcept;
  // Throws std::bad_alloc.
  void received(std::uint32_t source, const UnitMessage& message);
  // The memory is the builder's until hand_over() or drop(), which may come within the call. Throws
  // std::bad_alloc; the memory is still the caller's then.
  void received(std::uint32_t source, const Fragment& fragment, std::uint64_t memory) {
    add(source, fragment, memory);
    added(source);
  }
  // The same for fragments that came together: add() each of them, and then call added(). Nothing
  // is handed over in between.
  void add(std::uint32_t source, const Fragment& fragment, std::uint64_t memory);
  // The same for all fragments of a run. False if they have to be added one by one; nothing has
  // changed then.
  [[nodiscard]] bool add(std::uint32_t source, const FragmentRun& run);
  void added(std::uint32_t source) noexcept;
  void writable(std::uint32_t source) noexcept;
  // Tells each unit what is settled, because this builder is about to end.
  void tell_settled() noexcept;

  // The user is done with an event that he kept. False if there is none of this id.
  bool release(EventId event) noexcept;

  // For a builder with a manager:
  // Drops all that lies below, because it was given to other builders.
  void forsake(EventId below) noexcept;
  // may_hand_over() may be true now.
  void retry() noexcept;
  // So many events may be handed over before units hear that they are settled. By default not
  // many, because the user may need long for each.
  static constexpr std::uint32_t closed_untold_default = 32;
  void settle_together(std::uint32_t events) noexcept { closed_untold_max_ = events; }

  // The time: to be called at next_ns(), and before other calls when the time has moved on. A leap,
  // such as that of a process that was stopped, counts as a small step, because what waits in the
  // wires has to be received before anything is over.
  void at(std::int64_t now_ns) noexcept;
  // When to call at() next, in the time of at(). INT64_MAX: nothing waits for a time.
  [[nodiscard]] std::int64_t next_ns() const noexcept;

  [[nodiscard]] const BuilderSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] const BuilderBooks& books() const noexcept { return books_; }
  [[nodiscard]] const SourceBooks& books(std::uint32_t source) const noexcept {
    return sources_[source].books;
  }
  // It has said that its store is full, and that its events wait for builders.
  [[nodiscard]] bool is_busy(std::uint32_t source) const noexcept {
    return sources_[source].connection.is_busy;
  }
  [[nodiscard]] std::size_t open_events() const noexcept { return events_.size(); }
  // Everything below was handed over, or never will be.
  [[nodiscard]] EventId closed() const noexcept { return closed_; }
  [[nodiscard]] EventId settled() const noexcept { return settled_; }
  // The end of the last range, or the last assignment, that is settled.
  [[nodiscard]] EventId settled_end() const noexcept { return settled_end_; }

 private:
  // The end of ranges that some source has passed. They end when the other sources have passed it,
  // or are late.
  struct RangeEnd {
    EventId at;
    std::int64_t reached_ns = 0;
  };
  // What the sources that are not past `at` are waited for.
  struct Waiting {
    EventId at;
    const OpenEvent* event = nullptr;  // null: the end of a range
    std::int64_t since_ns = 0;
    std::int64_t moved_ns = 0;
  };

  // builder_protocol.cpp: what units say.
  void take(std::uint32_t number, const UnitHello& hello);
  void take(std::uint32_t number, const UnitDropped& dropped);
  void take(std::uint32_t number, const UnitMark& mark);
  void take(std::uint32_t number, const UnitWaits& waits);
  void take(std::uint32_t number, const UnitWants& wants);
  void take(std::uint32_t number, const UnitRests& rests);
  void take(std::uint32_t number, const UnitShort& is_short);
  void take(std::uint32_t number, const UnitBusy& is);
  [[nodiscard]] Objection objection_to(const UnitHello& hello) const;
  [[nodiscard]] const char* breach(const BuilderSource& source, const Fragment& fragment);
  [[nodiscard]] bool has_turn(const BuilderSource& source) const noexcept;
  [[nodiscard]] bool flows(const BuilderSource& source, const FragmentRun& run) noexcept;
  [[nodiscard]] bool may_end_wait(std::uint32_t number, EventId event) const noexcept;
  [[nodiscard]] bool has_all(std::uint32_t number, std::uint64_t sent);
  void learn(const UnitHello& hello) noexcept;
  void count_received(BuilderSource& source, std::uint64_t fragments, std::uint64_t cost) noexcept;
  void make_room(std::size_t more = 1);
  void move_on(BuilderSource& source, EventId position) noexcept;
  void take_settled(EventId below) noexcept;
  void note_return() noexcept;
  void end_connection(BuilderSource& source) noexcept;
  void refuse(std::uint32_t number, std::string why);

  // builder_closing.cpp: what is over, and is handed over.
  void go_on() noexcept;
  void close_all() noexcept;
  void tell_closed() noexcept;
  [[nodiscard]] bool waits_for_time() const noexcept;
  [[nodiscard]] bool close_next() noexcept;
  [[nodiscard]] bool close_event(OpenEvent& event) noexcept;
  [[nodiscard]] Waiting waiting_for(const OpenEvent& event) const noexcept;
  [[nodiscard]] std::int64_t since_ns(std::int64_t opened_ns) const noexcept;
  void close_range() noexcept;
  [[nodiscard]] bool is_over(const Waiting& waiting) noexcept;
  [[nodiscard]] bool awaits(const Waiting& waiting, const BuilderSource& source,
                            std::uint32_t number) const noexcept;
  [[nodiscard]] std::int64_t over_ns(const Waiting& waiting,
                                     const BuilderSource& source) const noexcept;
  [[nodiscard]] std::int64_t waits_ns(const BuilderSource& source) const noexcept;
  [[nodiscard]] bool user_has_room(const OpenEvent& event) noexcept;
  void ask_if_busy(std::uint32_t number) noexcept;
  void suspect_missing(const Waiting& waiting) noexcept;
  void hand_over(OpenEvent& event) noexcept;
  [[nodiscard]] bool find_missing(const OpenEvent& event) noexcept;
  [[nodiscard]] EventId known_from() const noexcept;
  [[nodiscard]] Missing missing(const OpenEvent& event, std::uint32_t number) const noexcept;
  void drop(const OpenEvent& event) noexcept;
  void closed_below(EventId below, bool earlier = false) noexcept;
  void settle() noexcept;

  // builder_saying.cpp: what units are told, windows and turns.
  void grant(std::uint32_t number) noexcept;
  bool give_turns() noexcept;
  void end_turn(BuilderSource& source) noexcept;
  void find_overdue_turns() noexcept;
  [[nodiscard]] std::uint32_t next_turn() noexcept;
  void pump(std::uint32_t number) noexcept;
  void pump_all() noexcept;
  [[nodiscard]] bool pump_hello(std::uint32_t number, BuilderSource& source) noexcept;
  [[nodiscard]] bool pump_done(std::uint32_t number, BuilderSource& source) noexcept;

  BuilderSettings settings_;
  BuilderRange range_;
  BuilderOutput& output_;
  std::vector<BuilderSource> sources_;
  OpenEvents events_;
  KeptEvents kept_;
  SettledFragments settled_fragments_;
  GrowingRing<RangeEnd> range_ends_;  // above closed_, ascending
  std::vector<Missing> missing_;      // of the event at hand; in between nothing is
  EventId closed_;                    // everything below it was handed over, or will never be
  EventId closed_end_;                // the end of the last range that is closed
  EventId settled_;      // as closed_, but not beyond what is kept, if that was asked for
  EventId settled_end_;  // the end of the last range that is settled
  // An earlier run of this builder may have handed over the events below:
  EventId again_below_;
  bool earlier_run_ = false;        // there was one
  std::uint32_t awaited_ = 0;       // the source that was awaited when this was asked last
  bool awaits_ = false;             // what is oldest waits for it
  bool due_ = false;                // fragments were added that may end a wait
  std::uint32_t closed_since_ = 0;  // units were told what is settled
  std::uint32_t closed_untold_max_ = closed_untold_default;
  std::size_t waiting_ = 0;        // sources that wait for their windows
  std::size_t wanting_ = 0;        // sources that wait for a turn
  std::uint32_t turns_given_ = 0;  // without those that are overdue
  std::uint32_t turn_next_ = 0;    // the source that is asked first when a turn is given
  std::int64_t skipped_ns_ = 0;
  std::int64_t now_ns_ = 0;          // of at(), less what was skipped
  std::int64_t due_ns_ = INT64_MAX;  // when something is over
  std::int64_t turn_due_ns_ = INT64_MAX;
  std::int64_t gone_until_ns_ = INT64_MIN;  // a unit may be back until then
  // Of the event that was opened last, of those that were handed over:
  std::int64_t front_opened_ns_ = INT64_MIN;
  std::int64_t front_ns_ = INT64_MIN;  // when
  BuilderBooks books_;
};

}  // namespace netio::detail

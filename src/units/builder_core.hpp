// A builder unit on a socket: the BuilderProtocol, the pages in which open events lie, and the
// units that are connected. Owner thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <netio/builder_unit.hpp>
#include <netio/loop.hpp>

#include "base/call_back.hpp"
#include "build/either_builder.hpp"
#include "socket/buriable.hpp"
#include "socket/watermarks.hpp"
#include "units/build_codec.hpp"
#include "units/build_socket.hpp"
#include "units/builder_memory.hpp"
#include "units/event_part.hpp"
#include "units/event_releases.hpp"
#include "units/fragment_pages.hpp"
#include "units/membership.hpp"

namespace netio::detail {

class BuilderCore final : public SocketOwner,
                          private BuilderOutput,
                          private ManagedBuilderOutput,
                          private Membership::Owner,
                          private Deferred {
 public:
  // Throws Error for options that make no sense, or if the context has too little memory.
  BuilderCore(Context& context, const BuilderOptions& options);

  ~BuilderCore() override;

  void abandon() noexcept override;
  void end_within(std::chrono::nanoseconds linger) noexcept override;
  [[nodiscard]] bool has_ended() const noexcept override;
  [[nodiscard]] ContextCore& context() noexcept { return socket_.context(); }
  std::string bind(std::string_view address);
  void join(std::string_view manager);
  void on_event(std::function<void(const Event&)> call);
  void on_range(std::function<void(const EventRange&)> call);
  void on_run_end(std::function<void(const RunBooks&)> call);
  void pause() noexcept { paused_ = true; }
  void resume() noexcept;
  void close(std::chrono::nanoseconds linger, std::function<void()> then);
  [[nodiscard]] netio::BuilderBooks books() const;
  [[nodiscard]] double fill() const noexcept;
  [[nodiscard]] std::vector<PeerSnapshot> peers() const;
  [[nodiscard]] Counters counters() const { return socket_.counters(); }
  [[nodiscard]] EventId settled() const noexcept;
  // Null if the plan has no manager.
  [[nodiscard]] Membership* membership() noexcept { return membership_.get(); }

  // For the event that is being handed over.
  [[nodiscard]] EventFragment fragment(const BuiltEvent& event, std::size_t source) const noexcept {
    return EventPart::fragment_in(pages_, event, source);
  }
  [[nodiscard]] KeptEvent keep(const BuiltEvent& event);

  CallBack<void(std::uint32_t, const PeerInfo&)> on_up;
  CallBack<void(std::uint32_t, const PeerInfo&, const Down&)> on_down;
  CallBack<void(const PeerInfo&, std::string_view)> on_refused;
  CallBack<void()> on_closed;
  // More or less is kept, or there is somebody new to be told: see run_deferred().
  void note_fill() noexcept {
    if (watermarks.watched()) loop_.defer(*this);
  }
  Watermarks watermarks;

 private:
  static constexpr std::uint32_t no_source = UINT32_MAX;
  // The user's call for events: one of them, or none.
  struct Calls {
    std::function<void(const Event&)> on_event;
    std::function<void(const EventRange&)> on_range;
  };
  // What runs_closed() was called with.
  struct RunsClosed {
    EventId below;
    bool earlier = false;
  };
  // A connection of a peer.
  struct Unit {
    PeerInfo info;
    bool introduced = false;
    bool accept_due = false;                       // it is to be told
    std::uint32_t source = no_source;              // until it has said hello
    std::uint64_t run = 0;                         // of the fragments that follow
    FragmentStatus status = FragmentStatus::good;  // of the next fragment
    std::uint64_t fragments = 0;
    bool ending = false;  // it is refused, and nothing more is taken of it
    std::string refused;  // why, to be told
  };
  struct Source {
    std::uint64_t peer = 0;  // 0: it is not connected
    std::array<std::uint64_t, static_cast<std::size_t>(Missing::count_)> missing_by{};
  };

  BuilderCore(Context& context, const BuilderParts& parts);

  bool say(std::uint32_t source, const BuilderMessage& message) noexcept override;
  bool hand_over(const BuiltEvent& event) noexcept override { return hand_over(event, event.id); }
  bool hand_over(const BuiltEvent& event, EventId position) noexcept override;
  void drop(std::uint32_t source, EventId event, std::uint64_t memory) noexcept override;
  void refuse(std::uint32_t source, std::string why) override;
  void handed_over() noexcept override;
  void runs_closed(EventId below, bool earlier) noexcept override;
  bool may_hand_over(EventId position) noexcept override;
  bool may_end_range() noexcept override;
  bool tell_manager(const BuilderToManager& message) noexcept override;
  void refuse_manager(std::string why) override;
  std::int64_t clock_ns() noexcept override;
  void manager_came() override;
  void manager_went() noexcept override;
  void manager_takes_more() override;
  const char* manager_says(std::span<const std::byte> message) override;
  void manager_closed() noexcept override { ended(); }
  void run_deferred() noexcept override;

  void take(const Batch& batch) noexcept;
  [[nodiscard]] const char* take_control(std::uint64_t peer, Unit& unit,
                                         std::span<const std::byte> message);
  [[nodiscard]] const char* take_introduction(std::uint64_t peer, Unit& unit,
                                              const UnitIntroduces& unit_is);
  void accept(std::uint64_t peer, Unit& unit) noexcept;
  [[nodiscard]] const char* take_hello(std::uint64_t peer, Unit& unit, const UnitHello& hello);
  void take_fragment(Unit& unit, const MessageCursor::Place& place);
  void add_fragments(std::uint32_t source);
  void added(const Unit& unit);
  void came_up(const PeerInfo& peer) noexcept;
  void went_down(const PeerInfo& peer, const Down& down);
  void refuse(std::uint64_t peer, Unit& unit, const std::string& why, const char* joint = " ");
  void fail(std::uint64_t peer, Down down) noexcept;
  void say_addresses() noexcept;
  [[nodiscard]] std::int64_t now_ns() noexcept;
  void look_at_time() noexcept;
  void set_calls(Calls calls);
  void retry_soon() noexcept;
  void take_releases() noexcept;
  void note_handed_over();
  void end_run(std::uint64_t run) noexcept;
  // The user is not in a pause. Before that he is told of runs that ended in it.
  [[nodiscard]] bool takes_more() noexcept;
  // What was handed over since the last call.
  void count_run() noexcept;
  void end();
  void ended();
  void rearm();

  Loop& loop_;
  BuilderSocket socket_;
  FragmentPages pages_;
  FragmentRun fragments_;  // of the page that is being received, still to be added
  EitherBuilder protocol_;
  std::unique_ptr<Membership> membership_;  // null if the plan has no manager
  Addresses addresses_;                     // with a manager: at which units reach this builder
  bool addresses_due_ = false;              // the manager is to be told
  bool greeted_ = false;                    // the manager, on this connection
  Calls calls_;
  std::optional<Calls> next_calls_;  // set within a call, which must not be destroyed meanwhile
  std::unique_ptr<EventPart> part_;  // of a range: what is about to be handed over; null: by event
  std::unordered_map<std::uint64_t, Unit> units_;  // by peer
  std::vector<Source> sources_;
  std::shared_ptr<EventReleases> releases_;
  std::uint64_t bytes_ = 0;  // that were handed over
  CallBack<void(const RunBooks&)> on_run_end_;
  RunBooks run_books_;                     // for the call
  RunBooks run_begin_;                     // what was handed over before
  std::optional<std::uint64_t> run_;       // of the last event, until its end was told
  std::optional<std::uint64_t> run_told_;  // the last run whose end was
  std::optional<RunsClosed> runs_owed_;    // the last one, if it came in a pause
  EventId position_;                       // of the event that is being handed over
  bool keeps_ = false;                     // it is kept
  bool hands_over_ = false;                // a call for events runs
  bool paused_ = false;                    // the user takes no events
  bool retry_due_ = false;                 // he takes them now
  bool ends_ = false;                      // close() was called meanwhile
  std::chrono::nanoseconds linger_{0};
  std::chrono::nanoseconds until_{0};  // on the loop's clock, once it is closing
  std::function<void()> then_;
  bool closing_ = false;
  bool closed_told_ = false;  // to on_closed
  Timer timer_;
  std::int64_t armed_ns_ = INT64_MAX;
};

}  // namespace netio::detail

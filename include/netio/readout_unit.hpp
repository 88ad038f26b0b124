// ReadoutUnit: has a fragment of every event, and sends it to the builder of the event.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
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
#include <netio/segments.hpp>
#include <netio/status.hpp>

namespace netio {

namespace detail {
class ReadoutCore;
}

// The options of a read-out unit. `plan` and `source` have to be given.
struct ReadoutOptions {
  BuildPlan plan{};          // the same at all units and builders
  std::uint32_t source = 0;  // the number of this unit, below plan.sources
  // The bound of what is held until its event is settled, in bytes. Each fragment counts 64 bytes
  // more than it has, and one of segments the table of their sizes, too: 8 bytes for each and 8
  // more.
  std::size_t store_bytes_max = std::size_t{64} << 20U;
  WhenFull when_full = WhenFull::again;  // what happens to a fragment that does not fit the store
  // Of the connections to builders. What is said there about sending, tags and acknowledgements has
  // no meaning here; resume_bytes_max is always 0, because the store is the copy that counts.
  SocketOptions socket{};
};

// Of fragments: sent = settled + dropped + late + held. The names say what they say in
// BuilderBooks::Source. Without an event manager builders tell each unit what they have used of its
// fragments, with what is settled, and settled = built + incomplete + what a builder had settled,
// but not told this unit, when it was killed. With a manager nobody tells: `built` and `incomplete`
// are 0.
struct ReadoutBooks {
  std::uint64_t sent = 0;        // send() answered ok
  std::uint64_t settled = 0;     // forgotten, because their builder has used them
  std::uint64_t built = 0;       // of them, handed over in complete events
  std::uint64_t incomplete = 0;  // of them, handed over in others
  std::uint64_t dropped = 0;     // because the store was full (WhenFull::drop)
  // Not used: their events were handed over without them, or passed over. With an event manager
  // only those of which that was known when they were sent; the others are `settled`.
  std::uint64_t late = 0;
  std::uint64_t held = 0;        // in the store
  std::uint64_t held_bytes = 0;  // of the store, as store_bytes_max counts them
  std::uint64_t resent = 0;      // put on a wire once more, to the same builder
};

// What a read-out unit holds for one builder: it says which builder fills the store.
struct HeldForBuilder {
  bool connected = false;          // on_up() was called, and on_down() was not
  std::uint64_t fragments = 0;     // in the store; with an event manager, of what it has assigned
  std::uint64_t bytes = 0;         // of the store, as store_bytes_max counts them
  EventId oldest;                  // if there are fragments: of the first one that is sent
  std::uint64_t window_bytes = 0;  // so many may be sent before the builder is done with more
};

// Holds the fragments of one source until their events are settled. They are sent to each builder
// as far as it has room, and sent again if the connection or the builder was lost before. So
// nothing is lost while this unit lives, whatever happens to builders.
//
// Owner thread only. No call blocks. Call-backs run as those of a Socket, and may do the same.
class NETIO_API ReadoutUnit {
 public:
  // Throws Error for options that make no sense.
  ReadoutUnit(Context& context, const ReadoutOptions& options);
  ~ReadoutUnit();
  ReadoutUnit(const ReadoutUnit&) = delete;
  ReadoutUnit& operator=(const ReadoutUnit&) = delete;

  // Begins to connect to the builder of this number; it need not exist yet. Throws Error if the
  // address makes no sense, if there is no builder of this number, or if it was named before.
  void connect(std::uint32_t builder, std::string_view address);
  // The same with a builder that is bound at several addresses, as on a host with several network
  // interfaces. This unit begins with address number `source` modulo their count, so that units
  // spread over them; where it does not reach the builder, it tries the next one. What is wrong
  // with one of them only is told by on_refused().
  void connect(std::uint32_t builder, const std::vector<std::string>& addresses);
  // The same with addresses in braces.
  void connect(std::uint32_t builder, std::initializer_list<std::string_view> addresses) {
    connect(builder, std::vector<std::string>(addresses.begin(), addresses.end()));
  }

  // For a plan that is `managed`, in place of connect(): connects to the event manager, which gives
  // ranges to builders, and says where these are. Once. Throws Error, as Socket::connect() does.
  void join(std::string_view manager);
  // Set the calls for the event manager. They are as on_up(), on_down() and on_refused() for
  // builders:
  void on_manager_up(std::function<void(const PeerInfo&)> call);
  void on_manager_down(std::function<void(const PeerInfo&, const Down&)> call);
  void on_manager_refused(std::function<void(std::string_view why)> call);
  // Sets the call for a manager that has greeted this unit before it has begun: it may begin with
  // this position, or above. If it is EventId{}, nothing was given to a builder yet: the unit
  // misses nothing. Otherwise no unit is known to have produced anything at or above it, and events
  // are built without this unit until it begins. It had better wait for builders_connected() first.
  // The call comes again if another manager greets the unit and it has still not begun.
  void on_begin(std::function<void(EventId produced)> call);
  // Sets the call for the end of what is built: the manager wants this unit to end in front of this
  // event. Say advance() up to there, and finish(), which does not wait for fragments of later
  // events: they are not built.
  void on_stop(std::function<void(EventId at)> call);

  // Holds and sends the fragment of this event. The bytes are copied once, and are the caller's
  // again on return. Events come in ascending order; an event may be left out if this unit has
  // nothing for it.
  //
  // again: the store is full (the unit is busy); on_room follows. too_big: it never fits the store,
  // or is larger than message_bytes_max. invalid: the event does not lie above those before it.
  // closed: finish() was called.
  [[nodiscard]] Status send(EventId event, std::span<const std::byte> fragment,
                            FragmentStatus status = FragmentStatus::good) noexcept;
  // The same with a message that was kept or allocated, which is not copied where the wire sends it
  // from where it lies. It is empty afterwards if the answer is ok, and untouched otherwise. Its
  // tag is not sent.
  [[nodiscard]] Status send(EventId event, Message&& fragment,
                            FragmentStatus status = FragmentStatus::good) noexcept;
  // The same with up to 64 segments as one fragment; the builder reads them by
  // EventFragment::message.segments(). The unit copies them once, unless the last one is a message
  // of allocate() with room for the others in front. Messages among the segments are empty
  // afterwards if the answer is ok, and untouched otherwise.
  //
  // too_big: also if they, each padded to a multiple of 8, and a table of their sizes, 8 bytes for
  // each and 8 more, are larger than message_bytes_max. invalid: also if there are too many, or an
  // empty message is among them.
  [[nodiscard]] Status send_segments(EventId event, std::span<const Segment> segments,
                                     FragmentStatus status = FragmentStatus::good) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status send_segments(EventId event, std::initializer_list<Segment> segments,
                                     FragmentStatus status = FragmentStatus::good) noexcept {
    return send_segments(event, std::span(segments.begin(), segments.size()), status);
  }
  // The same with bytes that are lent. The unit does not copy them; a wire copies them when it
  // sends them, if they are at most a quarter of a page or if it is shm. They must stay unchanged
  // until on_released is called with `token`. That happens once for every ok, when the event is
  // settled, or the fragment is dropped or too late. What is lent counts in the store as what is
  // copied does. Destroying the unit ends all loans at once, without calls. On a fabric, builders
  // can read the bytes until the loan ends: see Sending::lend().
  [[nodiscard]] Status lend(EventId event, std::span<const std::byte> fragment, std::uint64_t token,
                            FragmentStatus status = FragmentStatus::good) noexcept;
  // Makes a message of `bytes` for the fragment of this event, to be written and sent: in memory
  // that the wire of its builder sends from, if there is plenty of it. It may be the last one of
  // send_segments(), behind others whose sizes, each rounded up to a multiple of 8, add up to at
  // most `head_bytes`. Empty if `status` is not ok. again: there is no memory now; on_room follows.
  // too_big and closed: as of send().
  [[nodiscard]] Message allocate(EventId event, std::size_t bytes, Status& status,
                                 std::size_t head_bytes = 0) noexcept;
  // Sets the call for the end of a loan: what was lent with this token is the caller's again.
  void on_released(std::function<void(std::uint64_t token)> call);
  // This unit has nothing more below this position, so builders need not wait for it. The first
  // call of send() or advance() says with which event this unit begins. If it may have nothing for
  // the first events, call advance() before them. At the end of a run: advance(end_of_run(run)).
  void advance(EventId below) noexcept;
  // Hands to the wire now what would go at the end of the loop turn.
  void flush() noexcept;

  // Sets the call for room in the store, after send() has answered again: what was refused fits,
  // and at least an eighth of the store is free or, without an event manager, a builder has settled
  // all that was held for it; or what was refused would be late. A larger fragment may be refused
  // again. A smaller one in its place may fit before: try that at once, or advance() past the
  // event.
  void on_room(std::function<void()> call);
  // Set the calls for fill() reaching SocketOptions::high_watermark of ReadoutOptions::socket, and
  // for fill() falling to low_watermark after that. Both are called at the end of a turn:
  void on_high_watermark(std::function<void()> call);
  void on_low_watermark(std::function<void()> call);
  // Sets the call for settled() that has grown. It is given what settled() returns, at the end of a
  // turn, once for all that was settled in it. A run is over when it is given end_of_run(run) or
  // more, if advance(end_of_run(run)) was called.
  void on_settled(std::function<void(EventId below)> call);
  // Sets the call for a builder that is connected, and has the plan of this unit: see
  // Socket::on_up().
  void on_up(std::function<void(std::uint32_t builder, const PeerInfo&)> call);
  // Sets the call for a connection to a builder that ended, or could not be made: see
  // Socket::on_down(). PeerInfo::was_up says whether on_up() came before. If it did not, and the
  // builder was refused, on_refused() is called in place of this.
  void on_down(std::function<void(std::uint32_t builder, const PeerInfo&, const Down&)> call);
  // Sets the call for a builder that cannot work with this unit, with the reason for a person:
  // another plan, another number, or a breach of the rules. The connection is ended, and tried
  // again. A reason that is the same again is not told, until on_down() has told of another.
  void on_refused(std::function<void(std::uint32_t builder, std::string_view why)> call);

  // Takes no more fragments. Calls `then` once, from the loop: when everything is settled that is
  // built, or after `linger`. With an event manager, events of other units in front of the position
  // of this one are waited for, too. What is held then is lost when this is destroyed. Say
  // advance() first, so that builders need not wait for more. A second call only sets a new
  // `linger` and another `then`, which is called also if the first one was.
  void finish(std::chrono::nanoseconds linger, std::function<void()> then);

  // Sets the call for its end, once: behind the `then` of finish(), and also if Context::close()
  // has made it finish.
  void on_finished(std::function<void()> call);

  // Snapshots:
  [[nodiscard]] ReadoutBooks books() const noexcept;
  // How full the store is, from 0 to 1: what is held, as a share of store_bytes_max.
  [[nodiscard]] double fill() const noexcept;
  // Those that are connected, and have the plan of this unit.
  [[nodiscard]] std::size_t builders_connected() const noexcept;
  // By the numbers of builders. Allocates memory, and looks at each fragment that is held.
  [[nodiscard]] std::vector<HeldForBuilder> held_for_builders() const;
  // Everything below it was sent, or does not exist.
  [[nodiscard]] EventId advanced() const noexcept;
  // Nothing below it is held: each fragment was used, or counts as late or dropped.
  [[nodiscard]] EventId settled() const noexcept;
  // The connections to builders, by their numbers, as Socket::peers() has them. One that does not
  // exist is not `up`. Allocates memory.
  [[nodiscard]] std::vector<PeerSnapshot> peers() const;
  // What the socket to each builder counted, by the numbers of builders: see Socket::counters().
  // Messages of the protocol are counted there as fragments are. A builder that is dialed at
  // another address is counted anew. Allocates memory.
  [[nodiscard]] std::vector<Counters> counters() const;

 private:
  std::unique_ptr<detail::ReadoutCore> core_;
};

}  // namespace netio

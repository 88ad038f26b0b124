// ReadoutUnit: has a fragment of every event, and sends it to the builder of the event.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <netio/context.hpp>
#include <netio/event_building.hpp>
#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>
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
  // more than it has.
  std::size_t store_bytes_max = std::size_t{64} << 20U;
  WhenFull when_full = WhenFull::again;  // what happens to a fragment that does not fit the store
  // Of the connections to builders. What is said there about sending, tags and acknowledgements has
  // no meaning here; resume_bytes_max is always 0, because the store is the copy that counts.
  SocketOptions socket{};
};

// Of fragments: sent = settled + dropped + late + held.
struct ReadoutBooks {
  std::uint64_t sent = 0;        // send() answered ok
  std::uint64_t settled = 0;     // forgotten, because their builder is done with their events
  std::uint64_t dropped = 0;     // because the store was full (WhenFull::drop)
  std::uint64_t late = 0;        // their events were settled before they were sent here
  std::uint64_t held = 0;        // in the store
  std::uint64_t held_bytes = 0;  // of the store, each fragment with 64 bytes more than it has
  std::uint64_t resent = 0;      // put on a wire once more
};

// Holds the fragments of one source until their events are settled. They are sent to each builder
// as far as it has room, and sent again if the connection or the builder was lost before. So
// nothing is lost while this unit lives, whatever happens to builders.
//
// Owner thread only. No call blocks. Call-backs run as those of a Socket, and must not throw.
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
  // This unit has nothing more below this position, so builders need not wait for it. The first
  // call of send() or advance() says with which event this unit begins. If it may have nothing for
  // the first events, call advance() before them. At the end of a run: advance(end_of_run(run)).
  void advance(EventId below) noexcept;
  // Hands to the wire now what would go at the end of the loop turn.
  void flush() noexcept;

  // Sets the call for room in the store: at least half of it is free, and send() has answered again
  // before.
  void on_room(std::function<void()> call);
  // Sets the call for a connection to a builder that came up: see Socket::on_up().
  void on_up(std::function<void(std::uint32_t builder, const PeerInfo&)> call);
  // Sets the call for a connection to a builder that ended, or could not be made: see
  // Socket::on_down().
  void on_down(std::function<void(std::uint32_t builder, const PeerInfo&, const Down&)> call);
  // Sets the call for a builder that cannot work with this unit, with the reason for a person:
  // another plan, another number, or a breach of the rules. The connection is ended, and tried
  // again.
  void on_refused(std::function<void(std::uint32_t builder, std::string_view why)> call);

  // Takes no more fragments. Calls `then` once, from the loop: when everything is settled, or after
  // `linger`. What is held then is lost when this is destroyed. Say advance() first, so that
  // builders need not wait for more.
  void finish(std::chrono::nanoseconds linger, std::function<void()> then);

  // Snapshots:
  [[nodiscard]] ReadoutBooks books() const noexcept;
  [[nodiscard]] std::size_t builders_connected() const noexcept;
  // Everything below it was sent, or does not exist.
  [[nodiscard]] EventId advanced() const noexcept;

 private:
  std::unique_ptr<detail::ReadoutCore> core_;
};

}  // namespace netio

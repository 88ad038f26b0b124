// What came of the messages from one peer, over all its connections. A connection is confirmed by
// its first page: only then has the peer read where we stood, and settled its own books.
//
// What is missed is known from the peer alone. What it may claim is bounded by what can have been:
// so many messages a second since its stream was first heard of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <netio/books.hpp>

#include "wire/hello.hpp"

namespace netio::detail {

class ReceiveBooks {
 public:
  std::uint64_t expected = 0;  // the sequence of the next message; acknowledgements say it
  std::uint64_t delivered = 0;

  // What a hello says is expected: until a connection is confirmed, where the last one ended.
  [[nodiscard]] std::uint64_t next_expected() const noexcept {
    return confirmed_ ? expected : resume_at_;
  }
  // Whether a peer whose next message is `sequence` can have sent what did not come. To be asked
  // before resume() and restart(). Times are those of the loop.
  [[nodiscard]] bool may_resume(std::uint64_t sequence, std::int64_t now_ns) const noexcept {
    const std::uint64_t from = confirmed_ ? expected : missed_from_;
    return sequence <= from || may_have_missed(sequence - from, now_ns);
  }
  [[nodiscard]] bool may_restart(bool from_beginning, std::uint64_t sequence,
                                 std::int64_t now_ns) const noexcept {
    // What the stream before lost without being confirmed is claimed by restart().
    const std::uint64_t unclaimed = confirmed_ ? 0 : unconfirmed_missed();
    return !from_beginning || may_have_missed(unclaimed + sequence, now_ns);
  }
  // When this side began to look for the peer: nothing can have been missed before.
  void look_from(std::int64_t now_ns) noexcept { since_ns_ = now_ns; }

  // A connection begins on which `sequence` comes first: the same stream goes on.
  void resume(std::uint64_t sequence) noexcept {
    if (confirmed_) resume_at_ = missed_from_ = expected;
    begin(sequence);
  }
  struct Lost {
    std::uint64_t first;  // number
    std::uint64_t count;
  };
  // The same, of a stream not heard before, which was for us from its beginning, or begins to be
  // now. Returns what the stream before had lost on a connection that was never confirmed.
  Lost restart(bool from_beginning, std::uint64_t sequence, std::int64_t now_ns) noexcept {
    const Lost lost = confirm();
    // Claims and the time in which they can have happened begin together, or go on together.
    if (!from_beginning) {
      since_ns_ = now_ns;
      claimed_ = 0;
    }
    resume_at_ = 0;
    missed_from_ = from_beginning ? 0 : sequence;
    dropped_ = 0;
    drops_for_others_ = !from_beginning;
    begin(sequence);
    return lost;
  }
  // What is known to be lost now, and was not before.
  Lost confirm() noexcept {
    if (confirmed_) return {0, 0};
    const Lost lost{missed_from_ + dropped_, unconfirmed_missed()};
    missed_ += lost.count;
    claimed_ += lost.count;
    confirmed_ = true;
    return lost;
  }
  // Messages have numbers where some may be dropped before they get a sequence: those are counted.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return expected + dropped_; }
  // So many were dropped by now, in all. How many are new; nothing if that is a lie.
  std::optional<std::uint64_t> miss_up_to(std::uint64_t dropped, std::int64_t now_ns) noexcept {
    if (dropped < dropped_ || dropped >= sequence_end) return std::nullopt;
    const std::uint64_t more = dropped - dropped_;
    if (!drops_for_others_ && !may_have_missed(more, now_ns)) return std::nullopt;
    dropped_ = dropped;
    if (drops_for_others_) return 0;
    missed_ += more;
    claimed_ += more;
    return more;
  }
  // From now on what the peer drops is for us.
  void take_drops() noexcept { drops_for_others_ = false; }
  // The peer counts what it drops from 0 again.
  void forget_dropped() noexcept { dropped_ = 0; }
  void add_to(Books& books) const noexcept {
    books.delivered += delivered;
    books.missed += missed_ + (confirmed_ ? 0 : unconfirmed_missed());
  }

 private:
  // More than any wire carries: 400 Gb/s of empty messages are 6 a nanosecond. What is known of
  // time is as old as the turn, so that a little is always believed.
  static constexpr std::uint64_t messages_per_ns = 8;
  static constexpr std::uint64_t always_believed = std::uint64_t{1} << 24U;
  [[nodiscard]] bool may_have_missed(std::uint64_t more, std::int64_t now_ns) const noexcept {
    const auto passed_ns =
        static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - since_ns_, 0));
    const std::uint64_t sendable =
        std::min(passed_ns, sequence_end / messages_per_ns) * messages_per_ns;
    return more < sequence_end && claimed_ + more <= always_believed + sendable;
  }
  [[nodiscard]] std::uint64_t unconfirmed_missed() const noexcept {
    return expected > missed_from_ ? expected - missed_from_ : 0;
  }
  void begin(std::uint64_t sequence) noexcept {
    expected = sequence;
    confirmed_ = false;
  }

  std::uint64_t missed_ = 0;
  std::uint64_t claimed_ = 0;  // of missed_, since since_ns_
  std::int64_t since_ns_ = 0;  // the earliest time at which a message can have been missed
  std::uint64_t dropped_ = 0;  // before they were sent, as the peer last said
  bool drops_for_others_ = false;
  bool confirmed_ = true;
  std::uint64_t resume_at_ = 0;
  std::uint64_t missed_from_ = 0;
};

}  // namespace netio::detail

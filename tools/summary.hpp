// What a command has to report at its end, in words for a person and as JSON for a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <netio/books.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>

#include "exit_code.hpp"
#include "outlet.hpp"
#include "peer_table.hpp"
#include "round_trips.hpp"
#include "tag_counts.hpp"
#include "verifier.hpp"

namespace netio::cli {

struct PeerCounts {
  std::uint64_t came = 0;
  std::uint64_t ended = 0;  // in order
  std::uint64_t lost = 0;
  std::uint64_t connected = 0;  // when this side ended; event building only
  // Of publishers and senders, those that were away and came back, or are still away:
  std::uint64_t away = 0;  // how often
  double away_seconds = 0;
  std::uint64_t restarted = 0;  // how often another run came back
  std::uint64_t slow = 0;  // subscribers that were disconnected for being so, as they had asked
};
// For a line of a summary.
[[nodiscard]] std::string peers_text(const PeerCounts& peers);

// Messages of a subscription that did not come, by the reason.
using MissedBy = decltype(Books::dropped_by);

struct WrittenOutput {
  std::string name;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

struct Summary {
  enum class Kind : std::uint8_t { sent, received, published, subscribed, echoed, asked, replied };

  [[nodiscard]] bool receiving() const noexcept {
    return kind == Kind::received || kind == Kind::subscribed;
  }

  // In words; a program reads it in any case. A command that failed and met nobody has said all
  // with its error: what would follow are zeros.
  [[nodiscard]] bool to_be_told() const noexcept { return met || code != ExitCode::failed; }

  Kind kind = Kind::sent;
  std::string command;
  std::string address;
  std::string mode;  // empty: none
  ExitCode code = ExitCode::done;
  std::string error;  // empty: none
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t segmented = 0;  // received: messages of several segments
  // From the first message (receiving: or its sender's coming just before it) to the last, or to
  // its acknowledgement; sent: without the time in which there was no receiver.
  double seconds = 0;
  bool timed = true;  // false: `seconds` is not known
  bool met = true;    // there was a peer
  Books books;
  Counters counters;
  std::optional<ToAllOutlet::Reach> to_all;  // sent, --to-all
  bool resumes = false;                      // sent, published: --resume
  std::uint64_t connections_lost = 0;        // sent, published: did not end in order
  std::uint64_t kept_bytes = 0;              // received: memory of messages that are not released
  PeerCounts peers;                          // of all kinds but sent
  MissedBy missed_by{};                      // subscribed
  std::optional<TagCounts> tags;             // subscribed
  std::vector<PeerLine> per_peer;            // at most those that a PeerTable has
  std::uint64_t peers_left_out = 0;
  std::uint64_t request_bytes = 0;      // asked: of each request
  std::optional<RequestBooks> asked;    // asked
  std::optional<RoundTrips> trips;      // asked: from send to answer
  std::optional<std::uint64_t> differ;  // asked, --verify: answers that are not the request
  std::optional<ReplyBooks> replied;    // replied
  std::optional<WrittenOutput> output;
  std::optional<Verification> verification;
};

// Lines, the last one ended.
[[nodiscard]] std::string to_text(const Summary& summary);
// An object, indented, its last line ended.
[[nodiscard]] std::string to_json(const Summary& summary);

// Of what was sent, what is known to have arrived: 0 to 1.
[[nodiscard]] double acknowledged_share(const Books& books) noexcept;

// "connection lost 12, linger expired 3"; empty if nothing was dropped.
[[nodiscard]] std::string drop_reasons(const MissedBy& dropped_by);

}  // namespace netio::cli

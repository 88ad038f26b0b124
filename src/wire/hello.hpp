// The first bytes that each side sends (docs/wire.md): who it is and what it can take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/ability.hpp"
#include "wire/offers.hpp"
#include "wire/ring.hpp"

namespace netio::detail {

inline constexpr std::uint16_t wire_version = 2;
// Sequences stay below this: 22 years of 100 million messages a second. A peer that lies about
// where it stands cannot make sums of them wrap.
inline constexpr std::uint64_t sequence_end = std::uint64_t{1} << 56U;
// In every version, so that a hello of another one can be read and refused.
inline constexpr std::size_t hello_bytes_min = 80;
inline constexpr std::size_t hello_fixed_bytes = 120;  // of this version
inline constexpr std::size_t hello_bytes_max = 4096;
inline constexpr std::size_t hello_text_bytes_max = 1024;
inline constexpr std::size_t hello_name_bytes_max = 63;
// A peer that wants to be heard of less often than once a day wants nothing.
inline constexpr std::uint32_t silence_ms_most = 24U * 3600U * 1000U;
// Who had to say something more often would be kept busy by it.
inline constexpr std::uint32_t silence_ms_least = 10;

enum class WirePattern : std::uint8_t {
  push = 1,
  pull,
  pair,
  publish,
  subscribe,
  request,
  reply,
  readout,
  builder,
  manager,
  member  // a unit or a builder that joins a manager
};
[[nodiscard]] std::string_view to_string(WirePattern pattern) noexcept;

enum class WireMode : std::uint8_t { buffered = 0, unbuffered = 1 };

enum class Refusal : std::uint16_t { none = 0, version, pattern, busy, other, expired };

// 128 random bits: a run is one socket object, a stream what two runs share over all their
// connections.
using RunId = std::array<std::uint8_t, 16>;
using StreamId = std::array<std::uint8_t, 16>;

struct Hello {
  std::uint16_t version_min = wire_version;
  std::uint16_t version_max = wire_version;
  WirePattern pattern = WirePattern::push;
  WireMode mode = WireMode::buffered;
  Refusal refusal = Refusal::none;
  // The largest page that this side takes, header included. Only a page of one message may be
  // larger.
  std::uint32_t page_bytes_max = 0;
  std::uint64_t message_bytes_max = 0;  // the largest message that it takes
  RunId run{};                          // of the sender of this hello
  StreamId stream{};                    // drawn by the connecting side, repeated by the other
  RunId peer_run{};                     // the run that this side met on the stream; zeros if none
  std::uint64_t epoch = 0;              // counts the connections of the stream, from 1
  std::uint64_t nonce = 0;              // of the accepting side, to be repeated in *confirm*
  std::uint64_t window = 0;  // bytes that may be unacknowledged; 0: no bound of this kind
  std::uint64_t can = 0;
  std::uint32_t silence_ms = 0;     // this side gives up after so long without a word; 0: never
  std::string name;                 // for people; may be empty
  std::uint32_t receives = 0;       // on fabrics: messages to be sent before more are granted,
  std::uint32_t receive_bytes = 0;  // and the largest of them
  WireRing ring;                    // on fabrics: where the other side may write pages to
  WireOffers offers;    // of the accepting side: what the connecting side may try instead
  OfferToken token{};   // of the connecting side, on a wire that was offered; zeros elsewhere
  bool asks = false;    // of the connecting side: it only asks who is there
  std::string release;  // of the side that answers that: which netio it is; formed as a name
  std::string text;     // why refused, for a person; cut after 1024 bytes

  bool operator==(const Hello&) const = default;
};

// What may be a name: printable ASCII, at most hello_name_bytes_max of it, no space at an end.
[[nodiscard]] bool is_name(std::string_view text) noexcept;

// Writes nothing and returns 0 if `to` is too small (hello_bytes_max always suffices).
std::size_t encode(const Hello& hello, std::span<std::byte> to) noexcept;

enum class HelloParse : std::uint8_t {
  need_more,  // so far it is a hello; `bytes` tells how many bytes it has in all, 0 if not known
  done,       // `bytes` were consumed
  foreign,    // not netio; `what` names the protocol where it is a known one
  defective,  // netio, but damaged or of an impossible size; `what` says
};
struct HelloResult {
  HelloParse state = HelloParse::need_more;
  std::size_t bytes = 0;
  std::string what;
};
// Looks at the bytes received so far. Decides "foreign" from the first byte that differs.
// A hello of another version is `done` with its version range, pattern, mode and refusal (unknown
// values as they are), the rest unread. Modes and refusals of this version may be unknown too:
// take such a refusal for `other`. Name and text are safe to print.
HelloResult parse(std::span<const std::byte> from, Hello& hello);

}  // namespace netio::detail

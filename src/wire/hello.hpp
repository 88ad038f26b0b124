// The first bytes each side sends (docs/wire.md): who it is, what it can take, where it stands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace netio::detail {

inline constexpr std::uint16_t wire_version = 1;
// In shared memory, and only there.
inline constexpr std::uint16_t shm_wire_version = 2;
// Sequences stay below this: 22 years of 100 million messages a second. A peer that lies about
// where it stands cannot make sums of them wrap.
inline constexpr std::uint64_t sequence_end = std::uint64_t{1} << 56U;
inline constexpr std::size_t hello_fixed_bytes = 80;
inline constexpr std::size_t hello_bytes_max = 4096;
inline constexpr std::size_t hello_text_bytes_max = 1024;

enum class WirePattern : std::uint8_t { push = 1, pull, pair, publish, subscribe, request, reply };
[[nodiscard]] std::string_view to_string(WirePattern pattern) noexcept;

enum class WireMode : std::uint8_t { buffered = 0, unbuffered = 1 };

enum class Refusal : std::uint16_t { none = 0, version, pattern, busy, other };

using SessionId = std::array<std::uint8_t, 16>;

struct Hello {
  std::uint16_t version_min = wire_version;
  std::uint16_t version_max = wire_version;
  WirePattern pattern = WirePattern::push;
  WireMode mode = WireMode::buffered;
  Refusal refusal = Refusal::none;
  std::uint32_t page_bytes_max = 0;     // the largest page, header included, taken in pieces' stead
  std::uint64_t message_bytes_max = 0;  // the largest message taken
  SessionId session{};                  // of the sender of this hello: random, one per socket
  SessionId last_peer{};                // the session it last heard here; zeros if none
  std::uint64_t next_expected = 0;      // the sequence it expects next from last_peer
  std::uint64_t next_sequence = 0;      // of the first message it will send on this connection
  std::uint32_t receives = 0;           // on fabrics: messages to be sent before more are granted,
  std::uint32_t receive_bytes = 0;      // and the largest of them
  std::string text;                     // why refused, for a person; cut after 1024 bytes
  // Not sent: the version that parse() was to look for.
  std::uint16_t version_here = wire_version;

  bool operator==(const Hello&) const = default;
};

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
// take such a refusal for `other`. The text is safe to print. `version` is the only one spoken
// here.
HelloResult parse(std::span<const std::byte> from, Hello& hello,
                  std::uint16_t version = wire_version);

}  // namespace netio::detail

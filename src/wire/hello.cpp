// Hello: encode, parse, and names for what else may call at our port. See docs/wire.md.
#include "wire/hello.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "wire/control.hpp"
#include "wire/frame.hpp"
#include "wire/page.hpp"

namespace netio::detail {
namespace {

// The high bit catches 7-bit channels, CR LF those that mend line ends.
constexpr std::array<std::uint8_t, 8> magic = {0x93, 'n', 'e', 't', 'i', 'o', 0x0d, 0x0a};

constexpr std::size_t hello_bytes_at = 8;
constexpr std::size_t hello_bytes_end = 12;

// Calls field(offset, member). These keep their place and meaning in every version,
template <typename AnyHello, typename Field>
void for_lasting_fields(AnyHello& hello, Field field) {
  field(12, hello.version_min);
  field(14, hello.version_max);
  field(16, hello.pattern);
  field(17, hello.mode);
  field(18, hello.refusal);
}
// these are of this one.
template <typename AnyHello, typename Field>
void for_version_fields(AnyHello& hello, Field field) {
  field(20, hello.page_bytes_max);
  field(24, hello.message_bytes_max);
  field(32, hello.session);
  field(48, hello.last_peer);
  field(64, hello.next_expected);
  field(72, hello.next_sequence);
}

constexpr std::size_t entry_header_bytes = 8;  // u16 type, u16 length, u32 zero
constexpr std::uint16_t entry_text = 1;
constexpr std::uint16_t entry_receives = 2;
constexpr std::uint16_t receives_length = 8;  // how many, and of how many bytes
constexpr std::size_t entry_receives_bytes = entry_header_bytes + receives_length;
static_assert(hello_fixed_bytes + entry_receives_bytes + entry_header_bytes +
                  hello_text_bytes_max <=
              hello_bytes_max);

template <typename T>
void put(std::byte* hello, std::size_t offset, const T& value) noexcept {
  std::memcpy(hello + offset, &value, sizeof value);
}
template <typename T>
void get(const std::byte* hello, std::size_t offset, T& value) noexcept {
  std::memcpy(&value, hello + offset, sizeof value);
}

bool starts_with(std::span<const std::byte> bytes, std::string_view with) noexcept {
  return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
}

std::string foreign_name(std::span<const std::byte> from) {
  using namespace std::string_view_literals;
  for (const auto method : {"HTTP/"sv, "GET "sv, "HEAD "sv, "POST "sv, "PUT "sv, "DELETE "sv,
                            "OPTIONS "sv, "CONNECT "sv, "TRACE "sv, "PATCH "sv, "PRI * "sv}) {
    if (starts_with(from, method)) return "HTTP";
  }
  // ff, an 8-byte length, 7f: the signature of ZMTP, whose start may come alone.
  constexpr std::size_t zmtp_end = 9;
  if (from[0] == std::byte{0xff} &&
      (from.size() <= zmtp_end || from[zmtp_end] == std::byte{0x7f})) {
    return "ZeroMQ";
  }
  // A handshake, or the alert of who did not understand ours.
  if (starts_with(from, "\x16\x03"sv) || starts_with(from, "\x15\x03"sv)) return "TLS";
  if (starts_with(from, "SSH-"sv)) return "SSH";
  if (starts_with(from, "\0SP\0"sv)) return "nng or nanomsg";
  // Its request to connect; 03 00 alone is also how remote desktops begin.
  if (starts_with(from, "\3\0\0\0"sv)) return "a fabric (ofi+tcp://); both sides use one scheme";
  std::string name = "unknown protocol (first bytes";
  constexpr std::size_t shown_max = 8;
  for (const std::byte byte : from.first(std::min(from.size(), shown_max))) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto value = std::to_integer<std::size_t>(byte);
    name += {' ', digits[value >> 4U], digits[value & 15U]};
  }
  return name + ")";
}

HelloResult defective(std::string what) { return {HelloParse::defective, 0, std::move(what)}; }

// It goes to a terminal, which obeys control characters.
std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

// Null if the entries, which fill `entries`, are sound.
const char* parse_entries(std::span<const std::byte> entries, Hello& hello) {
  // Sizes are multiples of 8 throughout: what is left is nothing, or a header at least.
  while (!entries.empty()) {
    std::uint16_t type = 0;
    std::uint16_t length = 0;
    std::uint32_t zero = 0;
    get(entries.data(), 0, type);
    get(entries.data(), 2, length);
    get(entries.data(), 4, zero);
    if (zero != 0) return "hello entry with a reserved field that is not zero";
    entries = entries.subspan(entry_header_bytes);
    if (wire_padded(length) > entries.size()) return "hello entry longer than its hello";
    if (type == entry_text) {
      const char* const text = reinterpret_cast<const char*>(entries.data());
      hello.text = printable({text, std::min<std::size_t>(length, hello_text_bytes_max)});
    } else if (type == entry_receives) {
      if (length != receives_length) return "hello entry of the wrong length";
      get(entries.data(), 0, hello.receives);
      get(entries.data(), sizeof hello.receives, hello.receive_bytes);
      if (hello.receives == 0) return "hello entry that allows no message";
    }
    entries = entries.subspan(wire_padded(length));
  }
  return nullptr;
}

// The least a side may allow a page to have: on both sides of a subscription, the control frames.
constexpr std::size_t page_limit_min(WirePattern pattern) noexcept {
  if (pattern != WirePattern::publish && pattern != WirePattern::subscribe) return page_bytes_min;
  static_assert(subscribe_bytes(1) == subscribed_bytes && subscribed_bytes >= gap_bytes);
  return page_header_bytes + frame_word_bytes + subscribed_bytes;
}

const char* parse_this_version(std::span<const std::byte> from, Hello& hello) {
  for_version_fields(hello,
                     [&](std::size_t offset, auto& member) { get(from.data(), offset, member); });
  if (hello.pattern < WirePattern::push || hello.pattern > WirePattern::reply) {
    return "hello of an unknown pattern";
  }
  // Who refuses need not say what it would have taken.
  if (hello.refusal == Refusal::none && hello.page_bytes_max < page_limit_min(hello.pattern)) {
    return "hello with a page limit too small for its pattern";
  }
  if (std::max(hello.next_expected, hello.next_sequence) >= sequence_end) {
    return "hello with an impossible sequence";
  }
  return parse_entries(from.subspan(hello_fixed_bytes), hello);
}

}  // namespace

std::string_view to_string(WirePattern pattern) noexcept {
  constexpr std::array<std::string_view, 8> names = {"unknown", "push",      "pull",    "pair",
                                                     "publish", "subscribe", "request", "reply"};
  const auto index = static_cast<std::size_t>(pattern);
  return names[index < names.size() ? index : 0];
}

std::size_t encode(const Hello& hello, std::span<std::byte> to) noexcept {
  const std::string_view text = std::string_view(hello.text).substr(0, hello_text_bytes_max);
  const std::size_t bytes = hello_fixed_bytes + (hello.receives == 0 ? 0 : entry_receives_bytes) +
                            (text.empty() ? 0 : entry_header_bytes + wire_padded(text.size()));
  if (to.size() < bytes) return 0;
  std::byte* const out = to.data();
  std::memset(out, 0, bytes);
  put(out, 0, magic);
  put(out, hello_bytes_at, static_cast<std::uint32_t>(bytes));
  const auto put_field = [out](std::size_t offset, const auto& member) {
    put(out, offset, member);
  };
  for_lasting_fields(hello, put_field);
  for_version_fields(hello, put_field);
  std::byte* entry = out + hello_fixed_bytes;
  const auto put_entry = [&entry](std::uint16_t type, const void* value, std::size_t length) {
    put(entry, 0, type);
    put(entry, 2, static_cast<std::uint16_t>(length));
    std::memcpy(entry + entry_header_bytes, value, length);
    entry += entry_header_bytes + wire_padded(length);
  };
  if (hello.receives != 0) {
    const std::array receives{hello.receives, hello.receive_bytes};
    put_entry(entry_receives, receives.data(), receives_length);
  }
  if (!text.empty()) put_entry(entry_text, text.data(), text.size());
  return bytes;
}

HelloResult parse(std::span<const std::byte> from, Hello& hello, std::uint16_t version) {
  hello = Hello();
  hello.version_here = version;
  const std::size_t magic_seen = std::min(from.size(), magic.size());
  if (magic_seen != 0 && std::memcmp(from.data(), magic.data(), magic_seen) != 0) {
    return {HelloParse::foreign, 0, foreign_name(from)};
  }
  if (from.size() < hello_bytes_end) return {};
  std::uint32_t bytes = 0;
  get(from.data(), hello_bytes_at, bytes);
  if (bytes < hello_fixed_bytes || bytes > hello_bytes_max || bytes % wire_align != 0) {
    return defective("hello of an impossible size, " + std::to_string(bytes) + " bytes");
  }
  if (from.size() < bytes) return {HelloParse::need_more, bytes, {}};

  for_lasting_fields(hello,
                     [&](std::size_t offset, auto& member) { get(from.data(), offset, member); });
  if (hello.version_min > hello.version_max) return defective("hello with an empty version range");
  const bool same_version = hello.version_min <= version && version <= hello.version_max;
  if (same_version) {
    const char* const what = parse_this_version(from.first(bytes), hello);
    if (what != nullptr) return defective(what);
  }
  return {HelloParse::done, bytes, {}};
}

}  // namespace netio::detail

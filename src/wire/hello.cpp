// Hello: encode, parse, and names for what else may call at our port. See docs/wire.md.
#include "wire/hello.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hex.hpp"
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
  field(32, hello.run);
  field(48, hello.stream);
  field(64, hello.peer_run);
  field(80, hello.epoch);
  field(88, hello.nonce);
  field(96, hello.window);
  field(104, hello.can);
  field(112, hello.silence_ms);
}
constexpr std::size_t reserved_at = 116;  // 4 bytes

constexpr std::size_t entry_header_bytes = 8;  // u16 type, u16 length, u32 zero
constexpr std::uint16_t entry_text = 1;
constexpr std::uint16_t entry_receives = 2;
constexpr std::uint16_t entry_name = 3;
constexpr std::uint16_t entry_offers = 4;
constexpr std::uint16_t entry_token = 5;
constexpr std::uint16_t entry_asks = 6;  // no bytes
constexpr std::uint16_t entry_release = 7;
constexpr std::uint16_t entry_ring = 8;
constexpr std::uint16_t ring_length = 48;
constexpr std::uint16_t receives_length = 8;  // how many, and of how many bytes
constexpr std::size_t entry_receives_bytes = entry_header_bytes + receives_length;
// Of offers: the place of the host, the token, then each offer.
constexpr std::size_t offers_boot_at = 0;
constexpr std::size_t offers_network_at = 16;
constexpr std::size_t offers_user_at = 24;
constexpr std::size_t offers_reserved_at = 28;  // 4 bytes
constexpr std::size_t offers_token_at = 32;
constexpr std::size_t offers_fixed_bytes = 48;
constexpr std::size_t offer_bytes = 16;  // u16 wire, u16 port, u32 zero, u64 name
constexpr std::size_t token_bytes = std::tuple_size_v<OfferToken>;
static_assert(hello_fixed_bytes + entry_receives_bytes + ring_length + 7 * entry_header_bytes +
                  2 * wire_padded(hello_name_bytes_max) + offers_fixed_bytes +
                  WireOffers::most * offer_bytes + token_bytes + hello_text_bytes_max <=
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
    name += ' ';
    append_hex(name, std::to_integer<std::uint8_t>(byte));
  }
  return name + ")";
}

HelloResult defective(std::string what) { return {HelloParse::defective, 0, std::move(what)}; }

constexpr bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

// It goes to a terminal, which obeys control characters.
std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return !is_printable(c); }, '?');
  return shown;
}

// Null if the offers are sound. Those of unknown wires are skipped.
const char* parse_offers(std::span<const std::byte> value, WireOffers& offers) {
  if (value.size() <= offers_fixed_bytes || (value.size() - offers_fixed_bytes) % offer_bytes != 0)
    return "hello with offers of the wrong length";
  if ((value.size() - offers_fixed_bytes) / offer_bytes > WireOffers::most) {
    return "hello with too many offers";
  }
  offers = {};
  get(value.data(), offers_boot_at, offers.place.boot);
  get(value.data(), offers_network_at, offers.place.network);
  get(value.data(), offers_user_at, offers.place.user);
  get(value.data(), offers_token_at, offers.token);
  std::uint32_t zero = 0;
  get(value.data(), offers_reserved_at, zero);
  if (zero != 0) return "hello with a reserved field that is not zero";
  if (offers.token == OfferToken{}) return "hello with offers and no token";
  for (value = value.subspan(offers_fixed_bytes); !value.empty();
       value = value.subspan(offer_bytes)) {
    WireOffer offer;
    get(value.data(), 0, offer.wire);
    get(value.data(), 2, offer.port);
    get(value.data(), 4, zero);
    get(value.data(), 8, offer.name);
    if (zero != 0) return "hello with a reserved field that is not zero";
    if (offer.wire >= OfferedWire::shm && offer.wire <= OfferedWire::ofi_tcp) offers.add(offer);
  }
  if (offers.count == 0) offers = {};
  return nullptr;
}

std::size_t encode_offers(const WireOffers& offers, std::byte* value) noexcept {
  std::memset(value, 0, offers_fixed_bytes + offers.count * offer_bytes);
  put(value, offers_boot_at, offers.place.boot);
  put(value, offers_network_at, offers.place.network);
  put(value, offers_user_at, offers.place.user);
  put(value, offers_token_at, offers.token);
  std::byte* at = value + offers_fixed_bytes;
  for (std::size_t i = 0; i < offers.count; ++i, at += offer_bytes) {
    put(at, 0, offers.offers.at(i).wire);
    put(at, 2, offers.offers.at(i).port);
    put(at, 8, offers.offers.at(i).name);
  }
  return static_cast<std::size_t>(at - value);
}

// Calls field(offset, member).
template <typename AnyRing, typename Field>
void for_ring_fields(AnyRing& ring, Field field) {
  field(0, ring.address);
  field(8, ring.key);
  field(16, ring.notices_address);
  field(24, ring.notices_key);
  field(32, ring.slots);
  field(36, ring.slot_bytes);
  field(40, ring.notices);
}

// Null if the ring is sound.
const char* parse_ring(std::span<const std::byte> value, WireRing& ring) {
  if (value.size() != ring_length) return "hello entry of the wrong length";
  for_ring_fields(ring, [&](std::size_t at, auto& member) { get(value.data(), at, member); });
  std::uint32_t zero = 0;
  get(value.data(), ring_length - sizeof zero, zero);
  if (zero != 0) return "hello with a reserved field that is not zero";
  return ring.makes_sense() ? nullptr : "hello with an impossible ring";
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
    const std::string_view value(reinterpret_cast<const char*>(entries.data()), length);
    if (type == entry_text) {
      hello.text = printable(value.substr(0, hello_text_bytes_max));
    } else if (type == entry_name) {
      if (value.empty() || !is_name(value)) return "hello with a name that cannot be one";
      hello.name = value;
    } else if (type == entry_release) {
      if (value.empty() || !is_name(value)) return "hello with a release that cannot be one";
      hello.release = value;
    } else if (type == entry_asks) {
      if (length != 0) return "hello entry of the wrong length";
      hello.asks = true;
    } else if (type == entry_receives) {
      if (length != receives_length) return "hello entry of the wrong length";
      get(entries.data(), 0, hello.receives);
      get(entries.data(), sizeof hello.receives, hello.receive_bytes);
      if (hello.receives == 0) return "hello entry that allows no message";
    } else if (type == entry_offers) {
      const char* const defect = parse_offers(entries.first(length), hello.offers);
      if (defect != nullptr) return defect;
    } else if (type == entry_ring) {
      const char* const defect = parse_ring(entries.first(length), hello.ring);
      if (defect != nullptr) return defect;
    } else if (type == entry_token) {
      if (length != token_bytes) return "hello entry of the wrong length";
      get(entries.data(), 0, hello.token);
      if (hello.token == OfferToken{}) return "hello with an empty token";
    }
    entries = entries.subspan(wire_padded(length));
  }
  return nullptr;
}

// The least that a side may allow a page to have: every control frame fits, and so does a part of a
// message.
constexpr std::size_t page_limit_min = page_header_bytes + frame_word_bytes + subscribed_bytes;
static_assert(subscribe_bytes(1) == subscribed_bytes && subscribed_bytes >= confirm_bytes);
static_assert(page_limit_min >= page_header_bytes + frame_prefix_bytes_max + wire_align);

// What is wrong with who it says it is; null if nothing is. A side that refuses may say nothing.
const char* identity_defect(const Hello& hello) noexcept {
  if (hello.refusal != Refusal::none) return nullptr;
  if (hello.run == RunId{}) return "hello without a run";
  if (hello.stream == StreamId{}) return "hello without a stream";
  if (hello.epoch == 0) return "hello without an epoch";
  return nullptr;
}

const char* parse_this_version(std::span<const std::byte> from, Hello& hello) {
  for_version_fields(hello,
                     [&](std::size_t offset, auto& member) { get(from.data(), offset, member); });
  if (hello.pattern < WirePattern::push || hello.pattern > WirePattern::member) {
    return "hello of an unknown pattern";
  }
  // Who refuses need not say what it would have taken.
  if (hello.refusal == Refusal::none && hello.page_bytes_max < page_limit_min) {
    return "hello with a page limit too small for control frames";
  }
  if (const char* const what = identity_defect(hello); what != nullptr) return what;
  if (hello.silence_ms > silence_ms_most) return "hello that allows more than a day of silence";
  if (hello.silence_ms != 0 && hello.silence_ms < silence_ms_least) {
    return "hello that allows less than 10 ms of silence";
  }
  std::uint32_t zero = 0;
  get(from.data(), reserved_at, zero);
  if (zero != 0) return "hello with a reserved field that is not zero";
  return parse_entries(from.subspan(hello_fixed_bytes), hello);
}

}  // namespace

std::string_view to_string(WirePattern pattern) noexcept {
  constexpr std::array<std::string_view, 12> names = {"unknown", "push",      "pull",    "pair",
                                                      "publish", "subscribe", "request", "reply",
                                                      "readout", "builder",   "manager", "member"};
  const auto index = static_cast<std::size_t>(pattern);
  return names[index < names.size() ? index : 0];
}

bool is_name(std::string_view text) noexcept {
  const bool has_ends = text.empty() || (text.front() != ' ' && text.back() != ' ');
  return text.size() <= hello_name_bytes_max && has_ends && std::ranges::all_of(text, is_printable);
}

std::size_t encode(const Hello& hello, std::span<std::byte> to) noexcept {
  const std::string_view text = std::string_view(hello.text).substr(0, hello_text_bytes_max);
  std::array<std::byte, hello_bytes_max> bytes{};
  std::byte* const out = bytes.data();
  put(out, 0, magic);
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
  const auto put_text = [&put_entry](std::uint16_t type, std::string_view value) {
    if (!value.empty()) put_entry(type, value.data(), value.size());
  };
  if (hello.receives != 0) {
    const std::array receives{hello.receives, hello.receive_bytes};
    put_entry(entry_receives, receives.data(), receives_length);
  }
  put_text(entry_name, hello.name);
  if (hello.offers.count != 0) {
    std::array<std::byte, offers_fixed_bytes + WireOffers::most * offer_bytes> offers;
    put_entry(entry_offers, offers.data(), encode_offers(hello.offers, offers.data()));
  }
  if (hello.token != OfferToken{}) put_entry(entry_token, hello.token.data(), token_bytes);
  if (hello.asks) put_entry(entry_asks, "", 0);
  put_text(entry_release, hello.release);
  if (hello.ring.slots != 0) {
    std::array<std::byte, ring_length> ring{};
    for_ring_fields(hello.ring,
                    [&](std::size_t at, const auto& member) { put(ring.data(), at, member); });
    put_entry(entry_ring, ring.data(), ring.size());
  }
  put_text(entry_text, text);
  const auto used = static_cast<std::size_t>(entry - out);
  if (to.size() < used) return 0;
  put(out, hello_bytes_at, static_cast<std::uint32_t>(used));
  std::memcpy(to.data(), out, used);
  return used;
}

HelloResult parse(std::span<const std::byte> from, Hello& hello) {
  hello = Hello();
  const std::size_t magic_seen = std::min(from.size(), magic.size());
  if (magic_seen != 0 && std::memcmp(from.data(), magic.data(), magic_seen) != 0) {
    return {HelloParse::foreign, 0, foreign_name(from)};
  }
  if (from.size() < hello_bytes_end) return {};
  std::uint32_t bytes = 0;
  get(from.data(), hello_bytes_at, bytes);
  if (bytes < hello_bytes_min || bytes > hello_bytes_max || bytes % wire_align != 0) {
    return defective("hello of an impossible size, " + std::to_string(bytes) + " bytes");
  }
  if (from.size() < bytes) return {HelloParse::need_more, bytes, {}};

  for_lasting_fields(hello,
                     [&](std::size_t offset, auto& member) { get(from.data(), offset, member); });
  if (hello.version_min > hello.version_max) return defective("hello with an empty version range");
  if (hello.version_min <= wire_version && wire_version <= hello.version_max) {
    const char* const what = bytes < hello_fixed_bytes
                                 ? "hello that is too short for its version, as those of older "
                                   "releases are in shared memory; use the same release of netio "
                                   "at both ends"
                                 : parse_this_version(from.first(bytes), hello);
    if (what != nullptr) return defective(what);
  }
  return {HelloParse::done, bytes, {}};
}

}  // namespace netio::detail

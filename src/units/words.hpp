// The messages of event building as 64-bit words: what build_codec and manager_codec have in
// common. A codec says what the first word of each of its messages is (`kind<Message>`), and which
// fields follow it (`fields(code, message)`).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "build/build_plan.hpp"
#include "build/event_id.hpp"
#include "build/manager_messages.hpp"

namespace netio::detail {

// What units and builders say to each other, and what a manager and its members say.
inline constexpr std::uint64_t build_version = 2;
inline constexpr std::uint64_t manager_version = 1;

// The other side is refused, and should end the connection. The text says why, and borrows.
struct Refused {
  std::string_view why;
};
// A longer text is cut.
inline constexpr std::size_t refused_bytes_max = 504;

// Where units reach a builder. A text of a peer is no longer, and a peer has no more of them.
using Addresses = std::vector<std::string>;
inline constexpr std::size_t addresses_max = 16;
inline constexpr std::size_t address_bytes_max = 1024;

inline constexpr std::size_t word_bytes = sizeof(std::uint64_t);
[[nodiscard]] constexpr std::size_t whole_words(std::size_t bytes) noexcept {
  return (bytes + word_bytes - 1) / word_bytes * word_bytes;
}

// `To` has append(bytes, count).
template <typename To>
class WordWriter {
 public:
  explicit WordWriter(To& to) noexcept : to_(to) {}

  void word(std::uint64_t value) { to_.append(&value, word_bytes); }
  void version(std::uint64_t spoken) { word(spoken); }
  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <typename Value>
  requires(std::integral<Value> || std::is_enum_v<Value>) void put(Value value) {
    word(static_cast<std::uint64_t>(value));
  }
  void put(const EventId& event) { (*this)(event.run, event.number); }
  void put(const EventSpan& span) { (*this)(span.from, span.below); }
  void put(const BuildPlan& plan) {
    (*this)(plan.sources, plan.builders, plan.range_events, plan.managed);
  }
  void put(const Assignment& given) {
    (*this)(given.number, given.builder, given.span, given.again);
  }
  void put(const std::string& text) {
    constexpr std::uint64_t padding = 0;
    word(text.size());
    to_.append(text.data(), text.size());
    to_.append(&padding, whole_words(text.size()) - text.size());
  }
  template <typename Item>
  void put(const std::vector<Item>& list) {
    word(list.size());
    for (const Item& each : list) put(each);
  }

  To& to_;
};

class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> from) noexcept : from_(from) {}

  void version(std::uint64_t spoken) noexcept {
    std::uint64_t version = 0;
    get(version);
    if (wrong_ == nullptr && version != spoken) {
      wrong_ = "speaks another version of event building";
    }
  }
  // Throws std::bad_alloc, if one of the fields is a list. A list takes no more memory than it took
  // in the message.
  template <typename... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  // Null, or what is wrong with it.
  [[nodiscard]] const char* end() const noexcept {
    return wrong_ == nullptr && !from_.empty() ? "sent a message that is too long" : wrong_;
  }

 private:
  void get(std::uint64_t& value) noexcept {
    if (wrong_ != nullptr) return;
    if (from_.size() < word_bytes) {
      wrong_ = "sent a message that is too short";
      return;
    }
    std::memcpy(&value, from_.data(), word_bytes);
    from_ = from_.subspan(word_bytes);
  }
  std::uint64_t at_most(std::uint64_t most) noexcept {
    std::uint64_t value = 0;
    get(value);
    if (value <= most) return value;
    wrong_ = "sent a number that is out of range";
    return 0;
  }
  void get(std::int64_t& value) noexcept { value = static_cast<std::int64_t>(at_most(INT64_MAX)); }
  void get(std::uint32_t& value) noexcept {
    value = static_cast<std::uint32_t>(at_most(UINT32_MAX));
  }
  void get(bool& value) noexcept { value = at_most(1) != 0; }
  void get(FragmentStatus& status) noexcept {
    static_assert(static_cast<std::uint64_t>(FragmentStatus::in_error) == 2);
    status = static_cast<FragmentStatus>(at_most(std::uint64_t{2}));
  }
  void get(Missing& why) noexcept {
    why = static_cast<Missing>(at_most(static_cast<std::uint64_t>(Missing::count_) - 1));
  }
  void get(EventId& event) noexcept { (*this)(event.run, event.number); }
  void get(EventSpan& span) noexcept { (*this)(span.from, span.below); }
  void get(BuildPlan& plan) noexcept {
    (*this)(plan.sources, plan.builders, plan.range_events, plan.managed);
  }
  void get(Assignment& given) noexcept {
    (*this)(given.number, given.builder, given.span, given.again);
  }
  void get(std::string& text) {
    const auto size = static_cast<std::size_t>(at_most(address_bytes_max));
    if (wrong_ == nullptr && from_.size() < whole_words(size)) {
      wrong_ = "sent a message that is too short";
    }
    if (wrong_ != nullptr) return;
    const std::span<const std::byte> all = from_.first(whole_words(size));
    if (std::ranges::any_of(all.subspan(size),
                            [](std::byte each) { return each != std::byte{}; })) {
      wrong_ = "sent a text with something behind its end";
      return;
    }
    text.assign(reinterpret_cast<const char*>(all.data()), size);
    from_ = from_.subspan(all.size());
  }
  template <typename Item>
  void get(std::vector<Item>& list) {
    std::uint64_t count = 0;
    get(count);
    if (wrong_ == nullptr && count > items_max<Item>()) {
      wrong_ = "sent a list that is longer than there is room for";
    }
    if (wrong_ != nullptr) return;
    list.resize(static_cast<std::size_t>(count));
    for (Item& each : list) get(each);
  }
  // What the rest of the message has room for.
  template <typename Item>
  [[nodiscard]] std::size_t items_max() const noexcept {
    if constexpr (std::same_as<Item, std::string>) {
      return addresses_max;
    } else if constexpr (std::same_as<Item, Assignment>) {
      static_assert(sizeof(Assignment) <= 7 * word_bytes);
      return from_.size() / (7 * word_bytes);
    } else {
      static_assert(std::same_as<Item, EventSpan> || std::same_as<Item, std::uint64_t>);
      return from_.size() / sizeof(Item);
    }
  }

  std::span<const std::byte> from_;
  const char* wrong_ = nullptr;
};
static_assert(sizeof(EventSpan) == 4 * word_bytes);

template <typename Codec, typename To, typename Message>
void encode_words(const Message& message, To& to) {
  WordWriter<To> writer(to);
  writer.word(Codec::template kind<Message>);
  if constexpr (std::same_as<Message, Refused>) {
    to.append(message.why.data(), std::min(message.why.size(), refused_bytes_max));
  } else {
    Codec::fields(writer, message);
  }
}

// Decodes a message of this kind. False if it is of another one.
template <typename Codec, typename Message, typename Said>
bool decode_words_as(std::uint64_t kind, std::span<const std::byte> from, Said& said,
                     const char*& wrong) {
  if (kind != Codec::template kind<Message>) return false;
  Message message;
  if constexpr (std::same_as<Message, Refused>) {
    message.why = {reinterpret_cast<const char*>(from.data()), from.size()};
  } else {
    WordReader reader(from);
    Codec::fields(reader, message);
    wrong = reader.end();
  }
  if (wrong == nullptr) said = std::move(message);
  return true;
}

// Null, or what is wrong with it in words. `said` is not changed then.
template <typename Codec, typename... Messages>
const char* decode_words(std::span<const std::byte> from, std::variant<Messages...>& said) {
  std::uint64_t kind = 0;
  if (from.size() < word_bytes) return "sent a message that is too short";
  std::memcpy(&kind, from.data(), word_bytes);
  const char* wrong = nullptr;
  const bool known =
      (decode_words_as<Codec, Messages>(kind, from.subspan(word_bytes), said, wrong) || ...);
  return known ? wrong : "sent a message of a kind that is not known here";
}

}  // namespace netio::detail

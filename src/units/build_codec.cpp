// See build_codec.hpp.
#include "units/build_codec.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace netio::detail {

namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// What the first word says. The values are those of the wire.
template <typename Message>
constexpr std::uint64_t kind_of = 0;
template <>
constexpr std::uint64_t kind_of<UnitHello> = 1;
template <>
constexpr std::uint64_t kind_of<UnitDropped> = 2;
template <>
constexpr std::uint64_t kind_of<UnitMark> = 3;
template <>
constexpr std::uint64_t kind_of<UnitWaits> = 4;
template <>
constexpr std::uint64_t kind_of<UnitWants> = 5;
template <>
constexpr std::uint64_t kind_of<UnitRests> = 6;
template <>
constexpr std::uint64_t kind_of<UnitShort> = 7;
template <>
constexpr std::uint64_t kind_of<NextRun> = 8;
template <>
constexpr std::uint64_t kind_of<NextStatus> = 9;
template <>
constexpr std::uint64_t kind_of<BuilderHello> = 17;
template <>
constexpr std::uint64_t kind_of<BuilderDone> = 18;
template <>
constexpr std::uint64_t kind_of<BuilderGrant> = 19;
template <>
constexpr std::uint64_t kind_of<BuilderWanted> = 20;
template <>
constexpr std::uint64_t kind_of<BuilderTurn> = 21;
template <>
constexpr std::uint64_t kind_of<Refused> = 32;

// The fields of each message, in the order of the wire.
template <typename Code, typename Fields>
void each_field(Code& code, Fields& message) noexcept {
  using Message = std::remove_const_t<Fields>;
  if constexpr (std::same_as<Message, UnitHello>) {
    code.version();
    code(message.plan, message.source, message.unit_run, message.begins, message.settled,
         message.builder_run, message.runs_before, message.sent_below, message.sent_before);
  } else if constexpr (std::same_as<Message, BuilderHello>) {
    code.version();
    code(message.plan, message.builder, message.builder_run, message.wanted, message.settled,
         message.window, message.turns);
  } else if constexpr (std::same_as<Message, UnitDropped>) {
    code(message.from, message.below, message.before, message.why);
  } else if constexpr (std::same_as<Message, UnitMark>) {
    code(message.below, message.fragments);
  } else if constexpr (std::same_as<Message, UnitWaits>) {
    code(message.event, message.bytes, message.before);
  } else if constexpr (std::same_as<Message, NextRun>) {
    code(message.run);
  } else if constexpr (std::same_as<Message, NextStatus>) {
    code(message.status);
  } else if constexpr (std::same_as<Message, BuilderDone>) {
    code(message.settled, message.returned);
  } else if constexpr (std::same_as<Message, BuilderGrant>) {
    code(message.event);
  } else if constexpr (std::same_as<Message, BuilderWanted>) {
    code(message.from);
  }
}

class Writer {
 public:
  explicit Writer(std::span<std::byte> to) noexcept : to_(to) {}

  void word(std::uint64_t value) noexcept {
    std::memcpy(to_.data() + size_, &value, word_bytes);
    size_ += word_bytes;
  }
  void version() noexcept { word(build_version); }
  template <typename... Fields>
  void operator()(const Fields&... fields) noexcept {
    (put(fields), ...);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void put(std::uint64_t value) noexcept { word(value); }
  void put(FragmentStatus status) noexcept { word(static_cast<std::uint64_t>(status)); }
  void put(Missing why) noexcept { word(static_cast<std::uint64_t>(why)); }
  void put(const EventId& event) noexcept { (*this)(event.run, event.number); }
  void put(const BuildPlan& plan) noexcept {
    (*this)(std::uint64_t{plan.sources}, std::uint64_t{plan.builders}, plan.range_events,
            std::uint64_t{plan.managed});
  }

  std::span<std::byte> to_;
  std::size_t size_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) noexcept : from_(from) {}

  void version() noexcept {
    std::uint64_t version = 0;
    get(version);
    if (wrong_ == nullptr && version != build_version) {
      wrong_ = "speaks another version of event building";
    }
  }
  template <typename... Fields>
  void operator()(Fields&... fields) noexcept {
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
  void get(std::uint32_t& value) noexcept {
    value = static_cast<std::uint32_t>(at_most(UINT32_MAX));
  }
  void get(bool& value) noexcept { value = at_most(1) != 0; }
  void get(FragmentStatus& status) noexcept {
    status = static_cast<FragmentStatus>(at_most(std::uint64_t{2}));
  }
  void get(Missing& why) noexcept {
    why = static_cast<Missing>(at_most(static_cast<std::uint64_t>(Missing::count_) - 1));
  }
  void get(EventId& event) noexcept { (*this)(event.run, event.number); }
  void get(BuildPlan& plan) noexcept {
    (*this)(plan.sources, plan.builders, plan.range_events, plan.managed);
  }

  std::span<const std::byte> from_;
  const char* wrong_ = nullptr;
};
static_assert(static_cast<std::uint64_t>(FragmentStatus::in_error) == 2);

template <typename Message>
std::size_t encode(const Message& message, std::span<std::byte> to) noexcept {
  Writer writer(to);
  writer.word(kind_of<Message>);
  each_field(writer, message);
  return writer.size();
}

// Decodes what is of this kind; false if it is of another one.
template <typename Message, typename Said>
bool decode_as(std::uint64_t kind, std::span<const std::byte> from, Said& said,
               const char*& wrong) noexcept {
  if (kind != kind_of<Message>) return false;
  Message message;
  if constexpr (std::same_as<Message, Refused>) {
    message.why = {reinterpret_cast<const char*>(from.data()), from.size()};
  } else {
    Reader reader(from);
    each_field(reader, message);
    wrong = reader.end();
  }
  if (wrong == nullptr) said = message;
  return true;
}

template <typename... Messages>
const char* decode_one_of(std::span<const std::byte> from,
                          std::variant<Messages...>& said) noexcept {
  std::uint64_t kind = 0;
  if (from.size() < word_bytes) return "sent a message that is too short";
  std::memcpy(&kind, from.data(), word_bytes);
  const char* wrong = nullptr;
  const bool known = (decode_as<Messages>(kind, from.subspan(word_bytes), said, wrong) || ...);
  return known ? wrong : "sent a message of a kind that is not known here";
}

}  // namespace

BuildBytes::BuildBytes(const UnitMessage& message) noexcept
    : size_(std::visit([&](const auto& each) { return encode(each, bytes_); }, message)) {}
BuildBytes::BuildBytes(const BuilderMessage& message) noexcept
    : size_(std::visit([&](const auto& each) { return encode(each, bytes_); }, message)) {}
BuildBytes::BuildBytes(const NextRun& message) noexcept : size_(encode(message, bytes_)) {}
BuildBytes::BuildBytes(const NextStatus& message) noexcept : size_(encode(message, bytes_)) {}
BuildBytes::BuildBytes(const Refused& message) noexcept : size_(encode(message, bytes_)) {
  const std::size_t text = std::min(message.why.size(), bytes_max - size_);
  std::memcpy(bytes_.data() + size_, message.why.data(), text);
  size_ += text;
}

const char* decode(std::span<const std::byte> from, UnitSaid& said) noexcept {
  return decode_one_of(from, said);
}
const char* decode(std::span<const std::byte> from, BuilderSaid& said) noexcept {
  return decode_one_of(from, said);
}

}  // namespace netio::detail

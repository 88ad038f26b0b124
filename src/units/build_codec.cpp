// See build_codec.hpp.
#include "units/build_codec.hpp"

#include <concepts>
#include <type_traits>

namespace netio::detail {

namespace {

struct BuildCodec {
  // What the first word says. The values are those of the wire.
  template <typename Message>
  static constexpr std::uint64_t kind = 0;

  // The fields of each message, in the order of the wire.
  template <typename Code, typename Fields>
  static void fields(Code& code, Fields& message);
};
template <>
constexpr std::uint64_t BuildCodec::kind<UnitHello> = 1;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitDropped> = 2;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitMark> = 3;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitWaits> = 4;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitWants> = 5;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitRests> = 6;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitShort> = 7;
template <>
constexpr std::uint64_t BuildCodec::kind<NextRun> = 8;
template <>
constexpr std::uint64_t BuildCodec::kind<NextStatus> = 9;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitIntroduces> = 10;
template <>
constexpr std::uint64_t BuildCodec::kind<UnitBusy> = 11;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderHello> = 17;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderDone> = 18;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderGrant> = 19;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderWanted> = 20;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderTurn> = 21;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderAccepts> = 22;
template <>
constexpr std::uint64_t BuildCodec::kind<BuilderAsks> = 23;
template <>
constexpr std::uint64_t BuildCodec::kind<Refused> = 32;

template <typename Code, typename Fields>
void BuildCodec::fields(Code& code, Fields& message) {
  const auto used = [&code](auto& counts) { code(counts.built, counts.incomplete, counts.since); };
  using Message = std::remove_const_t<Fields>;
  if constexpr (std::same_as<Message, UnitHello>) {
    code.version(build_version);
    code(message.plan, message.source, message.unit_run, message.begins, message.settled,
         message.builder_run, message.runs_before, message.sent_below, message.sent_before);
  } else if constexpr (std::same_as<Message, UnitIntroduces>) {
    code.version(build_version);
    code(message.plan, message.source, message.builder);
  } else if constexpr (std::same_as<Message, BuilderHello>) {
    code.version(build_version);
    code(message.plan, message.builder, message.builder_run, message.wanted, message.settled,
         message.window, message.turns);
    used(message.used);
  } else if constexpr (std::same_as<Message, UnitDropped>) {
    code(message.from, message.below, message.before, message.why);
  } else if constexpr (std::same_as<Message, UnitMark>) {
    code(message.below, message.fragments);
  } else if constexpr (std::same_as<Message, UnitWaits>) {
    code(message.event, message.bytes, message.before);
  } else if constexpr (std::same_as<Message, UnitBusy>) {
    code(message.busy);
  } else if constexpr (std::same_as<Message, NextRun>) {
    code(message.run);
  } else if constexpr (std::same_as<Message, NextStatus>) {
    code(message.status);
  } else if constexpr (std::same_as<Message, BuilderDone>) {
    code(message.settled, message.returned);
    used(message.used);
  } else if constexpr (std::same_as<Message, BuilderGrant>) {
    code(message.event);
  } else if constexpr (std::same_as<Message, BuilderWanted>) {
    code(message.from);
  }
}

// Adds to the bytes of one message, which have room for it.
struct RoomForOne {
  std::span<std::byte> to;
  std::size_t size = 0;

  void append(const void* from, std::size_t bytes) noexcept {
    if (bytes != 0) std::memcpy(to.data() + size, from, bytes);
    size += bytes;
  }
};

template <typename Message>
std::size_t encode_one(const Message& message, std::span<std::byte> to) noexcept {
  RoomForOne room{to};
  encode_words<BuildCodec>(message, room);
  return room.size;
}

}  // namespace

BuildBytes::BuildBytes(const UnitMessage& message) noexcept
    : size_(std::visit([&](const auto& each) { return encode_one(each, bytes_); }, message)) {}
BuildBytes::BuildBytes(const BuilderMessage& message) noexcept
    : size_(std::visit([&](const auto& each) { return encode_one(each, bytes_); }, message)) {}
BuildBytes::BuildBytes(const UnitIntroduces& message) noexcept
    : size_(encode_one(message, bytes_)) {}
BuildBytes::BuildBytes(const BuilderAccepts& message) noexcept
    : size_(encode_one(message, bytes_)) {}
BuildBytes::BuildBytes(const NextRun& message) noexcept : size_(encode_one(message, bytes_)) {}
BuildBytes::BuildBytes(const NextStatus& message) noexcept : size_(encode_one(message, bytes_)) {}
BuildBytes::BuildBytes(const Refused& message) noexcept : size_(encode_one(message, bytes_)) {}

const char* decode(std::span<const std::byte> from, UnitSaid& said) noexcept {
  return decode_words<BuildCodec>(from, said);
}
const char* decode(std::span<const std::byte> from, BuilderSaid& said) noexcept {
  return decode_words<BuildCodec>(from, said);
}

}  // namespace netio::detail

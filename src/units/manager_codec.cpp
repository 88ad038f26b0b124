// See manager_codec.hpp.
#include "units/manager_codec.hpp"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace netio::detail {

namespace {

struct ManagerCodec {
  // What the first word says. The values are those of the wire.
  template <typename Message>
  static constexpr std::uint64_t kind = 0;

  // The fields of each message, in the order of the wire.
  template <typename Code, typename Fields>
  static void fields(Code& code, Fields& message);
};
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitJoins> = 1;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitProduced> = 2;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitWelcome> = 17;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitAssigned> = 18;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitRevoked> = 19;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitSettled> = 20;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitAsked> = 21;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitStops> = 22;
template <>
constexpr std::uint64_t ManagerCodec::kind<UnitBuilder> = 23;
template <>
constexpr std::uint64_t ManagerCodec::kind<Refused> = 32;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderJoins> = 33;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderReports> = 34;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderAt> = 35;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderWelcome> = 49;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderExpects> = 50;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderRevoked> = 51;
template <>
constexpr std::uint64_t ManagerCodec::kind<BuilderLease> = 52;

template <typename Code, typename Fields>
void ManagerCodec::fields(Code& code, Fields& message) {
  using Message = std::remove_const_t<Fields>;
  if constexpr (std::same_as<Message, UnitJoins>) {
    code.version(manager_version);
    code(message.plan, message.source, message.unit_run, message.term, message.manager_run,
         message.begins, message.assigned, message.open);
  } else if constexpr (std::same_as<Message, UnitProduced>) {
    code(message.below, message.oldest, message.assigned, message.busy, message.term);
  } else if constexpr (std::same_as<Message, UnitWelcome>) {
    code(message.term, message.manager_run, message.assigned, message.open, message.next,
         message.stop, message.produced);
  } else if constexpr (std::same_as<Message, UnitAssigned>) {
    code(message.assignment);
  } else if constexpr (std::same_as<Message, UnitRevoked>) {
    code(message.builder, message.below);
  } else if constexpr (std::same_as<Message, UnitSettled>) {
    code(message.span);
  } else if constexpr (std::same_as<Message, UnitStops>) {
    code(message.at);
  } else if constexpr (std::same_as<Message, UnitBuilder>) {
    code(message.builder, message.addresses);
  } else if constexpr (std::same_as<Message, BuilderJoins>) {
    code.version(manager_version);
    code(message.plan, message.builder, message.builder_run, message.term, message.manager_run,
         message.weight, message.newest_term, message.expected);
  } else if constexpr (std::same_as<Message, BuilderReports>) {
    code(message.number, message.done, message.credit);
  } else if constexpr (std::same_as<Message, BuilderAt>) {
    code(message.addresses);
  } else if constexpr (std::same_as<Message, BuilderWelcome>) {
    code(message.term, message.manager_run, message.lease_ns, message.first, message.open);
  } else if constexpr (std::same_as<Message, BuilderExpects>) {
    code(message.assignment);
  } else if constexpr (std::same_as<Message, BuilderRevoked>) {
    code(message.below);
  } else if constexpr (std::same_as<Message, BuilderLease>) {
    code(message.number);
  }
}

// Adds to the bytes of a message.
struct GrowingBytes {
  std::vector<std::byte>& to;

  void append(const void* from, std::size_t bytes) {
    const std::size_t size = to.size();
    to.resize(size + bytes);
    if (bytes != 0) std::memcpy(to.data() + size, from, bytes);
  }
};

template <typename Message>
std::span<const std::byte> encode_into(std::vector<std::byte>& bytes, const Message& message) {
  bytes.clear();
  GrowingBytes growing{bytes};
  encode_words<ManagerCodec>(message, growing);
  return bytes;
}

template <typename... Messages>
std::span<const std::byte> encode_into(std::vector<std::byte>& bytes,
                                       const std::variant<Messages...>& message) {
  return std::visit([&](const auto& each) { return encode_into(bytes, each); }, message);
}

}  // namespace

std::span<const std::byte> ManagerBytes::of(const UnitToManager& message) {
  return encode_into(bytes_, message);
}
std::span<const std::byte> ManagerBytes::of(const BuilderToManager& message) {
  return encode_into(bytes_, message);
}
std::span<const std::byte> ManagerBytes::of(const ManagerToUnit& message) {
  return encode_into(bytes_, message);
}
std::span<const std::byte> ManagerBytes::of(const ManagerToBuilder& message) {
  return encode_into(bytes_, message);
}
std::span<const std::byte> ManagerBytes::of(const BuilderAt& message) {
  return encode_into(bytes_, message);
}
std::span<const std::byte> ManagerBytes::of(const UnitBuilder& message) {
  return encode_into(bytes_, message);
}
std::span<const std::byte> ManagerBytes::of(const Refused& message) {
  return encode_into(bytes_, message);
}

const char* decode(std::span<const std::byte> from, SaidToManager& said) {
  return decode_words<ManagerCodec>(from, said);
}
const char* decode(std::span<const std::byte> from, SaidToUnit& said) {
  return decode_words<ManagerCodec>(from, said);
}
const char* decode(std::span<const std::byte> from, SaidToBuilder& said) {
  return decode_words<ManagerCodec>(from, said);
}

}  // namespace netio::detail

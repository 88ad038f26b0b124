// One message to or from an event manager: what is accepted, in each direction, is written again as
// it was.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "require.hpp"
#include "units/manager_codec.hpp"

using namespace netio::detail;

namespace {

template <typename Message>
std::span<const std::byte> again(ManagerBytes& bytes, const Message& message) {
  if constexpr (std::is_constructible_v<UnitToManager, Message>) {
    return bytes.of(UnitToManager(message));
  } else if constexpr (std::is_constructible_v<BuilderToManager, Message>) {
    return bytes.of(BuilderToManager(message));
  } else if constexpr (std::is_constructible_v<ManagerToUnit, Message>) {
    return bytes.of(ManagerToUnit(message));
  } else if constexpr (std::is_constructible_v<ManagerToBuilder, Message>) {
    return bytes.of(ManagerToBuilder(message));
  } else {
    return bytes.of(message);
  }
}

template <typename Variant>
void check_codec(std::span<const std::byte> from) {
  Variant said;
  const Variant untouched;
  if (const char* const wrong = decode(from, said); wrong != nullptr) {
    require(*wrong != '\0' && said.index() == untouched.index());
    return;
  }
  ManagerBytes bytes;
  std::visit(
      [&]<typename Message>(const Message& each) {
        const std::span<const std::byte> back = again(bytes, each);
        const bool is_text = std::is_same_v<Message, Refused>;
        require(is_text ? back.size() == std::min(from.size(), word_bytes + refused_bytes_max)
                        : back.size() == from.size());
        require(std::ranges::equal(back, from.first(back.size())));
      },
      said);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ExactCopy input(data, size);
  check_codec<SaidToManager>(input.bytes());
  check_codec<SaidToUnit>(input.bytes());
  check_codec<SaidToBuilder>(input.bytes());
  return 0;
}

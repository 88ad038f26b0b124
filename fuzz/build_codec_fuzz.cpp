// One message between a read-out unit and a builder: what is accepted, in either direction, is
// written again as it was.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "require.hpp"
#include "units/build_codec.hpp"

using namespace netio::detail;

namespace {

template <typename Variant>
void check_codec(std::span<const std::byte> from) {
  Variant said;
  const Variant untouched;
  if (const char* const wrong = decode(from, said); wrong != nullptr) {
    require(*wrong != '\0' && said.index() == untouched.index());
    return;
  }
  std::visit(
      [&]<typename Message>(const Message& each) {
        const auto bytes = [&] {
          if constexpr (std::is_constructible_v<UnitMessage, Message>) {
            return BuildBytes(UnitMessage(each));
          } else if constexpr (std::is_constructible_v<BuilderMessage, Message>) {
            return BuildBytes(BuilderMessage(each));
          } else {
            return BuildBytes(each);
          }
        }();
        const bool is_text = std::is_same_v<Message, Refused>;
        require(is_text ? bytes.bytes().size() == std::min(from.size(), BuildBytes::bytes_max)
                        : bytes.bytes().size() == from.size());
        require(std::ranges::equal(bytes.bytes(), from.first(bytes.bytes().size())));
      },
      said);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ExactCopy input(data, size);
  check_codec<UnitSaid>(input.bytes());
  check_codec<BuilderSaid>(input.bytes());
  return 0;
}

#include "fragment_stamp.hpp"

#include <cstring>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::size_t name_bytes = fragment_stamp_bytes - stamp_bytes;

// So the checksum is of the name too.
std::uint64_t sequence_of(const FragmentName& name) noexcept {
  const std::uint64_t where = (std::uint64_t{name.source} << 32U) + name.event.run;
  return name.event.number + where * 0x9e3779b97f4a7c15U;
}

}  // namespace

std::string to_text(const FragmentName& name) {
  return fmt::format("source {}, event {} of run {}", name.source, grouped(name.event.number),
                     name.event.run);
}

void stamp_fragment(std::span<std::byte> fragment, const FragmentName& name) noexcept {
  std::memcpy(fragment.data(), &name.source, 4);
  std::memcpy(fragment.data() + 4, &name.event.run, 4);
  std::memcpy(fragment.data() + 8, &name.event.number, 8);
  stamp(fragment.subspan(name_bytes), sequence_of(name));
}

bool read_fragment(std::span<const std::byte> fragment, FragmentName& name) noexcept {
  if (fragment.size() < fragment_stamp_bytes) return false;
  std::memcpy(&name.source, fragment.data(), 4);
  std::memcpy(&name.event.run, fragment.data() + 4, 4);
  std::memcpy(&name.event.number, fragment.data() + 8, 8);
  std::uint64_t sequence = 0;
  return read_stamp(fragment.subspan(name_bytes), sequence) && sequence == sequence_of(name);
}

}  // namespace netio::cli

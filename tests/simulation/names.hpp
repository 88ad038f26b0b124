// Each message has a name, from which its contents follow; and tags come in a universe of 64 atoms,
// so that a set of tags is one number for the oracle, and needs none of the library's code.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <netio/subscription.hpp>

#include "support/payload.hpp"

namespace netio::test {

// The number of the run that sent it, and which of its messages it was (from 1): 16 and 32 bits.
using Name = std::uint64_t;

constexpr Name name_of(std::uint32_t run, std::uint64_t n) noexcept {
  return std::uint64_t{run} << 32U | n;
}
constexpr std::uint32_t run_of(Name name) noexcept {
  return static_cast<std::uint32_t>(name >> 32U & 0xffffU);
}
constexpr std::uint64_t number_in_run(Name name) noexcept { return name & 0xffff'ffffU; }

// A message of 8 bytes or more begins with its name; a smaller one is known by its tag.
inline constexpr std::size_t named_bytes_min = sizeof(Name);

constexpr std::uint64_t content_word(Name name, std::size_t index) noexcept {
  return index == 0 ? name : mix(name) + index * 0x9e3779b97f4a7c15U;
}

inline void write_content(std::span<std::byte> to, Name name) noexcept {
  const std::uint64_t seed = mix(name);
  std::byte* at = to.data();
  for (std::size_t i = 0; i < to.size() / 8; ++i, at += 8) {
    const std::uint64_t word = i == 0 ? name : seed + i * 0x9e3779b97f4a7c15U;
    std::memcpy(at, &word, sizeof word);
  }
  const std::uint64_t last = content_word(name, to.size() / 8);
  if (to.size() % 8 != 0) std::memcpy(at, &last, to.size() % 8);
}

[[nodiscard]] inline bool has_content(std::span<const std::byte> bytes, Name name) noexcept {
  const std::uint64_t seed = mix(name);
  const std::byte* at = bytes.data();
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < bytes.size() / 8; ++i, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    different |= word ^ (i == 0 ? name : seed + i * 0x9e3779b97f4a7c15U);
  }
  const std::uint64_t last = content_word(name, bytes.size() / 8);
  return different == 0 && (bytes.size() % 8 == 0 || std::memcmp(at, &last, bytes.size() % 8) == 0);
}

// Tags: 32 classes. A tag is plain, the same for many messages, or one message's own.
inline constexpr unsigned tag_classes = 32;
inline constexpr unsigned own_tag_bits = 48;
inline constexpr std::uint64_t own_tag_mask = (std::uint64_t{1} << own_tag_bits) - 1;

constexpr std::uint64_t plain_tag(unsigned tag_class) noexcept {
  return std::uint64_t{tag_class} << own_tag_bits;
}
constexpr std::uint64_t own_tag(unsigned tag_class, Name name) noexcept {
  return plain_tag(tag_class) | name;
}
constexpr Name name_in_tag(std::uint64_t tag) noexcept { return tag & own_tag_mask; }

// A set of atoms. Atom 2c is the plain tag of class c, atom 2c + 1 is all its other tags.
using Atoms = std::uint64_t;

constexpr unsigned atom_of(std::uint64_t tag) noexcept {
  return static_cast<unsigned>(2 * (tag >> own_tag_bits)) + (name_in_tag(tag) != 0 ? 1 : 0);
}
constexpr bool contains(Atoms atoms, std::uint64_t tag) noexcept {
  return (atoms >> atom_of(tag) & 1U) != 0;
}
constexpr std::uint64_t first_tag(unsigned atom) noexcept { return plain_tag(atom / 2) + atom % 2; }
constexpr std::uint64_t last_tag(unsigned atom) noexcept {
  return plain_tag(atom / 2) | (atom % 2 != 0 ? own_tag_mask : 0);
}

// Neighbours are one range.
inline std::vector<TagRange> ranges_of(Atoms atoms) {
  std::vector<TagRange> ranges;
  for (unsigned atom = 0; atom < 64; ++atom) {
    if ((atoms >> atom & 1U) == 0) continue;
    if (!ranges.empty() && ranges.back().last + 1 == first_tag(atom)) {
      ranges.back().last = last_tag(atom);
    } else {
      ranges.push_back({first_tag(atom), last_tag(atom)});
    }
  }
  return ranges;
}

// Nothing if a range begins or ends inside an atom.
inline std::optional<Atoms> atoms_of(std::span<const TagRange> ranges) noexcept {
  Atoms atoms = 0;
  for (const TagRange& range : ranges) {
    if (range.last > last_tag(63) || range.first > range.last) return std::nullopt;
    const unsigned first = atom_of(range.first);
    const unsigned last = atom_of(range.last);
    if (first_tag(first) != range.first || last_tag(last) != range.last) return std::nullopt;
    for (unsigned atom = first; atom <= last; ++atom) atoms |= Atoms{1} << atom;
  }
  return atoms;
}

}  // namespace netio::test

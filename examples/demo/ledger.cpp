// Bits for fragments: entered in order mostly, so the vectors grow at their end.
#include "ledger.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace demo {

namespace {

constexpr std::uint64_t bits_per_word = 64;

constexpr std::uint64_t mask_of(std::uint64_t sequence) {
  return std::uint64_t{1} << (sequence % bits_per_word);
}

void append(std::vector<std::byte>& to, std::span<const std::uint64_t> words) {
  const auto bytes = std::as_bytes(words);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

bool take(std::span<const std::byte>& from, std::span<std::uint64_t> to) {
  if (from.size() < to.size_bytes()) return false;
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size_bytes());
  from = from.subspan(to.size_bytes());
  return true;
}

}  // namespace

Ledger::Entry Ledger::enter(std::uint32_t link, std::uint64_t sequence) {
  std::vector<std::uint64_t>& bits = bits_[link];
  const auto word = static_cast<std::size_t>(sequence / bits_per_word);
  if (word >= bits.size()) bits.resize(word + 1);
  if ((bits[word] & mask_of(sequence)) != 0) return Entry::twice;
  bits[word] |= mask_of(sequence);
  if (sequence < next_[link]) return Entry::late;
  next_[link] = sequence + 1;
  return Entry::in_order;
}

void Ledger::pack(std::vector<std::byte>& to) const {
  append(to, next_);
  for (const std::vector<std::uint64_t>& bits : bits_) append(to, bits);
}

bool Ledger::unpack(std::span<const std::byte> from) {
  if (!take(from, next_)) return false;
  for (std::uint32_t link = 0; link < link_count; ++link) {
    const std::uint64_t words = (next_[link] + bits_per_word - 1) / bits_per_word;
    if (words > from.size() / sizeof(std::uint64_t)) return false;
    bits_[link].resize(static_cast<std::size_t>(words));
    if (!take(from, bits_[link])) return false;
  }
  return from.empty();
}

bool Ledger::has(std::uint32_t link, std::uint64_t sequence) const noexcept {
  const std::vector<std::uint64_t>& bits = bits_[link];
  const auto word = static_cast<std::size_t>(sequence / bits_per_word);
  return word < bits.size() && (bits[word] & mask_of(sequence)) != 0;
}

Comparison compare(std::span<const Ledger> ledgers,
                   const std::array<std::uint64_t, link_count>& made_by_link) {
  Comparison result;
  const auto fault = [&](std::uint32_t link, std::uint64_t sequence, const char* what) {
    if (result.first_fault.empty()) {
      result.first_fault = fmt::format("fragment {} of link {} {}", sequence, link, what);
    }
  };
  for (std::uint32_t link = 0; link < link_count; ++link) {
    std::uint64_t end = made_by_link[link];
    for (const Ledger& ledger : ledgers) end = std::max(end, ledger.end(link));
    for (std::uint64_t sequence = 0; sequence < end; ++sequence) {
      const auto copies = std::count_if(ledgers.begin(), ledgers.end(), [&](const Ledger& ledger) {
        return ledger.has(link, sequence);
      });
      if (sequence >= made_by_link[link]) {
        if (copies != 0) {
          ++result.unknown;
          fault(link, sequence, "was never made");
        }
      } else if (copies == 1) {
        ++result.once;
      } else if (copies == 0) {
        ++result.missing;
        fault(link, sequence, "is missing");
      } else {
        ++result.several;
        fault(link, sequence, "came to several builders");
      }
    }
  }
  return result;
}

}  // namespace demo

// See settled_fragments.hpp.
#include "build/settled_fragments.hpp"

namespace netio::detail {

namespace {
constexpr std::size_t word_bits = 64;

struct Bit {
  std::size_t word;
  std::uint64_t mask;
};
constexpr Bit bit_of(std::size_t index) noexcept {
  return {index / word_bits, std::uint64_t{1} << index % word_bits};
}
constexpr Bit complete_bit = bit_of(0);
constexpr Bit source_bit(std::size_t source) noexcept { return bit_of(source + 1); }
}  // namespace

void SettledFragments::handed_over(const OpenEvent& event, bool complete) noexcept {
  if (behind_) note(event, complete);
  if (earlier_ == 0) return;
  for (std::size_t source = 0; source < units_.size(); ++source) {
    Unit& unit = units_[source];
    if (unit.earlier == 0 || !event.fragments[source].here) continue;
    --unit.earlier;
    --earlier_;
    ++(complete ? unit.built_before : unit.incomplete_before);
  }
}

void SettledFragments::dropped(const OpenEvent& event) noexcept {
  for (std::size_t source = 0; source < units_.size(); ++source) {
    Unit& unit = units_[source];
    if (unit.earlier == 0 || !event.fragments[source].here) continue;
    --unit.earlier;
    --earlier_;
  }
}

void SettledFragments::note(const OpenEvent& event, bool complete) noexcept {
  const std::size_t first = here_.size();
  for (std::size_t word = 0; word < words_each(); ++word) here_.push_back(0);
  ids_.push_back(event.id);
  if (complete) here_[first + complete_bit.word] |= complete_bit.mask;
  for (std::size_t source = 0; source < units_.size(); ++source) {
    if (!event.fragments[source].here || units_[source].earlier != 0) continue;
    const Bit bit = source_bit(source);
    here_[first + bit.word] |= bit.mask;
  }
}

void SettledFragments::settle(EventId below, const std::vector<BuilderSource>& sources) noexcept {
  if (!behind_) {
    for (std::size_t source = 0; source < units_.size(); ++source) {
      Unit& unit = units_[source];
      unit.built = sources[source].books.built - unit.built_before;
      unit.incomplete = sources[source].books.incomplete - unit.incomplete_before;
    }
    return;
  }
  for (; !ids_.empty() && ids_[0] < below; ids_.pop_front(), here_.pop_front(words_each())) {
    const bool complete = (here_[complete_bit.word] & complete_bit.mask) != 0;
    for (std::size_t source = 0; source < units_.size(); ++source) {
      const Bit bit = source_bit(source);
      if ((here_[bit.word] & bit.mask) == 0) continue;
      ++(complete ? units_[source].built : units_[source].incomplete);
    }
  }
}

void SettledFragments::begin(std::uint32_t source, const SourceBooks& books,
                             std::uint64_t open) noexcept {
  Unit& unit = units_[source];
  earlier_ += open - unit.earlier;
  unit = {0, 0, books.built, books.incomplete, open};
  const Bit bit = source_bit(source);
  for (std::size_t each = 0; each < ids_.size(); ++each) {
    here_[each * words_each() + bit.word] &= ~bit.mask;
  }
}

}  // namespace netio::detail

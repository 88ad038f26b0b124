#include "note_sums.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::chrono::seconds period{2};
// So many of a kind are said before it is summed up: a handful of peers that come or go at once.
constexpr int said_at_first = 4;
// Peers write what notes quote: more kinds than this are one.
constexpr std::size_t kinds_max = 8;
// So many lines may be said at once. One more is allowed each period, so over a minute it is less
// than a line a second.
constexpr int lines_at_once = 20;

std::string key_of(std::string_view text) {
  std::string key;
  bool aside = false;
  for (const char c : text) {
    aside = c == '(' || (aside && c != ')');
    if (!aside && (c < '0' || c > '9')) key += c;
  }
  return key;
}

}  // namespace

NoteSums::NoteSums(Loop& loop, std::function<void(std::string_view)> say)
    : loop_(loop),
      say_(std::move(say)),
      lines_left_(lines_at_once),
      timer_(loop_, [this] { say_sums(); }) {}

void NoteSums::note(std::string_view text) {
  Kind& kind = kind_of(text);
  if (kind.said < said_at_first && lines_left_ > 0) {
    ++kind.said;
    --lines_left_;
    say_(text);
  } else {
    ++kind.more;
    kind.latest = text;
  }
  if (!timer_.running()) timer_.start_once(period);
}

NoteSums::Kind& NoteSums::kind_of(std::string_view text) {
  std::string key = key_of(text);
  const auto found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&key](const Kind& kind) { return kind.key == key; });
  if (found != kinds_.end()) return *found;
  if (kinds_.size() == kinds_max) return kinds_.back();
  return kinds_.emplace_back(Kind{std::move(key), 0, 0, {}});
}

// A kind of which nothing came for a period is begun anew.
void NoteSums::say_sums() {
  lines_left_ = std::min(lines_left_ + 1, lines_at_once);
  std::erase_if(kinds_, [](const Kind& kind) { return kind.said == 0 && kind.more == 0; });
  say_the_rest();
  for (Kind& kind : kinds_) kind.said = std::exchange(kind.more, 0) != 0 ? said_at_first : 0;
  if (!kinds_.empty() || lines_left_ < lines_at_once) timer_.start_once(period);
}

void NoteSums::say_the_rest() {
  std::uint64_t all = 0;
  const Kind* most = nullptr;
  for (const Kind& kind : kinds_) {
    all += kind.more;
    if (kind.more != 0 && (most == nullptr || kind.more > most->more)) most = &kind;
  }
  if (most == nullptr) return;
  if (lines_left_ > 0) --lines_left_;
  const std::string others =
      all == most->more ? "" : fmt::format(" (and {} others)", grouped(all - most->more));
  say_(fmt::format("... and {} more like it{}: {}", grouped(most->more), others, most->latest));
}

void NoteSums::finish() noexcept {
  timer_.stop();
  say_the_rest();
  kinds_.clear();
}

}  // namespace netio::cli

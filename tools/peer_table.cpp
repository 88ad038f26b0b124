#include "peer_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::chrono::milliseconds look_at_peers_every{200};
constexpr std::chrono::seconds notes_apart{1};
// A peer that takes nothing for so long holds somebody up; for shorter times every fast stream
// does.
constexpr std::chrono::seconds stuck_after{1};
constexpr std::size_t peers_listed_max = 1000;

std::string and_more(std::size_t count) {
  return count == 0 ? std::string() : fmt::format(", and {} more", count);
}

}  // namespace

bool PeerLine::slow() const noexcept {
  return lost() + last.books.unsettled() != 0 || behind_longest >= stuck_after;
}

std::string name_of(const PeerSnapshot& peer) {
  if (!peer.policy) return named(peer);
  return fmt::format("{} (policy {})", named(peer), to_string(*peer.policy));
}

PeerTable::PeerTable(Loop& loop, std::function<void(const std::string&)> note)
    : loop_(loop), note_(std::move(note)), timer_(loop, [this] {
        look();
        note_slow();
      }) {}

void PeerTable::use(const Socket& socket) { socket_ = &socket; }

// Who comes back has the id that it had.
void PeerTable::up(const PeerInfo& peer) {
  if (!timer_.running()) {
    looked_ = loop_.now();
    timer_.start_periodic(look_at_peers_every);
  }
  if (const auto known = lines_.find(peer.id); known != lines_.end()) {
    static_cast<PeerInfo&>(known->second.last) = peer;
    known->second.connected = true;
    return;
  }
  PeerLine line;
  if (lines_.size() == peers_listed_max) {
    ++not_listed_;
    return;
  }
  static_cast<PeerInfo&>(line.last) = peer;
  line.connected = true;
  lines_.emplace(peer.id, std::move(line));
}

void PeerTable::down(const PeerInfo& peer) {
  const auto known = lines_.find(peer.id);
  if (known == lines_.end()) return;
  PeerLine& line = known->second;
  static_cast<PeerInfo&>(line.last) = peer;
  line.connected = line.last.behind = line.noted_stuck = false;
}

void PeerTable::look() {
  if (socket_ == nullptr) return;
  const std::chrono::nanoseconds now = loop_.now();
  const std::chrono::nanoseconds since_last = now - std::exchange(looked_, now);
  for (const PeerSnapshot& peer : socket_->peers()) take(peer, since_last);
}

void PeerTable::take(const PeerSnapshot& now, std::chrono::nanoseconds since_last) {
  const auto known = lines_.find(now.id);
  if (known == lines_.end() || !now.up) return;
  PeerLine& line = known->second;
  if (now.behind) {
    line.behind += std::min(now.behind_for, since_last);
    line.behind_longest = std::max(line.behind_longest, now.behind_for);
  } else {
    line.noted_stuck = false;
  }
  line.last = now;
}

void PeerTable::note_slow() {
  const std::chrono::nanoseconds now = loop_.now();
  if (now - noted_ < notes_apart) return;
  PeerLine* worst = nullptr;  // who lost most since the last note
  PeerLine* stuck = nullptr;
  std::size_t losing = 0;
  std::size_t new_stuck = 0;
  const auto news = [](const PeerLine& line) {
    return line.last.books.dropped() - std::min(line.last.books.dropped(), line.noted_dropped);
  };
  for (auto& [id, line] : lines_) {
    if (line.connected && news(line) != 0) {
      ++losing;
      if (worst == nullptr || news(line) > news(*worst)) worst = &line;
    }
    if (line.last.behind && line.last.behind_for >= stuck_after && !line.noted_stuck) {
      ++new_stuck;
      if (stuck == nullptr || line.last.behind_for > stuck->last.behind_for) stuck = &line;
    }
  }
  if (worst != nullptr) {
    note_(fmt::format("dropped {} for {}{}", counted(news(*worst), "message"), name_of(worst->last),
                      and_more(losing - 1)));
    for (auto& [id, line] : lines_) line.noted_dropped = line.last.books.dropped();
  } else if (stuck != nullptr) {
    note_(fmt::format(
        "{} is behind for {}: {} wait{}", name_of(stuck->last),
        duration_text(seconds_of(stuck->last.behind_for)),
        scaled(static_cast<double>(stuck->last.waiting_bytes + stuck->last.wire_bytes), "B"),
        and_more(new_stuck - 1)));
    for (auto& [id, line] : lines_) line.noted_stuck = line.last.behind;
  } else {
    return;
  }
  noted_ = now;
}

std::string PeerTable::behind() const {
  const PeerLine* worst = nullptr;
  std::size_t others = 0;
  for (const auto& [id, line] : lines_) {
    if (!line.connected || !line.last.behind) continue;
    if (worst != nullptr) ++others;
    if (worst == nullptr || line.last.behind_for > worst->last.behind_for) worst = &line;
  }
  return worst == nullptr ? std::string() : named(worst->last) + and_more(others);
}

std::vector<PeerLine> PeerTable::lines() const {
  std::vector<PeerLine> lines;
  for (const auto& [id, line] : lines_) lines.push_back(line);
  return lines;
}

}  // namespace netio::cli

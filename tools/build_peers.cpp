#include "build_peers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "peer_wait.hpp"
#include "units.hpp"
#include "wire_note.hpp"

namespace netio::cli {

namespace {
// Peers write what reasons quote.
constexpr std::size_t reasons_noted_max = 100;
constexpr std::size_t missed_listed_max = 8;
}  // namespace

BuildPeers::BuildPeers(Loop& loop, Progress& progress, Options options,
                       std::function<void()> on_give_up)
    : progress_(progress),
      options_(std::move(options)),
      peers_(options_.count),
      on_give_up_(std::move(on_give_up)),
      missed_(loop, [this] {
        closing();
        on_give_up_();
      }) {
  for (std::size_t number = 0; number < peers_.size(); ++number) {
    peers_[number].name = noun_of(number);
  }
}

// "unit 2", "manager"
std::string BuildPeers::noun_of(std::size_t number) const {
  return options_.only_one ? options_.noun : fmt::format("{} {}", options_.noun, number);
}

void BuildPeers::expect(std::uint32_t number, std::string_view address) {
  peers_[number].name = fmt::format("{} {}", noun_of(number), address);
}

void BuildPeers::begin() { look_for_missed(); }

void BuildPeers::up(std::uint32_t number, const PeerInfo& peer) {
  Peer& one = peers_[number];
  one.name = fmt::format("{} {}", noun_of(number), named(peer));
  note_wire(progress_, peer);
  came(one, peer.run);
}

void BuildPeers::came(Peer& peer, std::array<std::uint8_t, 16> run) {
  const bool another_run = peer.met && peer.run != run;
  if (another_run) ++restarted_;
  std::string_view what = "is connected";
  if (another_run) {
    what = "is back anew (it was restarted, or has come by another address)";
  } else if (peer.met) {
    what = "is back";
  }
  progress_.note(fmt::format("{} {}", peer.name, what));
  peer.state = State::here;
  peer.met = true;
  peer.run = run;
  peer.attempts.clear();
  look_for_missed();
}

void BuildPeers::down(std::uint32_t number, const PeerInfo& peer, const Down& down) {
  Peer& one = peers_[number];
  if (down.reason == DownReason::closed_here || closing_) return;
  // refused() has said it.
  if (one.state == State::refused && down.reason == DownReason::rejected) return;
  one.last_why = why(peer, down);
  one.last_advice = advice_for(peer.address, down.reason);
  if (!peer.was_up) {
    one.name = fmt::format("{} {}", noun_of(number), named(peer));
    if (!peer.retrying) {
      hopeless_ = &one;
      closing();
      on_give_up_();
    } else if (one.attempts.is_new(peer, down)) {
      progress_.note(fmt::format("waiting for {}: {}", one.name, one.last_why));
    }
    return;
  }
  if (one.state == State::refused) return;
  if (ended_in_order(down)) {
    one.state = State::ended;
    progress_.note(one.name + " has ended");
  } else {
    one.state = State::lost;
    last_loss_ = fmt::format("{}: {}", one.name, one.last_why);
    // The reason of a refusal is said by refused().
    if (down.reason != DownReason::rejected) progress_.note("lost " + last_loss_);
  }
  look_for_missed();
}

void BuildPeers::refused(std::uint32_t number, std::string_view why) {
  Peer& one = peers_[number];
  ++refusals_;
  one.state = State::refused;
  one.last_why = why;
  if (reasons_noted_.size() < reasons_noted_max && reasons_noted_.emplace(why).second) {
    progress_.note(why);
  }
  look_for_missed();
}

void BuildPeers::refused(const PeerInfo& peer, std::string_view why) {
  ++refusals_;
  for (Peer& each : peers_) {
    if (each.met && each.run == peer.run) each.state = State::refused;
  }
  look_for_missed();
  if (reasons_noted_.size() == reasons_noted_max || !reasons_noted_.emplace(why).second) return;
  progress_.note(fmt::format("refused {}: {}", named(peer), why));
}

void BuildPeers::closing() {
  closing_ = true;
  missed_.stop();
}

bool BuildPeers::is_missed(const Peer& peer) const noexcept {
  return peer.state != State::here && (peer.state != State::ended || options_.missed_when_ended);
}

const BuildPeers::Peer* BuildPeers::first_missed() const noexcept {
  if (hopeless_ != nullptr) return hopeless_;
  const auto found =
      std::ranges::find_if(peers_, [this](const Peer& peer) { return is_missed(peer); });
  return found == peers_.end() ? nullptr : &*found;
}

void BuildPeers::look_for_missed() {
  if (first_missed() == nullptr) {
    missed_.stop();
  } else if (options_.timeout && !closing_ && !missed_.running()) {
    missed_.start_once(*options_.timeout);
  }
}

std::size_t BuildPeers::here() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count(peers_, State::here, [](const Peer& peer) { return peer.state; }));
}

bool BuildPeers::all_ended() const noexcept {
  return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.state == State::ended; });
}

std::string BuildPeers::missed() const {
  std::string list;
  std::size_t count = 0;
  for (std::size_t number = 0; number < peers_.size(); ++number) {
    if (!is_missed(peers_[number])) continue;
    if (++count <= missed_listed_max) list += fmt::format("{}{}", count == 1 ? "" : ", ", number);
  }
  if (count == 0) return {};
  if (options_.only_one) return "the " + options_.noun;
  if (count > missed_listed_max) list += fmt::format(" and {} more", count - missed_listed_max);
  return fmt::format("{}{} {}", options_.noun, count == 1 ? "" : "s", list);
}

PeerCounts BuildPeers::counts() const {
  PeerCounts counts;
  for (const Peer& each : peers_) {
    if (each.met && each.state != State::refused) ++counts.came;
    if (each.state == State::ended) ++counts.ended;
    if (each.state == State::lost) ++counts.lost;
    if (each.state == State::here) ++counts.connected;
  }
  counts.restarted = restarted_;
  return counts;
}

std::string BuildPeers::cause() const {
  const Peer* const peer = first_missed();
  if (peer == nullptr) return {};
  if (hopeless_ != nullptr || !options_.timeout)
    return fmt::format("{}: {}", peer->name, peer->last_why);
  const std::string within = duration_text(seconds_of(*options_.timeout));
  if (peer->state == State::refused) {
    return fmt::format("{}, and that did not change within {}", peer->last_why, within);
  }
  return fmt::format("{} {} within {}{}", peer->name,
                     peer->met ? "did not come back" : "did not come", within,
                     peer->last_why.empty() ? "" : ": " + peer->last_why);
}

std::string BuildPeers::advice() const {
  const Peer* const peer = first_missed();
  if (peer == nullptr) return {};
  if (peer->state == State::refused && options_.only_one) {
    return "give the manager and all units and builders the same plan (--sources, --builders, "
           "--range), and each unit and each builder a number of its own";
  }
  if (peer->state == State::refused) {
    return "give all units and builders the same plan (--sources, --builders, --range), and units "
           "the addresses in the order of the builders' numbers";
  }
  if (hopeless_ != nullptr || !peer->last_advice.empty()) return peer->last_advice;
  return "--connect-timeout waits longer";
}

ExitCode BuildPeers::code() const {
  const Peer* const peer = first_missed();
  return peer != nullptr && peer->state != State::refused && peer->met ? ExitCode::peer_lost
                                                                       : ExitCode::failed;
}

}  // namespace netio::cli

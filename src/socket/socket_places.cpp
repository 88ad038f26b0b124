// The places that a socket has for peers: who finds one, and whose place a newcomer is given.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// With more places than that, each peer would cost a page every few seconds for a rare use.
constexpr std::size_t watched_places_max = 64;

std::uint32_t milliseconds_of(std::int64_t ns) noexcept {
  constexpr std::int64_t most_ns = std::int64_t{silence_ms_most} * 1'000'000;
  return static_cast<std::uint32_t>((std::min(ns, most_ns) + 999'999) / 1'000'000);
}

bool is_another(const Peer& peer, const StreamId& stream, const Peer& newer) noexcept {
  const bool same = &peer == &newer || (!peer.dialed() && peer.stream().id == stream);
  return peer.up() && !same;
}

}  // namespace

Silence SocketCore::silence() const noexcept {
  const std::int64_t after_ns = options_.heartbeat_after.count();
  const bool watched = pattern_.numbers_peers || places(true) <= watched_places_max;
  return {.given_up_ms = milliseconds_of(after_ns > INT64_MAX / 3 ? after_ns : after_ns * 3),
          .replaced_ms = watched ? milliseconds_of(options_.replace_silent_after.count()) : 0};
}

bool SocketCore::busy(const StreamId& stream, const Peer& from, std::string& text) const {
  const auto counts = [&](const auto& peer) {
    return is_another(*peer, stream, from) && !peer->ending() && peer->silent_ns() == 0;
  };
  const auto others = static_cast<std::size_t>(std::ranges::count_if(peers_, counts));
  if (others < places(!from.dialed())) return false;
  text = "busy: the " + std::string(to_string(pattern_.self)) + " socket has ";
  if (others >= pattern_.peers_max) {
    text += "a peer already";
  } else {
    text += std::to_string(others) + " peers, and SocketOptions::peers_max allows no more";
  }
  return true;
}

bool SocketCore::replace_silent(Peer& newer) noexcept {
  if (newer.closing()) return false;  // it comes back to end
  std::size_t others = 0;
  bool ending = false;
  Peer* silent = nullptr;
  for (const auto& peer : peers_) {
    if (!is_another(*peer, newer.stream().id, newer)) continue;
    ++others;
    ending = ending || peer->ending();
    if (peer->silent_ns() > (silent != nullptr ? silent->silent_ns() : 0)) silent = peer.get();
  }
  if (others < places(!newer.dialed())) return false;
  if (ending) return true;
  if (silent != nullptr) silent->give_place();
  return silent != nullptr;
}

bool SocketCore::has_room_for_absent(const Peer& absent) const noexcept {
  const auto is_absent = [&](const auto& peer) {
    return peer.get() != &absent && !peer->dialed() && !peer->gone() && peer->adopted() &&
           peer->link() == nullptr;
  };
  const auto absents = std::ranges::count_if(peers_, is_absent);
  return static_cast<std::size_t>(absents) < options_.peers_max;
}

}  // namespace netio::detail

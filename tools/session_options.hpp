// The library's options for what the command line asks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <netio/channels.hpp>
#include <netio/context.hpp>
#include <netio/options.hpp>

#include "arguments.hpp"
#include "binding.hpp"
#include "progress.hpp"

namespace netio::cli {

enum class Role : std::uint8_t { sender, receiver, both };

[[nodiscard]] inline ContextOptions context_options(const PeerArguments& peer, Role role) {
  ContextOptions options;
  options.idle = peer.wait;
  // The other direction carries acknowledgements only.
  if (role == Role::sender) options.receive_pool_bytes = std::size_t{4} << 20U;
  if (role == Role::receiver) options.send_pool_bytes = std::size_t{4} << 20U;
  // Two of the largest: one being delivered while the next arrives.
  options.large_bytes_max = std::max(options.large_bytes_max, 2 * peer.message_bytes_max);
  return options;
}

[[nodiscard]] inline SocketOptions socket_options(const PeerArguments& peer, Mode mode) {
  SocketOptions options = peer.channel ? peer.channel->socket : SocketOptions{};
  options.name = peer.name;
  options.mode = mode;
  options.message_bytes_max = peer.message_bytes_max;
  options.resume_bytes_max = peer.resume_bytes_max;
  options.resume_within = peer.resume_within;
  options.heartbeat_after = peer.heartbeat_after;
  return options;
}

// Binds and connects. Returns the addresses that are bound to.
inline std::vector<std::string> meet_peers(Socket& socket, const PeerArguments& peer,
                                           Progress& progress) {
  std::vector<std::string> bound;
  if (!peer.channel) {
    if (peer.binds) {
      const auto bind = [&](const std::string& address) { return socket.bind(address); };
      bound.push_back(bind_when_there(peer.address, bind, peer, progress));
    } else {
      socket.connect(peer.address);
    }
    return bound;
  }
  // One after the other, because the first ones are bound when a later one is not there yet.
  for (const ChannelEndpoint& endpoint : peer.channel->endpoints) {
    ChannelConfig part = *peer.channel;
    part.endpoints = {endpoint};
    const auto open = [&](const std::string&) { return open_channel(socket, part).front(); };
    if (endpoint.binds) {
      bound.push_back(bind_when_there(endpoint.address, open, peer, progress));
    } else {
      (void)open(endpoint.address);
    }
  }
  return bound;
}

inline void note_bound(Progress& progress, const std::vector<std::string>& bound) {
  for (const std::string& address : bound) progress.note("listening on " + address);
}

// Says which of the options have no effect, or another one: at the address, and in the channel.
inline void note_without_effect(Progress& progress, const PeerArguments& peer) {
  if (peer.channel) {
    if (peer.channel->rate_every) progress.show_every(*peer.channel->rate_every);
    for (const ChannelRemark& one : peer.channel->remarks) {
      progress.note("channel " + to_string(*peer.channel) + ": " + one.text);
    }
  }
  if (!peer.address.starts_with("shm://") || peer.resume_bytes_max == 0) return;
  progress.note(
      "--resume sends nothing again over shm://: what is on its way there ends with a process, and "
      "with its connection");
}

}  // namespace netio::cli

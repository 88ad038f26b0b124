// The option --channel: a channel in place of ADDRESS. It is read before all other options, which
// then count before what the channel says.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include <netio/channels.hpp>

#include "arguments.hpp"

namespace netio::cli {

// What the option is called, and the argument that it stands for. A command that meets two kinds of
// peers has two of them.
struct ChannelOption {
  std::string option = "--channel";
  std::string argument = "ADDRESS";
};

// Adds it behind add_peer(). `take` is called with a channel of this pattern, for what the command
// keeps elsewhere. It may add remarks to the channel.
void add_channel(CLI::App& app, PeerArguments& peer, ChannelPattern pattern,
                 std::function<void(ChannelConfig& channel)> take, const ChannelOption& names = {});

// Says that the command does not use the key linger.
void note_no_linger(ChannelConfig& channel);

// Once all options are known: where the command meets its peers. With a channel, the first argument
// is no address but the file, where the command has one. Throws CLI::ValidationError.
void settle_peer(PeerArguments& peer, std::string* file = nullptr, const ChannelOption& names = {});

// The channel of this pattern that `text` names: name=...,type=..., or a file:
// FILE[[:DEVICE]:CHANNEL]. The sub-channels of a channel become one, with all endpoints. Throws
// std::invalid_argument.
[[nodiscard]] ChannelConfig choose_channel(const std::string& text, ChannelPattern pattern);

}  // namespace netio::cli

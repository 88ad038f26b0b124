#include "channel_options.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsed_option.hpp"
#include "peer_options.hpp"

namespace netio::cli {

namespace {

// What FILE[[:DEVICE]:CHANNEL] consists of.
struct FileChoice {
  std::string path;
  std::string device;
  std::string channel;
};

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

FileChoice split_file(const std::string& text) {
  static constexpr std::string_view after_file = ".json:";
  if (exists(text)) return {text, {}, {}};
  std::size_t end = text.find(after_file);
  end = end == std::string::npos ? text.find(':') : end + after_file.size() - 1;
  if (end == std::string::npos) return {text, {}, {}};
  FileChoice choice{text.substr(0, end), {}, text.substr(end + 1)};
  if (const std::size_t colon = choice.channel.rfind(':'); colon != std::string::npos) {
    choice.device = choice.channel.substr(0, colon);
    choice.channel.erase(0, colon + 1);
  }
  return choice;
}

std::string_view command_of(ChannelPattern pattern) {
  switch (pattern) {
    case ChannelPattern::push:
      return "netio send";
    case ChannelPattern::pull:
      return "netio recv";
    case ChannelPattern::pair:
      return "netio echo, without --channel,";
    case ChannelPattern::publish:
      return "netio pub";
    case ChannelPattern::subscribe:
      return "netio sub";
    case ChannelPattern::request:
      return "netio request";
    case ChannelPattern::reply:
      return "netio reply";
  }
  return {};
}

// The names of channels, each once.
std::vector<std::string> names_of(const std::vector<ChannelConfig>& channels) {
  std::vector<std::string> names;
  for (const ChannelConfig& one : channels) {
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  return names;
}

// Those of the name, "data" or "data[1]"; without a name all of the pattern, if it is one channel.
std::vector<ChannelConfig> select(std::vector<ChannelConfig> channels, const std::string& name,
                                  ChannelPattern pattern) {
  const std::vector<std::string> all = names_of(channels);
  std::erase_if(channels, [&](const ChannelConfig& one) {
    if (name.empty()) return one.pattern != pattern;
    return name != one.name && name != fmt::format("{}[{}]", one.name, one.index);
  });
  if (channels.empty()) {
    throw std::invalid_argument(
        name.empty()
            ? fmt::format("none of the channels is of type {}: {}", to_string(pattern),
                          fmt::join(all, ", "))
            : fmt::format("there is no channel {}; the file has {}", name, fmt::join(all, ", ")));
  }
  if (const std::vector<std::string> found = names_of(channels); found.size() > 1) {
    throw std::invalid_argument(
        fmt::format("several channels are of type {}: say FILE:{} or FILE:{}", to_string(pattern),
                    found[0], found[1]));
  }
  return channels;
}

ChannelConfig joined(std::vector<ChannelConfig> channels, ChannelPattern pattern) {
  ChannelConfig channel = std::move(channels.front());
  if (channel.pattern != pattern) {
    throw std::invalid_argument(fmt::format("the channel {} is of type {}: {} takes it",
                                            channel.name, to_string(channel.pattern),
                                            command_of(channel.pattern)));
  }
  if (channels.size() == 1) return channel;
  for (std::size_t i = 1; i < channels.size(); ++i) {
    std::ranges::move(channels[i].endpoints, std::back_inserter(channel.endpoints));
    std::ranges::copy_if(channels[i].remarks, std::back_inserter(channel.remarks),
                         [](const ChannelRemark& one) { return one.key == "address"; });
  }
  channel.remarks.push_back(
      {"sockets",
       fmt::format("its {} sub-channels are one socket here, with the options of the first",
                   channels.size())});
  return channel;
}

void adopt(PeerArguments& peer, const ChannelConfig& channel) {
  peer.binds = std::ranges::any_of(channel.endpoints, &ChannelEndpoint::binds);
  peer.name = channel.socket.name;
  peer.message_bytes_max = channel.socket.message_bytes_max;
  peer.resume_bytes_max = channel.socket.resume_bytes_max;
  peer.resume_within = channel.socket.resume_within;
  peer.heartbeat_after = channel.socket.heartbeat_after;
}

}  // namespace

void add_channel(CLI::App& app, PeerArguments& peer, ChannelPattern pattern,
                 std::function<void(ChannelConfig& channel)> take, const ChannelOption& names) {
  CLI::Option* const address = app.get_option(names.argument);
  add_parsed(
      app, names.option, "CHANNEL",
      [pattern](const std::string& text) { return choose_channel(text, pattern); },
      [&peer, address, take = std::move(take)](ChannelConfig channel) {
        address->required(false);
        adopt(peer, channel);
        take(channel);
        peer.channel = std::move(channel);
      },
      "In place of " + names.argument +
          ", as FairMQ describes a channel: name=...,type=...,method=...,"
          "address=..., with options of netio by their names; or FILE.json, FILE.json:NAME or "
          "FILE.json:DEVICE:NAME. Options given here count before those of the channel")
      ->trigger_on_parse();
}

void note_no_linger(ChannelConfig& channel) {
  if (!channel.linger) return;
  channel.remarks.push_back(
      {"linger", "linger has no effect: this command decides how long it waits"});
}

void settle_peer(PeerArguments& peer, std::string* file, const ChannelOption& names) {
  if (!peer.channel) return;
  if (!peer.address.empty()) {
    const bool is_file =
        file != nullptr && file->empty() && peer.address.find("://") == std::string::npos;
    if (!is_file)
      throw CLI::ValidationError(names.option,
                                 "either a channel or " + names.argument + ", not both");
    *file = std::move(peer.address);
  }
  const std::vector<ChannelEndpoint>& endpoints = peer.channel->endpoints;
  auto met = std::ranges::find(endpoints, true, &ChannelEndpoint::binds);
  if (met == endpoints.end()) met = endpoints.begin();
  if (const std::string why = why_no_address(met->address); !why.empty()) {
    throw CLI::ValidationError(names.option, why);
  }
  peer.address = met->address;
}

ChannelConfig choose_channel(const std::string& text, ChannelPattern pattern) {
  try {
    // An address is no file either, and parse_channel() says so.
    const bool is_text =
        text.find('=') != std::string::npos || text.find("://") != std::string::npos;
    if (is_text && !exists(text)) return joined(parse_channel(text), pattern);
    const FileChoice choice = split_file(text);
    return joined(select(read_channels(choice.path, choice.device), choice.channel, pattern),
                  pattern);
  } catch (const Error& error) {
    throw std::invalid_argument(error.what());
  }
}

}  // namespace netio::cli

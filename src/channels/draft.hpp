// A channel as it was written: its settings with their places, before they mean anything. Texts and
// JSON files both become drafts, and a draft becomes the configurations of its sockets. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netio/channels.hpp>

namespace netio::detail {

struct Setting {
  std::string key;
  std::string value;
  std::string place;  // what an error begins with: "run.json, line 12"; empty for a text
};

struct ChannelDraft {
  std::string place;
  std::string name;                           // may end in an index: "data[1]"
  std::vector<Setting> common;                // for all sockets
  std::vector<std::vector<Setting>> sockets;  // for one each; none: one socket, of what is common

  // Adds a setting to one of the above. Throws Error if the key is unknown, or is there already.
  void add(std::vector<Setting>& settings, Setting setting) const;
};

// Throws Error.
[[nodiscard]] std::vector<ChannelConfig> settle(const ChannelDraft& draft);

// The operation that an Error names: "run.json, line 12: channel "data"".
[[nodiscard]] std::string whereabouts(std::string_view place, std::string_view channel);

// A name, and its index if it has one: "data[1]". Nothing else if `text` is no such name.
[[nodiscard]] std::optional<std::pair<std::string_view, std::optional<std::size_t>>> split_name(
    std::string_view text) noexcept;

}  // namespace netio::detail

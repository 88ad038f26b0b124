// The keys of a channel, and what each of them sets. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <netio/channels.hpp>

namespace netio::detail {

// What `apply` of a key may be given to.
enum class KeyScope : std::uint8_t {
  all,        // sockets of every pattern
  push,       // Push alone
  publish,    // Publish alone
  subscribe,  // Subscribe alone
  request,    // Request alone
  reply,      // Reply alone
  listeners,  // Publish and Subscribe, each with a meaning of its own
};

struct Key {
  std::string_view name;
  KeyScope scope = KeyScope::all;
  // Null for those that decide what else there is: name, type, method, address, transport and
  // numSockets. Throws BadValue.
  void (*apply)(ChannelConfig& channel, std::string_view value) = nullptr;
};

// Null if there is no such key.
[[nodiscard]] const Key* find_key(std::string_view name) noexcept;

// The names of all keys.
[[nodiscard]] const std::vector<std::string_view>& key_names();

// Whether the key means something for the pattern.
[[nodiscard]] bool applies(const Key& key, ChannelPattern pattern) noexcept;

// "push", "pub and sub": whom a key is for.
[[nodiscard]] std::string_view owners(KeyScope scope) noexcept;

// FairMQ's names, and netio's. Throw BadValue, which names the nearest.
[[nodiscard]] ChannelPattern parse_pattern(std::string_view text);
[[nodiscard]] bool parse_method(std::string_view text);  // whether it binds

}  // namespace netio::detail

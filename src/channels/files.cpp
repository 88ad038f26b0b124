// Channels in JSON. What belongs to other devices is not looked at: it may be for other programs.
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "channels/draft.hpp"
#include "channels/json_tree.hpp"
#include "channels/words.hpp"

namespace netio {

using detail::ChannelDraft;
using detail::in_quotes;
using detail::JsonNode;
using detail::meant;
using detail::whereabouts;
using Kind = detail::JsonNode::Kind;

namespace {

constexpr std::size_t file_bytes_most = std::size_t{16} << 20U;

// Reads one text.
class JsonReader {
 public:
  explicit JsonReader(std::string_view origin) : origin_(origin) {}

  std::vector<ChannelConfig> read(std::string_view text, std::string_view device);

 private:
  [[nodiscard]] std::string place(const JsonNode& node) const {
    return origin_ + ", line " + std::to_string(node.line);
  }
  [[noreturn]] void refuse(const JsonNode& at, std::string cause, std::string advice,
                           std::string_view channel = {}) const {
    throw Error(whereabouts(place(at), channel), std::move(cause), std::move(advice));
  }
  void must_be(const JsonNode& node, Kind kind, std::string_view name,
               std::string_view channel = {}) const;
  // The member of an object. Throws Error, which names the nearest, if there is none.
  [[nodiscard]] const JsonNode& member(const JsonNode& object, std::string_view name,
                                       Kind kind) const;
  [[nodiscard]] std::string device_key(const JsonNode& device) const;
  [[nodiscard]] const JsonNode& find_device(const JsonNode& devices, std::string_view wanted) const;
  void read_channel(const JsonNode& node, std::vector<ChannelConfig>& channels) const;
  [[nodiscard]] std::vector<detail::Setting> read_socket(const ChannelDraft& draft,
                                                         const JsonNode& node) const;
  [[nodiscard]] detail::Setting read_setting(const ChannelDraft& draft, std::string_view key,
                                             const JsonNode& node) const;

  std::string origin_;
};

void JsonReader::must_be(const JsonNode& node, Kind kind, std::string_view name,
                         std::string_view channel) const {
  if (node.is(kind)) return;
  JsonNode wanted;
  wanted.kind = kind;
  refuse(node, in_quotes(name) + " is " + std::string(node.kind_name()),
         "it must be " + std::string(wanted.kind_name()), channel);
}

const JsonNode& JsonReader::member(const JsonNode& object, std::string_view name, Kind kind) const {
  const JsonNode* const found = object.find(name);
  if (found != nullptr) {
    must_be(*found, kind, name);
    return *found;
  }
  std::vector<std::string_view> there;
  for (const JsonNode& one : object.members) there.emplace_back(one.key);
  const std::string_view near = detail::nearest(name, there);
  refuse(object, "there is no " + in_quotes(name),
         near.empty() ? "docs/channels.md shows where it belongs"
                      : "is " + in_quotes(near) + " meant to be it?");
}

std::string JsonReader::device_key(const JsonNode& device) const {
  must_be(device, Kind::object, "a device");
  for (const std::string_view name : {"key", "id"}) {
    if (const JsonNode* const found = device.find(name)) {
      must_be(*found, Kind::string, name);
      return found->text;
    }
  }
  refuse(device, "a device has no \"id\"", "give it one, or a \"key\"");
}

const JsonNode& JsonReader::find_device(const JsonNode& devices, std::string_view wanted) const {
  if (devices.members.empty()) refuse(devices, "there is no device", "add one to \"devices\"");
  const JsonNode* found = nullptr;
  std::vector<std::string> keys;
  for (const JsonNode& device : devices.members) {
    keys.push_back(device_key(device));
    if (keys.back() != wanted) continue;
    if (found != nullptr) {
      refuse(device, "there are two devices " + in_quotes(wanted), "give them different names");
    }
    found = &device;
  }
  if (found != nullptr) return *found;
  if (wanted.empty() && keys.size() == 1) return devices.members.front();
  const std::vector<std::string_view> names(keys.begin(), keys.end());
  if (wanted.empty()) {
    refuse(devices, "there are " + std::to_string(keys.size()) + " devices",
           "say which one is meant: " + detail::listed(names));
  }
  refuse(devices, "there is no device " + in_quotes(wanted), meant(wanted, names));
}

detail::Setting JsonReader::read_setting(const ChannelDraft& draft, std::string_view key,
                                         const JsonNode& node) const {
  std::string value = node.text;
  if (key == "tags" && node.is(Kind::array)) {
    for (const JsonNode& tag : node.members) {
      if (tag.is(Kind::array) || tag.is(Kind::object))
        must_be(tag, Kind::string, "tags", draft.name);
      value += (value.empty() ? "" : ";") + tag.text;
    }
    if (value.empty()) value = "none";
  } else if (node.is(Kind::array) || node.is(Kind::object) || node.is(Kind::null)) {
    refuse(node, in_quotes(key) + " is " + std::string(node.kind_name()),
           "it must be a string, a number, true or false", draft.name);
  }
  return {std::string(key), std::move(value), place(node)};
}

std::vector<detail::Setting> JsonReader::read_socket(const ChannelDraft& draft,
                                                     const JsonNode& node) const {
  must_be(node, Kind::object, "a socket", draft.name);
  std::vector<detail::Setting> settings;
  for (const JsonNode& value : node.members) {
    const std::string& key = value.key;
    if (key == "name") {
      refuse(value, "a socket has a name", "only the channel has one: the sockets have numbers",
             draft.name);
    }
    detail::Setting setting = read_setting(draft, key, value);
    if (key == "numSockets") {
      if (setting.value == "0") continue;
      refuse(value, "numSockets stands in a socket", "it belongs to the channel", draft.name);
    }
    if (key == "address" &&
        std::ranges::find(settings, key, &detail::Setting::key) != settings.end()) {
      refuse(value, "a socket has two addresses",
             "write a socket for each: {\"address\": ...}, {\"address\": ...}", draft.name);
    }
    draft.add(settings, std::move(setting));
  }
  return settings;
}

void JsonReader::read_channel(const JsonNode& node, std::vector<ChannelConfig>& channels) const {
  must_be(node, Kind::object, "a channel");
  ChannelDraft draft;
  draft.place = place(node);
  draft.name = member(node, "name", Kind::string).text;
  bool has_sockets = false;
  for (const JsonNode& value : node.members) {
    const std::string& key = value.key;
    if (key == "sockets") {
      must_be(value, Kind::array, key, draft.name);
      if (std::exchange(has_sockets, true)) {
        refuse(value, "\"sockets\" is given twice", "join the two", draft.name);
      }
      for (const JsonNode& socket : value.members) {
        draft.sockets.push_back(read_socket(draft, socket));
      }
    } else if (key == "socket") {
      refuse(value, "there is no key \"socket\"", "did you mean \"sockets\"?", draft.name);
    } else {
      draft.add(draft.common, read_setting(draft, key, value));
    }
  }
  std::vector<ChannelConfig> settled = settle(draft);
  std::ranges::move(settled, std::back_inserter(channels));
}

std::vector<ChannelConfig> JsonReader::read(std::string_view text, std::string_view device) {
  const JsonNode root = detail::parse_json(text, origin_);
  must_be(root, Kind::object, "the whole");
  const JsonNode* holder = &root;
  // Without devices there is one list, for whoever reads it.
  if (root.find("channels") == nullptr) {
    const JsonNode& options = member(root, "fairMQOptions", Kind::object);
    holder = &find_device(member(options, "devices", Kind::array), device);
  }
  std::vector<ChannelConfig> channels;
  for (const JsonNode& channel : member(*holder, "channels", Kind::array).members) {
    read_channel(channel, channels);
  }
  if (channels.empty()) refuse(*holder, "there is no channel", "add one to \"channels\"");
  try {
    check_channels(channels);
  } catch (const Error& error) {
    throw Error(origin_ + ": " + error.operation(), error.cause(), error.advice());
  }
  return channels;
}

}  // namespace

std::vector<ChannelConfig> parse_channels_json(std::string_view text, std::string_view device,
                                               std::string_view origin) {
  return JsonReader(origin).read(text, device);
}

std::vector<ChannelConfig> read_channels(const std::string& path, std::string_view device) {
  const auto refuse = [&path](const std::string& cause, const std::string& advice) {
    throw Error("read " + in_quotes(path), cause, advice);
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 65536> part;
  while (file && text.size() <= file_bytes_most) {
    file.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() && text.size() <= file_bytes_most) {
    const int code = errno;
    refuse(code == 0 ? "it cannot be read" : std::generic_category().message(code),
           "give the path of a JSON file that this user may read");
  }
  if (text.size() > file_bytes_most) {
    refuse("it is larger than 16 MiB", "this is no file of channels");
  }
  return parse_channels_json(text, device, path);
}

}  // namespace netio

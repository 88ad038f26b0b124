// What is written for one socket counts before what is common to all of its channel.
#include "channels/draft.hpp"

#include <algorithm>
#include <charconv>

#include "channels/addresses.hpp"
#include "channels/bad_value.hpp"
#include "channels/keys.hpp"
#include "channels/values.hpp"
#include "channels/words.hpp"

namespace netio::detail {

namespace {

constexpr std::size_t name_bytes_most = 48;  // with an index it fits SocketOptions::name
constexpr std::size_t sockets_most = 4096;

bool is_name_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '#';
}

// One socket of a draft, while it is settled.
class Settling {
 public:
  Settling(const ChannelDraft& draft, const std::vector<Setting>& own) : draft_(draft), own_(own) {}

  ChannelConfig settle(std::string_view name, std::size_t index);

 private:
  // The one of this socket, or the common one; null if there is none. "unspecified" is FairMQ's
  // word for none.
  [[nodiscard]] const Setting* find(std::string_view key) const;
  void set_endpoints(const Setting& address);
  void apply_all(const std::vector<Setting>& settings);
  void apply(const Setting& setting);
  [[noreturn]] void refuse(const Setting& setting, const BadValue& bad) const;
  [[noreturn]] void refuse(std::string cause, std::string advice) const;

  template <typename Parse>
  auto parsed(const Setting& setting, Parse parse) const {
    try {
      return parse(setting.value);
    } catch (const BadValue& bad) {
      refuse(setting, bad);
    }
  }

  const ChannelDraft& draft_;
  const std::vector<Setting>& own_;
  ChannelConfig channel_;
};

void Settling::refuse(const Setting& setting, const BadValue& bad) const {
  throw Error(whereabouts(setting.place, to_string(channel_)), setting.key + ": " + bad.cause(),
              bad.advice());
}

void Settling::refuse(std::string cause, std::string advice) const {
  throw Error(whereabouts(draft_.place, to_string(channel_)), std::move(cause), std::move(advice));
}

const Setting* Settling::find(std::string_view key) const {
  for (const std::vector<Setting>* const settings : {&own_, &draft_.common}) {
    const auto found = std::ranges::find(*settings, key, &Setting::key);
    if (found != settings->end()) return found->value == "unspecified" ? nullptr : &*found;
  }
  return nullptr;
}

void Settling::set_endpoints(const Setting& address) {
  const Setting* const transport = find("transport");
  const ChannelTransport over =
      transport == nullptr ? ChannelTransport::as_written : parsed(*transport, parse_transport);
  const Setting* const method = find("method");
  const bool binds = method != nullptr && parsed(*method, parse_method);
  for (const WrittenEndpoint& one : parsed(address, split_endpoints)) {
    if (one.method == 0 && method == nullptr) {
      refuse("the method is missing", "write method=bind or method=connect");
    }
    TranslatedAddress translated =
        parsed(address, [&](const std::string&) { return translate_address(one.address, over); });
    channel_.endpoints.push_back(
        {std::move(translated.address), one.method == 0 ? binds : one.method == 'b'});
    if (!translated.remark.empty()) {
      channel_.remarks.push_back({"address", std::move(translated.remark)});
    }
  }
  const auto dialed = std::ranges::count(channel_.endpoints, false, &ChannelEndpoint::binds);
  if (channel_.pattern == ChannelPattern::pair && dialed > 1) {
    refuse("a pair has one peer, and this one would connect to several",
           "give it one address to connect to");
  }
}

void Settling::apply(const Setting& setting) {
  const Key& key = *find_key(setting.key);
  if (key.apply == nullptr) return;
  if (!applies(key, channel_.pattern)) {
    refuse(setting, BadValue("is for a channel of type " + std::string(owners(key.scope)) +
                                 ", and this one is " + std::string(to_string(channel_.pattern)),
                             "leave it out"));
  }
  (void)parsed(setting, [&](const std::string& value) {
    key.apply(channel_, value);
    return true;
  });
}

void Settling::apply_all(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const bool replaced = &settings == &draft_.common &&
                          std::ranges::find(own_, setting.key, &Setting::key) != own_.end();
    if (!replaced) apply(setting);
  }
}

ChannelConfig Settling::settle(std::string_view name, std::size_t index) {
  channel_.name = name;
  channel_.index = index;
  const Setting* const type = find("type");
  if (type == nullptr)
    refuse("the type is missing", "write type=push, pull, pair, pub, sub, req or rep");
  channel_.pattern = parsed(*type, parse_pattern);
  const Setting* const address = find("address");
  if (address == nullptr) refuse("the address is missing", "write address=tcp://host:5555");
  set_endpoints(*address);
  channel_.socket.name = to_string(channel_);
  if (channel_.pattern == ChannelPattern::subscribe) channel_.tags = {every_tag};
  apply_all(draft_.common);
  apply_all(own_);
  return std::move(channel_);
}

// How many sockets the key numSockets asks for; 0 if it does not.
std::size_t socket_count(const ChannelDraft& draft) {
  const auto found = std::ranges::find(draft.common, "numSockets", &Setting::key);
  if (found == draft.common.end()) return 0;
  try {
    return static_cast<std::size_t>(parse_number(found->value, 0, sockets_most));
  } catch (const BadValue& bad) {
    throw Error(whereabouts(found->place, draft.name), "numSockets: " + bad.cause(), bad.advice());
  }
}

}  // namespace

std::string whereabouts(std::string_view place, std::string_view channel) {
  std::string text(place);
  if (!place.empty() && !channel.empty()) text += ": ";
  if (!channel.empty()) text += "channel " + in_quotes(channel);
  return text.empty() ? "read a channel" : text;
}

std::optional<std::pair<std::string_view, std::optional<std::size_t>>> split_name(
    std::string_view text) noexcept {
  const std::size_t bracket = text.find('[');
  const std::string_view name = text.substr(0, bracket);
  if (name.empty() || name.size() > name_bytes_most ||
      !std::all_of(name.begin(), name.end(), is_name_letter)) {
    return std::nullopt;
  }
  if (bracket == std::string_view::npos) return std::pair(name, std::nullopt);
  const std::string_view digits = text.substr(bracket + 1, text.size() - bracket - 2);
  std::size_t index = 0;
  const char* const end = digits.data() + digits.size();
  if (!text.ends_with(']') || text.size() < bracket + 3) return std::nullopt;
  const auto [at, error] = std::from_chars(digits.data(), end, index);
  if (error != std::errc() || at != end || index >= sockets_most) return std::nullopt;
  return std::pair(name, std::optional(index));
}

void ChannelDraft::add(std::vector<Setting>& settings, Setting setting) const {
  if (find_key(setting.key) == nullptr) {
    throw Error(whereabouts(setting.place, name), "there is no key " + in_quotes(setting.key),
                meant(setting.key, key_names()));
  }
  if (std::ranges::find(settings, setting.key, &Setting::key) != settings.end()) {
    throw Error(whereabouts(setting.place, name), "the key " + setting.key + " is given twice",
                "keep one of them");
  }
  settings.push_back(std::move(setting));
}

std::vector<ChannelConfig> settle(const ChannelDraft& draft) {
  if (draft.name.empty()) {
    throw Error(whereabouts(draft.place, {}), "the name of the channel is missing",
                "write name=data");
  }
  const auto split = split_name(draft.name);
  if (!split) {
    throw Error(whereabouts(draft.place, {}), in_quotes(draft.name) + " is no name of a channel",
                "it has 1 to 48 letters, digits, '-', '_' and '#', and perhaps an index: data[1]");
  }
  const auto [name, index] = *split;
  const std::size_t repeats = socket_count(draft);
  if (repeats != 0 && !draft.sockets.empty() && draft.sockets.size() != repeats) {
    throw Error(whereabouts(draft.place, draft.name),
                "numSockets is " + std::to_string(repeats) + ", and there are " +
                    std::to_string(draft.sockets.size()) + " sockets",
                "leave numSockets out");
  }
  static const std::vector<Setting> nothing;
  const std::size_t count =
      draft.sockets.empty() ? std::max<std::size_t>(repeats, 1) : draft.sockets.size();
  if (index && count > 1) {
    throw Error(whereabouts(draft.place, draft.name),
                "one sub-channel is named, and there are " + std::to_string(count) + " sockets",
                "name the channel without an index, or write the addresses of one socket with ';' "
                "between them");
  }
  if (count > sockets_most) {
    throw Error(whereabouts(draft.place, draft.name),
                "there are " + std::to_string(count) + " sockets",
                "a channel has at most " + std::to_string(sockets_most));
  }
  std::vector<ChannelConfig> channels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Setting>& own = draft.sockets.empty() ? nothing : draft.sockets[i];
    channels.push_back(Settling(draft, own).settle(name, index.value_or(i)));
  }
  return channels;
}

}  // namespace netio::detail

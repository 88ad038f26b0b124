// The sockets of channels: made when they are asked for, and owned here.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include <netio/not_there_yet.hpp>

#include "channels/draft.hpp"
#include "channels/words.hpp"

namespace netio {

namespace detail {

using AnySocket = std::variant<std::unique_ptr<Push>, std::unique_ptr<Pull>, std::unique_ptr<Pair>,
                               std::unique_ptr<Publish>, std::unique_ptr<Subscribe>,
                               std::unique_ptr<Request>, std::unique_ptr<Reply>>;

struct ChannelSockets {
  struct Made {
    AnySocket socket;
    std::vector<std::string> addresses;
  };

  Context& context;
  std::vector<ChannelConfig> configs;
  std::vector<std::optional<Made>> made;  // beside `configs`

  [[nodiscard]] std::size_t find(std::string_view name, std::size_t index) const;

  // The socket of a channel, which `make` makes of its configuration.
  template <typename SocketType, typename Make>
  SocketType& get(std::string_view name, std::size_t index, ChannelPattern pattern, Make make);
};

std::size_t ChannelSockets::find(std::string_view name, std::size_t index) const {
  const auto found = std::ranges::find_if(
      configs, [&](const ChannelConfig& one) { return one.name == name && one.index == index; });
  if (found != configs.end()) return static_cast<std::size_t>(found - configs.begin());
  const auto count = std::ranges::count(configs, name, &ChannelConfig::name);
  if (count != 0) {
    throw Error(whereabouts({}, name), "there is no sub-channel " + std::to_string(index),
                "the last one is " + std::to_string(count - 1));
  }
  std::vector<std::string_view> names;
  for (const ChannelConfig& one : configs) {
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  throw Error(
      whereabouts({}, name), "there is no such channel",
      names.empty() ? "there is none at all: give one with --channel-config" : meant(name, names));
}

template <typename SocketType, typename Make>
SocketType& ChannelSockets::get(std::string_view name, std::size_t index, ChannelPattern pattern,
                                Make make) {
  const std::size_t at = find(name, index);
  const ChannelConfig& config = configs[at];
  if (config.pattern != pattern) {
    throw Error(whereabouts({}, to_string(config)),
                "its type is " + std::string(to_string(config.pattern)) +
                    ", and the program asks for " + std::string(to_string(pattern)),
                "correct the type of the channel, or the program");
  }
  if (!made[at]) {
    std::unique_ptr<SocketType> socket;
    try {
      socket = make(config);
    } catch (const Error& error) {
      throw Error(whereabouts({}, to_string(config)) + ": " + error.operation(), error.cause(),
                  error.advice());
    }
    std::vector<std::string> addresses = open_channel(*socket, config);
    made[at].emplace(Made{std::move(socket), std::move(addresses)});
  }
  return *std::get<std::unique_ptr<SocketType>>(made[at]->socket);
}

}  // namespace detail

using detail::whereabouts;

void check_channels(const std::vector<ChannelConfig>& channels) {
  std::map<std::string_view, std::vector<std::size_t>> indices;
  for (const ChannelConfig& one : channels) indices[one.name].push_back(one.index);
  for (auto& [name, taken] : indices) {
    std::ranges::sort(taken);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i] == i) continue;
      if (taken[i] > i) {
        throw Error(whereabouts({}, name),
                    "sub-channel " + std::to_string(taken[i]) + " is there, and " +
                        std::to_string(i) + " is not",
                    "number them from 0 without a gap");
      }
      throw Error(whereabouts({}, name),
                  taken[i] == 0 ? "there are two channels of this name"
                                : "sub-channel " + std::to_string(taken[i]) + " is there twice",
                  "give one another name; a channel of several sockets has several addresses");
    }
  }
}

std::vector<std::string> open_channel(Socket& socket, const ChannelConfig& channel) {
  std::vector<std::string> addresses;
  const auto where = [&channel](const Error& error) {
    return whereabouts({}, to_string(channel)) + ": " + error.operation();
  };
  for (const ChannelEndpoint& endpoint : channel.endpoints) {
    try {
      if (endpoint.binds) {
        addresses.push_back(socket.bind(endpoint.address));
      } else {
        socket.connect(endpoint.address);
        addresses.push_back(endpoint.address);
      }
    } catch (const AddressError& error) {
      throw AddressError(where(error), error.cause(), error.advice());
    } catch (const NotThereYet& error) {
      throw NotThereYet(where(error), error.cause(), error.advice());
    } catch (const Error& error) {
      throw Error(where(error), error.cause(), error.advice());
    }
  }
  return addresses;
}

Channels::Channels(Context& context, std::vector<ChannelConfig> channels)
    : sockets_(std::make_unique<detail::ChannelSockets>(
          detail::ChannelSockets{context, std::move(channels), {}})) {
  check_channels(sockets_->configs);
  sockets_->made.resize(sockets_->configs.size());
}

Channels::~Channels() = default;

Push& Channels::push(std::string_view name, std::size_t index) {
  return sockets_->get<Push>(name, index, ChannelPattern::push, [this](const ChannelConfig& one) {
    return std::make_unique<Push>(sockets_->context, one.socket);
  });
}

Pull& Channels::pull(std::string_view name, std::size_t index) {
  return sockets_->get<Pull>(name, index, ChannelPattern::pull, [this](const ChannelConfig& one) {
    return std::make_unique<Pull>(sockets_->context, one.socket);
  });
}

Pair& Channels::pair(std::string_view name, std::size_t index) {
  return sockets_->get<Pair>(name, index, ChannelPattern::pair, [this](const ChannelConfig& one) {
    return std::make_unique<Pair>(sockets_->context, one.socket);
  });
}

Publish& Channels::publish(std::string_view name, std::size_t index) {
  return sockets_->get<Publish>(
      name, index, ChannelPattern::publish, [this](const ChannelConfig& one) {
        return std::make_unique<Publish>(sockets_->context, one.publish, one.socket);
      });
}

Subscribe& Channels::subscribe(std::string_view name, std::size_t index) {
  return sockets_->get<Subscribe>(
      name, index, ChannelPattern::subscribe, [this](const ChannelConfig& one) {
        auto socket = std::make_unique<Subscribe>(sockets_->context, one.subscribe, one.socket);
        socket->subscribe(one.tags);
        return socket;
      });
}

Request& Channels::request(std::string_view name, std::size_t index) {
  return sockets_->get<Request>(
      name, index, ChannelPattern::request, [this](const ChannelConfig& one) {
        return std::make_unique<Request>(sockets_->context, one.request, one.socket);
      });
}

Reply& Channels::reply(std::string_view name, std::size_t index) {
  return sockets_->get<Reply>(name, index, ChannelPattern::reply, [this](const ChannelConfig& one) {
    return std::make_unique<Reply>(sockets_->context, one.reply, one.socket);
  });
}

const std::vector<ChannelConfig>& Channels::configs() const noexcept { return sockets_->configs; }

std::size_t Channels::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count(sockets_->configs, name, &ChannelConfig::name));
}

const std::vector<std::string>& Channels::addresses(std::string_view name,
                                                    std::size_t index) const {
  static const std::vector<std::string> none;
  const auto& made = sockets_->made[sockets_->find(name, index)];
  return made ? made->addresses : none;
}

}  // namespace netio

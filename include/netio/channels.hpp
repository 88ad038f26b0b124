// Channels: sockets that are described by texts, in FairMQ's keys and netio's own. A library of its
// own (CMake: netio::channels), because the core reads no JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <netio/netio.hpp>

namespace netio {

namespace detail {
struct ChannelSockets;
}

// The kind of socket of a channel.
enum class ChannelPattern : std::uint8_t { push, pull, pair, publish, subscribe, request, reply };
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(ChannelPattern pattern) noexcept;

// Where a channel meets its peers.
struct ChannelEndpoint {
  std::string address;  // as Socket::bind() and Socket::connect() take it
  bool binds = false;   // whether to bind to the address or to connect to it

  // True if both are the same.
  bool operator==(const ChannelEndpoint&) const = default;
};

// A key that was accepted and does not do what it does in FairMQ.
struct ChannelRemark {
  std::string key;   // as it was written
  std::string text;  // one sentence for a person: what it means here, or why it has no effect
};

// One socket of a channel: a name, and all that it takes to make the socket. A channel with several
// addresses has one socket for each of them (FairMQ: a sub-channel), numbered from 0.
// docs/channels.md has the keys. A program may change a value before it makes the socket.
struct ChannelConfig {
  std::string name;                               // 1 to 48 letters, digits, '-', '_' and '#'
  std::size_t index = 0;                          // the number of the sub-channel
  ChannelPattern pattern = ChannelPattern::push;  // the kind of socket
  std::vector<ChannelEndpoint> endpoints;         // at least one

  // The options of the socket. Its name is to_string() of the channel.
  SocketOptions socket;
  PublishOptions publish;      // for publish
  SubscribeOptions subscribe;  // for subscribe
  std::vector<TagRange> tags;  // for subscribe: the set of tags at the beginning
  RequestOptions request;      // for request
  ReplyOptions reply;          // for reply

  // How often the program should say its rate; 0: never. Not set without the key rateLogging. The
  // netio command obeys it. A program that uses Channels decides for itself.
  std::optional<std::chrono::seconds> rate_every;
  // For Socket::close(), which the program calls. Not set without the key linger.
  std::optional<std::chrono::nanoseconds> linger;

  // What became of keys that do not do here what they do in FairMQ.
  std::vector<ChannelRemark> remarks;
};

// "data" for the first sub-channel, "data[1]" for the next.
[[nodiscard]] NETIO_API std::string to_string(const ChannelConfig& channel);

// The sockets of the channel in a text such as
// "name=data,type=push,method=bind,address=tcp://*:5555", as FairMQ's --channel-config takes it.
// The name may stand in front instead: "data:type=push,...". Throws Error: where the mistake is,
// what is wrong, what to write instead.
[[nodiscard]] NETIO_API std::vector<ChannelConfig> parse_channel(std::string_view text);

// The channels of a device in a JSON text, as FairMQ's --mq-config takes it (fairMQOptions,
// devices, channels, sockets), or in one that has only "channels". `device` is the key of the
// device, or its id if it has no key; empty: the only device that is there. `origin` is what errors
// call the text. Throws Error, with the line.
[[nodiscard]] NETIO_API std::vector<ChannelConfig> parse_channels_json(
    std::string_view text, std::string_view device = {}, std::string_view origin = "JSON");

// The same from a file.
[[nodiscard]] NETIO_API std::vector<ChannelConfig> read_channels(const std::string& path,
                                                                 std::string_view device = {});

// Takes the options that say channels out of a command line, and leaves the rest to the program:
// `argc` and `argv` are changed. --channel-config TEXT... (the words behind it that hold a '=' too)
// may be given several times; --mq-config FILE reads a file, of which --config-key KEY, or else
// --id ID, says the device. "--" ends the options. Throws Error; `argc` and `argv` are as they were
// then.
[[nodiscard]] NETIO_API std::vector<ChannelConfig> take_channels(int& argc, char** argv);

// Throws Error if two of the channels are the same, or if the numbers of a channel's sub-channels
// have a gap. The functions above have called it, parse_channel() excepted: one text need not have
// all sub-channels of its channel.
NETIO_API void check_channels(const std::vector<ChannelConfig>& channels);

// Binds and connects a socket that the caller made with the options of `channel`. Returns the
// addresses of its endpoints, in their order, with real ports and names. Throws Error, with the
// name of the channel.
NETIO_API std::vector<std::string> open_channel(Socket& socket, const ChannelConfig& channel);

// Makes and owns the sockets of channels. They belong to the context, which must outlive this.
// Owner thread only.
class NETIO_API Channels {
 public:
  // Makes no socket yet. Throws Error for channels that check_channels() refuses.
  Channels(Context& context, std::vector<ChannelConfig> channels);
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  // The socket of a channel. The first call makes it, binds and connects it, and gives a Subscribe
  // its tags; later calls return the same one. Events come from the loop: set the call-backs before
  // it runs. Throw Error if there is no such channel, if it has another pattern, and if the socket
  // cannot be made, bound or connected; a later call may try again then.
  Push& push(std::string_view name, std::size_t index = 0);
  // The same for the other patterns:
  Pull& pull(std::string_view name, std::size_t index = 0);
  Pair& pair(std::string_view name, std::size_t index = 0);
  Publish& publish(std::string_view name, std::size_t index = 0);
  Subscribe& subscribe(std::string_view name, std::size_t index = 0);
  Request& request(std::string_view name, std::size_t index = 0);
  Reply& reply(std::string_view name, std::size_t index = 0);

  // All channels, in the order in which they were given.
  [[nodiscard]] const std::vector<ChannelConfig>& configs() const noexcept;
  // How many sub-channels a channel has; 0: there is no channel of this name.
  [[nodiscard]] std::size_t count(std::string_view name) const noexcept;
  // The addresses that open_channel() returned for a channel; empty before its socket is made.
  // Throws Error if there is no such channel.
  [[nodiscard]] const std::vector<std::string>& addresses(std::string_view name,
                                                          std::size_t index = 0) const;

 private:
  std::unique_ptr<detail::ChannelSockets> sockets_;
};

}  // namespace netio

#include "relay_sockets.hpp"

#include <utility>

#include <fmt/format.h>

#include <netio/netio.hpp>

#include "peer_name.hpp"
#include "session_options.hpp"

namespace netio::cli {

namespace {

using Pattern = RelayArguments::Pattern;

SocketOptions end_options(const RelayArguments& arguments, const RelayEnd& end) {
  if (!end.channel) return socket_options(arguments.peer, arguments.mode);
  SocketOptions options = end.channel->socket;
  if (!arguments.peer.name.empty()) options.name = arguments.peer.name;
  if (options.resume_bytes_max == 0) options.resume_bytes_max = arguments.peer.resume_bytes_max;
  return options;
}

// Acknowledges what the other side has acknowledged.
SocketOptions input_options(const RelayArguments& arguments) {
  SocketOptions options = end_options(arguments, arguments.from);
  options.acknowledge = Acknowledge::released;
  return options;
}

SocketOptions output_options(const RelayArguments& arguments) {
  SocketOptions options = end_options(arguments, arguments.to);
  if (arguments.distribute != Distribute::in_turn) options.distribute = arguments.distribute;
  if (arguments.pattern == Pattern::pair) options.acknowledge = Acknowledge::released;
  return options;
}

template <typename Any>
void own(std::shared_ptr<void>& owner, Socket*& socket, std::shared_ptr<Any> made) {
  socket = made.get();
  owner = std::move(made);
}

}  // namespace

RelaySockets make_relay_sockets(Context& context, const RelayArguments& arguments,
                                const std::function<void(const std::string&)>& note) {
  RelaySockets sockets;
  const SocketOptions input = input_options(arguments);
  const SocketOptions output = output_options(arguments);
  switch (arguments.pattern) {
    case Pattern::push: {
      auto pull = std::make_shared<Pull>(context, input);
      auto push = std::make_shared<Push>(context, output);
      sockets.forwards.push_back(forward(*pull, *push));
      own(sockets.from_owner, sockets.from, std::move(pull));
      own(sockets.to_owner, sockets.to, std::move(push));
      return sockets;
    }
    case Pattern::publish: {
      const auto& from = arguments.from.channel;
      const auto& to = arguments.to.channel;
      auto subscribe = std::make_shared<Subscribe>(
          context, from ? from->subscribe : arguments.subscription, input);
      auto publish =
          std::make_shared<Publish>(context, to ? to->publish : PublishOptions{}, output);
      if (from && !from->tags.empty()) subscribe->subscribe(from->tags);
      if (!arguments.tags.empty()) subscribe->subscribe(arguments.tags);
      subscribe->on_subscribed([note](const PeerInfo& peer, const Subscribed& answer) {
        if (!answer.refused) return;
        note(fmt::format(
            "publisher {} refused what the subscribers want together, and sends what it sent "
            "before: {}",
            named(peer), answer.detail));
      });
      sockets.forwards.push_back(forward(*subscribe, *publish));
      own(sockets.from_owner, sockets.from, std::move(subscribe));
      own(sockets.to_owner, sockets.to, std::move(publish));
      return sockets;
    }
    case Pattern::pair: {
      auto one = std::make_shared<Pair>(context, input);
      auto other = std::make_shared<Pair>(context, output);
      sockets.forwards.push_back(forward(*one, *other));
      sockets.forwards.push_back(forward(*other, *one));
      own(sockets.from_owner, sockets.from, std::move(one));
      own(sockets.to_owner, sockets.to, std::move(other));
      return sockets;
    }
    case Pattern::request: {
      SocketOptions asking = output;
      asking.acknowledge = Acknowledge::delivered;
      const auto& from = arguments.from.channel;
      const auto& to = arguments.to.channel;
      auto reply = std::make_shared<Reply>(context, from ? from->reply : ReplyOptions{},
                                           end_options(arguments, arguments.from));
      auto request =
          std::make_shared<Request>(context, to ? to->request : RequestOptions{}, asking);
      sockets.forwards.push_back(forward(*reply, *request));
      own(sockets.from_owner, sockets.from, std::move(reply));
      own(sockets.to_owner, sockets.to, std::move(request));
      return sockets;
    }
  }
  return sockets;
}

}  // namespace netio::cli

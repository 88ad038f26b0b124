// The two sockets of `netio relay`, and what passes messages on between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <netio/context.hpp>
#include <netio/forward.hpp>
#include <netio/socket.hpp>

#include "arguments.hpp"

namespace netio::cli {

struct RelaySockets {
  std::shared_ptr<void> from_owner;  // of the socket, which is of one of the patterns
  std::shared_ptr<void> to_owner;
  Socket* from = nullptr;
  Socket* to = nullptr;
  std::vector<Forward> forwards;  // one of each direction: destroyed before the sockets
};

// `note` is called with what a person is to be told. Throws Error.
[[nodiscard]] RelaySockets make_relay_sockets(Context& context, const RelayArguments& arguments,
                                              const std::function<void(const std::string&)>& note);

}  // namespace netio::cli

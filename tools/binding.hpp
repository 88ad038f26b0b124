// How long a command waits for what the address consists of at which it listens: either side may
// start before the name service knows a host, and before an interface has its address.
#pragma once

#include <functional>
#include <string>

#include "arguments.hpp"
#include "progress.hpp"

namespace netio::cli {

// Returns what `bind` answers for the address. While `bind` throws NotThereYet, notes the first
// error and tries again, until --connect-timeout (10 s unless given) has passed; then throws the
// last error. Blocks meanwhile. Throws Failure if Ctrl-C comes. Notes if no other host reaches the
// address, though it does not say so.
std::string bind_when_there(const std::string& address,
                            const std::function<std::string(const std::string&)>& bind,
                            const PeerArguments& peer, Progress& progress);

}  // namespace netio::cli

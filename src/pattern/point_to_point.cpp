// Push, Pull and Pair: the facts in which they differ, and nothing else. A message goes to one
// peer.
#include <netio/pair.hpp>
#include <netio/pull.hpp>
#include <netio/push.hpp>

#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio {

using detail::Pattern;
using detail::SocketCore;
using detail::WirePattern;

static constexpr Pattern push_facts{WirePattern::push, WirePattern::pull, true, false, SIZE_MAX};
static constexpr Pattern pull_facts{WirePattern::pull, WirePattern::push, false, true, SIZE_MAX};
static constexpr Pattern pair_facts{WirePattern::pair, WirePattern::pair, true, true, 1};

Push::Push(Context& context, const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, push_facts)),
      Sending(core_->sending) {}

Pull::Pull(Context& context, const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, pull_facts)),
      Receiving(core_->receiving) {}

Pair::Pair(Context& context, const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, pair_facts)),
      Sending(core_->sending),
      Receiving(core_->receiving) {}

}  // namespace netio

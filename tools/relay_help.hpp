// What --help of relay says beyond the list of options.
#pragma once

#include <string_view>

namespace netio::cli::help {

inline constexpr std::string_view relay_footer =
    R"(Examples:
  netio relay 'tcp://*:5555' shm://raw
      senders connect here; this connects to shm://raw
  netio relay tcp://daq1:5555 'tcp://*:6666' --from connect --to bind
  netio relay 'tcp://*:5555' tcp://a:1 --more-to tcp://b:1 --by-tag
  netio relay tcp://daq1:5555 'tcp://*:5555' --pattern publish --from connect --to bind
      subscribes at daq1 what the subscribers here want, and publishes it here
  netio relay 'tcp://*:5555' tcp://host:5555 --pattern request
      repliers see one requester, requesters one replier

Patterns, FROM -> TO: push (from netio send, to netio recv), publish (from netio pub, to netio sub),
pair (both directions), request (from netio request, to netio reply).

Messages keep their order, tags and segments. What TO does not take makes FROM wait: no more than a
page waits here, with --by-tag one for each connection. FROM is told that a message was delivered
when TO has said so. So a relay that is killed takes nothing with it that its senders believe
delivered. There are two exceptions. A message that is too large for TO is dropped here, and counts
as delivered at FROM; the relay says so and ends with 1. And after a network break at FROM the
sender is told what had arrived here, not what TO has. A relay that is restarted is another one for
both sides.

It ends in order when all peers of one side have done so, and passes on first what it has:
  push      all senders, or all receivers
  publish   all publishers
  pair      either side
  request   all repliers
--stay goes on until Ctrl-C.

Exit codes: 0 all that came was passed on and acknowledged, 1 failed, or messages were dropped,
2 usage, 3 a connection was lost and messages with it, 130 Ctrl-C.
)";

}  // namespace netio::cli::help

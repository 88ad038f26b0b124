// What --help of request and reply says beyond the list of options.
#pragma once

#include <string_view>

namespace netio::cli::help {

inline constexpr std::string_view request_footer =
    R"(Examples:
  netio request tcp://host:5555 --text status          prints the answer
  netio request tcp://host:5555 command.json >answer   the file is the request
  echo status | netio request tcp://host:5555          standard input is
  netio request tcp://host:5555 --text status --within 500ms
  netio request tcp://host:5555 --text x --count 100k --concurrent 100
      how many answers a second, how long they take, and how the requests ended
  netio request 'tcp://*:5555' --bind --text status    from a replier that connects

The other end is netio reply, or any reply socket. Each request ends in one way:
  answered      the answer came
  timed out     --within is over; the replier may have executed the request
  not answered  the replier received it, and gave it up
  not executed  the replier was lost before it had received the request
  in doubt      the replier was lost: it may have executed the request, or not
If the replier is lost, and does not come back within 2s (with --resume within --resume-within),
the requests that it has not answered are in doubt. A replier that was restarted ends them at once.
Further requests wait for a replier as long as --connect-timeout says.
An answer is written as it is, without a newline behind it. With --json on standard output, answers
are only written to --out FILE. After Ctrl-C the requests under way are cancelled.

Exit codes: 0 every request was answered, 1 failed, nobody was there, or requests were not answered
or timed out, 2 usage, 3 the replier was lost: requests are in doubt or not executed, or it did not
come back, 130 Ctrl-C.
)";

inline constexpr std::string_view reply_footer =
    R"(Examples:
  netio reply 'tcp://*:5555'                     sends back what is asked, to any number of peers
  netio reply 'tcp://*:5555' --text running      the same answer for all
  netio reply 'tcp://*:0' --count 1000 --json    any free port; ends after 1000 answers
  netio reply tcp://host:5555 --connect          to netio request --bind

Requesters come and go until Ctrl-C, --count or --seconds. The summary has two books: requests, how
each one ended here, and the messages that carried the answers. Unwanted are those that were
cancelled, or whose requester has gone for good; expired are those whose time was over when they
came, which are not answered. One that takes its answers slowly is held back.

Exit codes: 0 --count or --seconds is over, 1 failed, or an answer could not be sent, 2 usage,
3 a requester was lost and none came back within --connect-timeout, 130 Ctrl-C.
Without a requester it ends after --connect-timeout: well, if the last one had ended in order.
)";

}  // namespace netio::cli::help

// What --help says beyond the list of options.
#pragma once

#include <string_view>

namespace netio::cli::help {

inline constexpr std::string_view summary =
    "netio moves messages between processes at the speed of the wire beneath it.";

inline constexpr std::string_view main_footer =
    R"(Each command has its own --help. A first try, in two terminals:
  netio recv 'tcp://*:5555'
  netio send tcp://localhost:5555 --size 64 --count 10M
or, to any number of receivers that come and go and choose by tag:
  netio pub 'tcp://*:5555' --tags 0-15 --size 1KiB --rate 100k
  netio sub tcp://localhost:5555 --tag 3,4
or, to ask a question and print the answer:
  netio reply 'tcp://*:5555' --text running
  netio request tcp://localhost:5555 --text status
or, to see whether a host answers, and how fast:
  netio echo 'tcp://*:5555'
  netio ping tcp://localhost:5555
or, to make events of the fragments of several sources, see netio build --help

Exit codes: 0 done, 1 failed at run time, 2 usage, 3 a peer was lost, 130 Ctrl-C.
)";

inline constexpr std::string_view send_footer =
    R"(Examples:
  netio send tcp://host:5555 run42.dat                     the file is one message
  netio send tcp://host:5555 log.txt --frame line          each line, newline included
  netio send tcp://host:5555 run42.dat --frame fixed:4KiB  records of 4096 bytes
  netio send tcp://host:5555 run42.xtc2 --frame length:20,4,12
      each record's size is the 4-byte little-endian field at byte 20 of it, plus 12
  zcat log.gz | netio send tcp://host:5555 --frame line    standard input, as it comes
  netio send tcp://host:5555 --size 1KiB --seconds 10 --rate 100k --verify
  netio send shm://name --size 64 --count 10M              to a process of this machine and user
  netio send tcp://host:5555 --size 1MiB --head 64         a header and a body, as two segments
  echo "run 42 starts" | netio send 'tcp://*:5555' --bind --to-all --wait-for 3
      one message to each of three receivers, once all are there (netio recv --connect);
      exit code 3 if one of them had gone before
  netio send --channel name=data,type=push,method=connect,address=tcp://host:5555 run42.dat

Sizes, counts and rates: k, M, G are powers of 1000, Ki, Mi, Gi of 1024. Times: 100ms, 5s, 2min.
Either side may start first. A lost receiver is waited for as long as --connect-timeout says.
A file that ends inside a record: the complete ones are sent, then it ends with 1.
At the end it waits until the receiver has acknowledged everything, or for --linger. After Ctrl-C
that is 1 s at most; a second Ctrl-C ends it at once, and the summary says what is in doubt.

Exit codes: 0 every message was acknowledged, 1 failed, 2 usage, 3 the receiver was lost or
messages are in doubt (the summary has the books), 130 Ctrl-C.
)";

inline constexpr std::string_view recv_footer =
    R"(Examples:
  netio recv 'tcp://*:5555'                     count and discard
  netio recv 'tcp://*:5555' --out run42.dat     messages back to back
  netio recv 'tcp://*:5555' --out - | wc -l     what was sent line by line
  netio recv 'tcp://*:0'                        any free port; says which
  netio recv shm://name                         from processes of this machine and user
  netio recv tcp://readout:5555 --connect       from a sender that was started with --bind
  netio recv 'tcp://*:5555' --verify --json     check numbers and checksums, report as JSON
  netio recv --channel run.json:sink1:data      the channel data of the device sink1 in a file

Of a message of several segments all bytes are written, one segment after the other; the summary
says how many such messages came.
Messages are written as they come: with send --frame line, fixed or length the output is the file
that was sent, byte for byte. What a sender counts as acknowledged has been written. If the reader
of the output pipe ends, so does recv, in order (exit code 0); the page that was then on its way
into the pipe counts as taken. An existing FILE is emptied when the first message comes, or when a
sender that had none has ended.

Exit codes: 0 every sender that came has ended in order, 1 failed (or --verify found faults),
2 usage, 3 a sender was lost in mid-stream (with --keep also one that came back as another run),
130 Ctrl-C.
)";

inline constexpr std::string_view pub_footer =
    R"(Examples:
  netio pub 'tcp://*:5555' run42.dat --tag 7               the file is one message
  netio pub 'tcp://*:5555' log.txt --frame line --tag 7    each line, newline included
  netio pub 'tcp://*:5555' run42.dat --frame fixed:4KiB --tags 0-15
      records of 4096 bytes, with the tags 0 to 15 in turn
  zcat log.gz | netio pub 'tcp://*:5555' --frame line --wait-for 2
  netio pub 'tcp://*:5555' --size 1KiB --seconds 10 --rate 100k --tags 0-15 --verify
  netio pub tcp://gateway:5555 --connect --wait-for 0 ...  to a sub that was started with --bind

It begins when --wait-for says, and goes on whether subscribers are there or not: what nobody wants
is counted as unwanted. Subscribers come and go at any time, and each says what happens when it is
slow (netio sub --policy). Only one with the policy block holds the publisher up; --no-block allows
none. With --subscribers-min N nothing is published, and nothing lost, while fewer than N of these
are there; --subscribers-any-min counts those of whatever policy. The books count each message once
for each subscriber that wanted it.
At the end it waits until the subscribers that are connected have acknowledged everything, or for
--linger. After Ctrl-C that is 1 s at most; a second Ctrl-C ends it at once.

Exit codes: 0 every subscriber got what it wanted, but for what its own policy dropped or what it
did not stay for, 1 failed, 2 usage, 3 a subscriber was lost or messages are in doubt (the summary
has the books), 130 Ctrl-C.
)";

inline constexpr std::string_view sub_footer =
    R"(Examples:
  netio sub tcp://host:5555                              everything: count and discard
  netio sub tcp://host:5555 --tag 7 --out run42.dat      messages back to back
  netio sub tcp://host:5555 --tag 3-9,12,0x20 --out -    several tags, to standard output
  netio sub tcp://host:5555 --policy block --verify      nothing is lost, and that is checked
  netio sub tcp://host:5555 --policy sample --keep       the latest of each tag, for a monitor
  netio sub 'tcp://*:5555' --bind                        publishers connect (netio pub --connect)

A subscription begins when the publisher takes it: what was published before does not come. It says
from which message on that is, which policy was granted, and what is missed while it runs (at most
a line a second). The publisher may be started later, and may come back (--keep).
The summary says how many messages were delivered, how many were missed and why, and how many came
with each tag.

Exit codes: 0 every publisher that came has ended in order, and what was missed was dropped by the
policy, 1 failed (or --verify found faults), 2 usage, 3 a publisher or messages were lost
(with --keep also a publisher that was killed and came back as another run), 130 Ctrl-C.
)";

inline constexpr std::string_view echo_footer =
    R"(Examples:
  netio echo 'tcp://*:5555'                 for netio ping tcp://host:5555, on any number of hosts
  netio echo shm://name --wait spin         the least latency, for a core
  netio echo 'tcp://*:0' --count 1000       any free port; ends after 1000 messages

It takes one peer at a time, any program with a pair socket: who comes meanwhile is turned away as
"busy", and tries again. Peers come and go until Ctrl-C, --count or --seconds. One that takes its
answers slowly is held back, and nothing is dropped.

Exit codes: 0 --count or --seconds is over, 1 failed, or a message could not be sent back, 2 usage,
3 no peer came back within --connect-timeout, 130 Ctrl-C.
)";

inline constexpr std::string_view ping_footer =
    R"(Examples:
  netio ping tcp://host:5555                          a ping a second, until Ctrl-C
  netio ping tcp://host:5555 --count 5 --size 64KiB
  netio ping shm://name --interval 0 --seconds 5 --wait spin
      as fast as answers come, and their times at the end
  netio ping verbs://host:5555 --count 100 --interval 10ms --json -q

The other end is netio echo, or any pair socket that sends back what it gets. One ping is under way
at a time: the next leaves --interval after the last one did, but not before that is answered or
--timeout has passed. What comes after its timeout is counted as lost, and as late. If the echo
goes, the ping under way is lost; it is waited for as long as --connect-timeout says, and then the
pings go on.
With --json the lines go to standard error, and one object to standard output at the end.

Exit codes: 0 every ping was answered, 1 failed, or some were not, 2 usage, 3 the echo was lost and
did not come back, 130 Ctrl-C.
)";

inline constexpr std::string_view info_footer =
    R"(Who is asked at ADDRESS neither tells its user of it nor counts it: the question is not a
connection. The wire is what a connection would take as far as that is known without one.

Examples:
  netio info                             this machine
  netio info netio://daq-07:5555         who is there, and over which wire it would be reached
  netio info shm://events --json

Exit codes: 0 printed, 1 nobody has answered, or it could not be written, 2 usage.
)";

inline constexpr std::string_view bench_footer =
    R"(Examples:
  netio bench throughput                                   64 B, against every peer that is here
  netio bench throughput --size 64,1KiB,64KiB --plot throughput.svg
  netio bench throughput --size 1MiB --mode unbuffered --against raw,iperf3
  netio bench latency --wait spin --against raw
  netio bench latency --rate 10k --percentiles .           open loop
  netio bench throughput ofi+tcp://127.0.0.1:0             against bare libfabric, the floor there
  netio bench throughput shm://bench --size 64,64KiB       in shared memory, between two processes
  netio bench latency shm://bench --wait spin --against raw,fabric,iceoryx2,aeron
  netio bench latency inproc://bench --wait spin           between two threads of a process
  netio bench loan                                         64 B against 64 MiB, untouched
  netio bench loan --touch all --against raw               64 KiB, written by one copy and read
  netio bench latency --pattern request --wait spin         Request and Reply, against a Pair too
  netio bench throughput --pattern request --concurrent 1000
  netio bench connections --count 1000
  netio bench fanout --against push,zmq                    publish to one subscriber
  netio bench fanout shm://bench --subscribers 8 --against 1000x1
  netio bench fanout --subscribers 8 --stop 1 --policy drop_new --rate 200k --against 1000x7
  netio bench copies                                       between each two wires, from counters
  netio bench relay --size 64KiB --mode unbuffered --against raw
  netio bench relay --size 64KiB --mode unbuffered --to ofi+tcp://127.0.0.1:0
  netio bench build                                        events of 4 units and 2 builders
  netio bench build --wire shm --size 200,10KiB,1MiB --rate 10k
  netio bench mesh --nodes 8 --both-ways --namespaces --against raw
  netio bench mesh --wire shm --nodes 8 --plot mesh.svg    every node to every other one
  netio bench scan --values 64..512MB --plot size.svg      rates and CPU against the size
  netio bench scan verbs://10.0.0.1:0 --parameter slots --values 1..16+1 --slot-bytes 32MiB
  netio bench breakdown                                    where the time of a message goes
  netio bench breakdown shm://bench --size 64,1MiB --plot breakdown.svg
  netio bench idle
  netio bench serve 'tcp://*:5600'                         on one host, and on another:
  netio bench throughput tcp://first-host:0 --remote tcp://first-host:5600

In each round every system runs once, and the floor a second time as a control: what two
runs of one thing differ by. The floor is raw: bare sockets, or a bare ring in shared
memory; on verbs:// and ofi+...:// fabric: bare libfabric; of many requests pair: two ends
of a Pair. A ratio is netio over the peer, the median of the rounds'.

)";

inline constexpr std::string_view completion_footer =
    R"(In this shell, and for those to come:
  source <(netio completion bash)
  netio completion bash >~/.local/share/bash-completion/completions/netio
  netio completion zsh >~/.zfunc/_netio       with fpath+=~/.zfunc before compinit in ~/.zshrc

Exit codes: 0 printed, 1 it could not be written, 2 usage.
)";

inline constexpr std::string_view man_footer =
    R"(Examples:
  netio man | man -l -                   all of netio
  netio man bench latency | man -l -     one command
  netio man send >netio-send.1

It is what --help says, for troff.

Exit codes: 0 printed, 1 it could not be written, 2 usage.
)";

inline constexpr std::string_view bench_exit_codes =
    R"(Exit codes: 0 measured, 1 a system failed, 2 usage, 130 Ctrl-C (what was measured is reported).
)";

}  // namespace netio::cli::help

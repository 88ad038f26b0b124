// What --help of `netio build` says beyond the list of options.
#pragma once

#include <string_view>

namespace netio::cli::help {

inline constexpr std::string_view build_footer =
    R"(Each read-out unit has a fragment of every event, and a builder unit needs all fragments of one.
With two units and one builder, in three terminals:
  netio build builder 'tcp://*:5555' --builder 0 --builders 1 --sources 2 --verify
  netio build readout tcp://localhost:5555 --source 0 --sources 2 --events 100k
  netio build readout tcp://localhost:5555 --source 1 --sources 2 --events 100k

With an event manager, slow builders get less, and others take over from a builder that is gone:
  netio build manager 'tcp://*:5550' --sources 2 --builders 2
  netio build builder --manager tcp://localhost:5550 --builder 0 --builders 2 --sources 2
  netio build builder --manager tcp://localhost:5550 --builder 1 --builders 2 --sources 2
  netio build readout --manager tcp://localhost:5550 --source 0 --sources 2 --builders 2
  netio build readout --manager tcp://localhost:5550 --source 1 --sources 2 --builders 2

Exit codes: 0 done, 1 failed, 2 usage, 3 a unit or builder was lost, 130 Ctrl-C.
)";

inline constexpr std::string_view build_readout_footer =
    R"(Examples:
  netio build readout tcp://b0:5555 tcp://b1:5555 --source 2 --sources 3 --rate 100k --seconds 10
      unit 2 of 3, with generated fragments for the two builders
  netio build readout shm://b0 --source 0 --sources 2 --file run42.xtc2 --frame length:20,4,12
      each record of the file is the fragment of one event
  netio build readout tcp://b0:5555 --source 0 --sources 2 --first-event 1M --events 1M --run 7
  netio build readout --manager tcp://m:5550 --source 0 --sources 2 --builders 4 --events 1M

The unit begins at once. Builders may be started later, and may be restarted: the store holds each
fragment until its builder is done with the event, and the unit sends it again if the builder was
lost before. While a builder is away, its events fill the store. If the store is full, the unit
waits, or drops fragments (--when-full).
At the end the unit says that the run is over, and waits until the builders are done with all
events. After Ctrl-C it does not say so: later events of the other units are incomplete.
If a unit is killed, the fragments in its store are lost. A unit that is started again needs the
number of its first event (--first-event). What the builders have had already is not used twice.

With --manager, the unit begins when the manager has greeted it. If events are being built by then,
it begins above what the other units have produced, and ends at the same event as they do
(--events). --first-event says otherwise. Only the manager is waited for: others take over from a
builder that is away. If the manager stops the run, the unit ends there, with exit code 0.

Exit codes: 0 the builders are done with everything (but for what --when-full drop dropped, and what
lies behind the event at which a manager has stopped), 1 failed, or fragments came too late for
their events, 2 usage, 3 builders are not done with everything, 130 Ctrl-C.
)";

inline constexpr std::string_view build_builder_footer =
    R"(Examples:
  netio build builder 'tcp://*:5555' --builder 0 --builders 2 --sources 3 --verify
  netio build builder shm://b0 --builder 0 --builders 1 --sources 2 --out run42
  netio build builder 'tcp://*:5555' --builder 0 --builders 1 --sources 2 --deadline 100ms --json
  netio build builder --manager tcp://m:5550 --builder 0 --builders 4 --sources 2 --weight 2

An event is built when each unit has sent its fragment or has none. Events are built in the order of
their numbers. If a fragment is missing after --deadline (of a unit that has not come yet, after
--meet-within), the event is incomplete, for a reason:
  late           the unit is connected, and did not send it in time
  not_connected  the unit was not connected in time
  not_begun      the unit began, or was restarted, behind this event
  dropped        the unit's store was full
An event is marked "again" if an earlier run of this builder, or another builder, may have built it.

--out FOLDER writes builder-N-source-0.dat, builder-N-source-1.dat and so on. Each file has the
fragments of one source, one behind the other: a file that was replayed by --file comes out byte for
byte. Of an incomplete event, the fragments that came are written. builder-N-events.tsv has a line
for each event: run, number, complete or incomplete (and again), and for each source the bytes, or
the reason why there are none ("none": the unit has no fragment of this event). An event is written
before the units forget it. So a builder that is killed, and is started again with --append, leaves
files that have each event once.

The builder ends when all units have come and have ended in order; with --stay, at Ctrl-C.

With --manager, the builder builds what the manager gives it, in ranges, and ends when the manager
has ended in order. A range that it takes over may lie below others that it has built. --verify then
checks that an event that comes once more is marked, and not that none is skipped. It may be
restarted at any address: the manager tells units where it is. If it hangs, or the manager is gone,
it hands over no event after its lease (netio build manager --lease).

Exit codes: 0 every event was built, 1 failed, or --verify found a fault (with --complete also
an incomplete event), 2 usage, 3 a unit was lost and did not come back, 130 Ctrl-C.
)";

inline constexpr std::string_view build_manager_footer =
    R"(Examples:
  netio build manager 'tcp://*:5550' --sources 3 --builders 2
  netio build manager 'tcp://*:5550' shm://manager --sources 3 --builders 2 --lease 200ms
  netio build manager 'tcp://*:5550' --sources 3 --events 1M --json
Units and builders are told where it is:
  netio build builder --manager tcp://m:5550 --builder 0 --builders 2 --sources 3
  netio build readout --manager tcp://m:5550 --builders 2 --source 0 --sources 3

The manager gives each range of events to a builder when all units have produced it. A builder that
is slower is given less. If a builder is lost, its ranges are given to other builders, and their
events are marked "again". A unit that is gone or hangs is not waited for.
Units and builders connect to the manager. The manager tells units at which addresses they reach the
builders.
The manager may be killed: another one that is started at its address learns from units and builders
what is done. Only one manager may be at work at a time.

The first Ctrl-C stops the run: units are told to end, and the manager ends when everything that they
have produced is built. The second Ctrl-C ends the manager at once. It also ends when all units have
come and have ended in order; with --stay it goes on.

Exit codes: 0 done, 1 failed, or there is another manager, 2 usage, 3 a unit was lost and did not come
back, or a builder, and its events are not built, 130 Ctrl-C.
)";

}  // namespace netio::cli::help

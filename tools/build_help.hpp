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

Exit codes: 0 done, 1 failed, 2 usage, 3 a unit or builder was lost, 130 Ctrl-C.
)";

inline constexpr std::string_view build_readout_footer =
    R"(Examples:
  netio build readout tcp://b0:5555 tcp://b1:5555 --source 2 --sources 3 --rate 100k --seconds 10
      unit 2 of 3, with generated fragments for the two builders
  netio build readout shm://b0 --source 0 --sources 2 --file run42.xtc2 --frame length:20,4,12
      each record of the file is the fragment of one event
  netio build readout tcp://b0:5555 --source 0 --sources 2 --first-event 1M --events 1M --run 7

The unit begins at once. Builders may be started later, and may be restarted: the store holds each
fragment until its builder is done with the event, and the unit sends it again if the builder was
lost before. While a builder is away, its events fill the store. If the store is full, the unit
waits, or drops fragments (--when-full).
At the end the unit says that the run is over, and waits until the builders are done with all
events. After Ctrl-C it does not say so: later events of the other units are incomplete.
If a unit is killed, the fragments in its store are lost. A unit that is started again needs the
number of its first event (--first-event). What the builders have had already is not used twice.

Exit codes: 0 the builders are done with everything (but for what --when-full drop dropped),
1 failed, or fragments came too late for their events, 2 usage, 3 builders are not done with
everything, 130 Ctrl-C.
)";

inline constexpr std::string_view build_builder_footer =
    R"(Examples:
  netio build builder 'tcp://*:5555' --builder 0 --builders 2 --sources 3 --verify
  netio build builder shm://b0 --builder 0 --builders 1 --sources 2 --out run42
  netio build builder 'tcp://*:5555' --builder 0 --builders 1 --sources 2 --deadline 100ms --json

An event is built when each unit has sent its fragment or has none. Events are built in the order of
their numbers. If a fragment is missing after --deadline, the event is incomplete, for a reason:
  late           the unit is connected, and did not send it in time
  not_connected  the unit was not connected in time
  not_begun      the unit began, or was restarted, behind this event
  dropped        the unit's store was full
An event is marked "again" if an earlier run of this builder may have built it.

--out FOLDER writes builder-N-source-0.dat, builder-N-source-1.dat and so on. Each file has the
fragments of one source, one behind the other: a file that was replayed by --file comes out byte for
byte. Of an incomplete event, the fragments that came are written. builder-N-events.tsv has a line
for each event: run, number, complete or incomplete (and again), and for each source the bytes, or
the reason why there are none ("none": the unit has no fragment of this event). An event is written
before the units forget it. So a builder that is killed, and is started again with --append, leaves
files that have each event once.

The builder ends when all units have come and have ended in order; with --stay, at Ctrl-C.

Exit codes: 0 every event was built, 1 failed, or --verify found a fault (with --complete also
an incomplete event), 2 usage, 3 a unit was lost and did not come back, 130 Ctrl-C.
)";

}  // namespace netio::cli::help

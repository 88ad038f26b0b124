#!/usr/bin/env python3
"""The curves of two published evaluations of RDMA for data acquisition, measured with netio: each
is a `netio bench scan`, and has a picture in docs/performance/.

Usage: curves.py NETIO [--fabric ADDRESS] [--into FOLDER] [--rounds N] [--seconds S] [--list] [FILTER]
FILTER: a regular expression on the names that --list prints.
Exit status: 0 all measured, 1 some not (the others are drawn), 2 usage, 130 Ctrl-C.
"""
import argparse
import os
import re
import sys

from bars import OFI_TCP, run

PICTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "performance")

FABRIC = "FABRIC"  # stands for the address that --fabric gives
RING = FABRIC + "?engine=ring&slots=16&slot_bytes=1MiB"

# name (and that of the picture), of which evaluation, arguments of `netio bench scan`
CURVES = [
    ("scan-tcp-size", "lhcb", ["--values", "1KiB..512MiB", "--against", "raw"]),
    ("scan-tcp-streams", "lhcb", ["--parameter", "streams", "--values", "1,2,3,4,8,16"]),
    ("scan-tcp-both-ways", "lhcb", ["--values", "1KiB..8MiB", "--both-ways"]),
    ("scan-fabric-size", "lhcb", [FABRIC, "--values", "8..8MiB", "--against", "fabric"]),
    ("scan-fabric-streams", "lhcb",
     [FABRIC, "--parameter", "streams", "--values", "1,2,3,4,8,16"]),
    ("scan-fabric-both-ways", "lhcb", [FABRIC, "--values", "8..8MiB", "--both-ways"]),
    ("scan-shm-size", "", ["shm://*", "--values", "1KiB..512MiB"]),
    ("scan-tcp-page-bytes", "", ["--parameter", "page_bytes", "--values", "4KiB..16MiB"]),
    ("scan-ring-round-trips-small", "riozmq",
     [FABRIC, "--round-trips", "--values", "8..4KiB", "--slot-bytes", "4KiB", "--slots", "1"]),
    ("scan-ring-round-trips-large", "riozmq",
     [FABRIC, "--round-trips", "--values", "4KiB..1MiB", "--slot-bytes", "1MiB", "--slots", "1"]),
    ("scan-ring-slot-bytes", "riozmq",
     [FABRIC, "--parameter", "slot_bytes", "--values", "4KiB..32MiB", "--slots", "8"]),
    ("scan-ring-slots", "riozmq",
     [FABRIC, "--parameter", "slots", "--values", "1..16+1", "--slot-bytes", "1MiB"]),
    ("scan-ring-size", "riozmq",
     [FABRIC, "--values", "1KiB..512MiB", "--slot-bytes", "32MiB", "--slots", "16"]),
    ("scan-ring-messages", "",
     [RING, "--values", "64,256,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB", "--against",
      "fabric,messages"]),
]


def command_of(curve, fabric):
    return ["scan", *(word.replace(FABRIC, fabric) for word in curve[2])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("netio")
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--fabric", metavar="ADDRESS", default=OFI_TCP,
                        help=f"for the curves of fabrics, such as verbs://10.0.0.1:0 ({OFI_TCP})")
    parser.add_argument("--into", metavar="FOLDER", default=PICTURES,
                        help="for the pictures (docs/performance)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_intermixed_args()
    try:
        chosen = [curve for curve in CURVES if re.search(arguments.filter, curve[0])]
    except re.error as error:
        parser.error(f"{arguments.filter}: {error}")
    if not chosen:
        parser.error(f"no curve matches {arguments.filter}; --list shows them")
    if arguments.list:
        for curve in chosen:
            words = " ".join(command_of(curve, arguments.fabric))
            print(f"{curve[0]:28} {curve[1]:7} netio bench {words}")
        return 0
    if not os.path.isdir(arguments.into):
        parser.error(f"{arguments.into} is no folder: make it first")
    missed = []
    for curve in chosen:
        picture = os.path.join(os.path.normpath(arguments.into), curve[0] + ".svg")
        try:
            run(arguments.netio, [*command_of(curve, arguments.fabric), "--plot", picture],
                arguments)
        except RuntimeError as error:
            missed.append(f"{curve[0]}: {error}")
        # Opened before anything was measured, and never drawn: no picture is better than that.
        if os.path.isfile(picture) and os.path.getsize(picture) == 0:
            os.remove(picture)
    for line in missed:
        print("NOT ALL MEASURED", line)
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

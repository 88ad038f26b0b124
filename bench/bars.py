#!/usr/bin/env python3
"""The performance bars of netio: measures each and says whether it is met, or by how much missed.

Usage: bars.py NETIO [--rounds N] [--seconds S] [--json FILE] [--list] [FILTER]
FILTER: a regular expression on the names that --list prints. A miss counts only beyond what the
control (the floor against itself) varies by; where that is too much, the machine is too noisy.
Exit status: 0 all met (or missed within the control), 1 some missed, 2 usage, 3 something could
not be measured (void, noisy or failed), 130 Ctrl-C.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

THROUGHPUT_64 = ["throughput", "--size", "64", "--against", "raw,zmq"]
THROUGHPUT_1K = ["throughput", "--size", "1KiB", "--against", "raw"]
THROUGHPUT_1M = ["throughput", "--size", "1MiB", "--mode", "unbuffered", "--against", "raw"]
ROUND_TRIP_SLEEPING = ["latency", "--size", "64", "--against", "raw"]
ROUND_TRIP_SPINNING = ["latency", "--size", "64", "--wait", "spin", "--against", "raw"]
CONNECTIONS = ["connections", "--count", "1000", "--against", "raw"]
IDLE = ["idle"]

OFI_TCP = "ofi+tcp://127.0.0.1:0"
FABRIC_64 = ["throughput", OFI_TCP, "--size", "64", "--against", "fabric"]
FABRIC_4K, FABRIC_64K, FABRIC_1M = (
    ["throughput", OFI_TCP, "--size", size, "--mode", "unbuffered", "--against", "fabric"]
    for size in ("4KiB", "64KiB", "1MiB"))
FABRIC_ROUND_TRIP_SLEEPING = ["latency", OFI_TCP, "--size", "64", "--against", "fabric"]
FABRIC_ROUND_TRIP_SPINNING = [*FABRIC_ROUND_TRIP_SLEEPING, "--wait", "spin"]
FABRIC_IDLE = ["idle", OFI_TCP]
# A ring of as many blocks as the bare program's, each as large as a message.
RING = OFI_TCP + "?engine=ring&slots=16&slot_bytes="
RING_64K, RING_1M = (
    ["throughput", RING + size, "--size", size, "--mode", "unbuffered", "--against", "fabric"]
    for size in ("64KiB", "1MiB"))
RING_ROUND_TRIP_SLEEPING, RING_ROUND_TRIP_64K = (
    ["latency", RING + "64KiB", "--size", size, "--against", "fabric"] for size in ("64", "64KiB"))
RING_ROUND_TRIP_SPINNING = [*RING_ROUND_TRIP_SLEEPING, "--wait", "spin"]

# * is a name that no other measurement has.
SHM, INPROC = "shm://*", "inproc://*"
SHM_64 = ["throughput", SHM, "--size", "64", "--against", "raw,zmq,nng,ucx"]
SHM_64K = ["throughput", SHM, "--size", "64KiB", "--mode", "unbuffered", "--against", "raw"]
SHM_ROUND_TRIP_SPINNING = [
    "latency", SHM, "--size", "64", "--wait", "spin", "--against", "raw,zmq,ucx"]
SHM_ROUND_TRIP_SLEEPING = ["latency", SHM, "--size", "64", "--against", "raw"]
SHM_CONNECTIONS = ["connections", SHM, "--count", "64", "--against", "raw"]
SHM_LOAN = ["loan", SHM]
SHM_LOAN_64K = ["loan", SHM, "--touch", "all", "--against", "raw"]
SHM_IDLE = ["idle", SHM]
INPROC_64 = ["throughput", INPROC, "--size", "64", "--against", "raw,zmq"]

# Against netio itself: a Push, or a publisher with TAGSxSUBSCRIBERS.
FANOUT_TCP = ["fanout", "--tags", "1000", "--against", "push,zmq"]
FANOUT_SHM = ["fanout", SHM, "--tags", "1000", "--against", "push"]
FANOUT_UNWANTED = ["fanout", "--tags", "1000", "--unsubscribed", "--against", "1000x1"]
FANOUT_UNWANTED_RESOLVED = [*FANOUT_UNWANTED, "--resolved"]
FANOUT_SHM_8 = ["fanout", SHM, "--subscribers", "8", "--against", "1000x1"]
FANOUT_TCP_8 = ["fanout", "--subscribers", "8", "--against", "1000x1"]
FANOUT_100 = ["fanout", "--tags", "100k", "--subscribers", "100", "--recipients", "1", "--resolved",
              "--against", "10x1"]
# A rate that two cores carry with room to spare.
FANOUT_STOPPED = ["fanout", "--subscribers", "8", "--stop", "1", "--policy", "drop_new", "--rate",
                  "100k", "--against", "1000x7"]
# Request and Reply, against two ends of a Pair in the same run.
REQUEST_PEERS = ["--size", "64", "--against", "pair,raw,zmq"]
REQUEST_RTT_SLEEPING = ["latency", "--pattern", "request", *REQUEST_PEERS]
REQUEST_RTT_SPINNING = ["latency", "--pattern", "request", "--wait", "spin", *REQUEST_PEERS]
REQUEST_SHM_RTT_SPINNING = ["latency", SHM, "--pattern", "request", "--wait", "spin", *REQUEST_PEERS]
REQUEST_1000 = ["throughput", "--pattern", "request", "--concurrent", "1000", "--against",
                "pair,zmq,nng"]
# Other surfaces, against netio's own call-backs.
SURFACE_C = ["surface", "--api", "c"]
SURFACE_C_SHM = ["surface", SHM, "--api", "c"]
SURFACE_COROUTINE = ["surface", "--api", "coroutine"]
SURFACE_COROUTINE_SHM = ["surface", SHM, "--api", "coroutine"]
# Spinning: one that sleeps at times finds the other end looking on, and at times does not.
SURFACE_COROUTINE_SHM_SPINNING = [*SURFACE_COROUTINE_SHM, "--wait", "spin"]
SURFACE_ASIO = ["surface", "--api", "asio"]
# netio in the python3 of the path (pip install ./python numpy pyzmq), against C++ and pyzmq.
SURFACE_PYTHON = ["surface", "--api", "python"]
SURFACE_PYTHON_1M = [*SURFACE_PYTHON, "--size", "1MiB", "--mode", "unbuffered"]
# A head of 64 bytes and a body of 64 KiB, as two segments, against one message of that size; and the
# CPU against who copies them together first.
SEGMENTS = ["--api", "segments", "--size", "65600", "--mode", "unbuffered"]
SEGMENTS_TCP, SEGMENTS_SHM = ["surface", *SEGMENTS], ["surface", SHM, *SEGMENTS]
# A sender, a relay and a receiver. Over two kinds of wire against a relay that sends memory of its
# own for each message that comes.
RELAY_64K = ["relay", "--size", "64KiB", "--mode", "unbuffered", "--against", "raw"]
RELAY_64 = ["relay", "--size", "64", "--against", "raw,zmq,zmq-2-threads"]
RELAY_OFI_64K = ["relay", "--to", OFI_TCP, "--size", "64KiB", "--mode", "unbuffered", "--against",
                 "own,direct"]
# Event building, four units and two builders, against plain streams between as many processes. A
# plain sender has up to 1 MiB for each of two receivers under way, so a unit holds as much. Of
# fragments of 1 MiB only the copies count.
BUILD_STORE = ["--store", "2MiB"]
BUILD_10K, BUILD_200 = (["build", "--size", size, *BUILD_STORE] for size in ("10KiB", "200"))
BUILD_SHM_10K, BUILD_SHM_200 = (
    ["build", SHM, "--size", size, *BUILD_STORE] for size in ("10KiB", "200"))
BUILD_1M, BUILD_SHM_1M = ["build", "--size", "1MiB"], ["build", SHM, "--size", "1MiB"]
# No payload is copied after it was received. The counter has what a builder says to its units, too,
# which is up to four short messages for a fragment.
BUILD_CONTROL_BYTES = 256
# Eight nodes, each in a network namespace, each with a connection to each other one.
MESH_BOTH_WAYS = ["mesh", "--nodes", "8", "--namespaces", "--both-ways", "--against", "raw"]
MESH_ONE_WAY = ["mesh", "--nodes", "8", "--namespaces", "--against", "raw"]
BEST_PEER = "best peer"  # of those in the command, but for the floor

# name, command, path into its JSON, bound (or a function of the JSON), whether more is better, unit
RATE = "messages_per_s"
BYTE_RATE = "bytes_per_s"
PUBLISHER_CPU = "publisher_cpu_ns_per_message"
# Those whose control says what two runs of one thing differ by; of loans the smallest size.
FLOORS = ("raw", "fabric", "smallest", "push", "1000x1", "10x1", "1000x7",
          "callbacks", "pair", "own", "plain")


class OfZeroMQ:
    """What a round trip may take of ZeroMQ's: 0.4 where that is above three times raw's, which
    leaves room to be won, else 0.8."""

    def __call__(self, said):
        p50 = {name: row["rtt_us"]["p50"]["median"] for name, row in said["systems"].items()}
        return 0.4 if p50["zmq"] > 3 * p50["raw"] else 0.8

    def __str__(self):
        return "0.4|0.8"


OF_ZEROMQ = OfZeroMQ()
NOISE_MAX = 0.15  # a miss on a machine where the control varies more says nothing
BARS = [
    ("tcp-64B-raw", THROUGHPUT_64, ("ratio", "raw", RATE), 0.8, True, "x raw"),
    ("tcp-64B-zmq", THROUGHPUT_64, ("ratio", "zmq", RATE), 9, True, "x zmq"),
    ("tcp-1KiB-raw", THROUGHPUT_1K, ("ratio", "raw", RATE), 0.85, True, "x raw"),
    ("tcp-1MiB-raw", THROUGHPUT_1M, ("ratio", "raw", RATE), 0.95, True, "x raw"),
    ("tcp-rtt-sleep-raw", ROUND_TRIP_SLEEPING, ("ratio", "raw", "rtt_us_p50"), 1.1, False, "x raw"),
    ("tcp-rtt-spin-raw", ROUND_TRIP_SPINNING, ("ratio", "raw", "rtt_us_p50"), 1.1, False, "x raw"),
    ("tcp-1000-connections-raw", CONNECTIONS, ("ratio", "raw", RATE), 0.7, True, "x raw"),
    ("tcp-1000-connections-sender-memory", CONNECTIONS,
     ("systems", "netio", "sender_resident_bytes_per_connection"), 65536, False, "bytes"),
    ("tcp-1000-connections-receiver-memory", CONNECTIONS,
     ("systems", "netio", "receiver_resident_bytes_per_connection"), 65536, False, "bytes"),
    ("tcp-idle", IDLE, ("core_percent_max",), 0.5, False, "% of a core"),
    ("ofi-tcp-64B-fabric", FABRIC_64, ("ratio", "fabric", RATE), 20, True, "x fabric"),
    ("ofi-tcp-4KiB-fabric", FABRIC_4K, ("ratio", "fabric", RATE), 0.95, True, "x fabric"),
    ("ofi-tcp-64KiB-fabric", FABRIC_64K, ("ratio", "fabric", BYTE_RATE), 0.98, True, "x fabric"),
    ("ofi-tcp-1MiB-fabric", FABRIC_1M, ("ratio", "fabric", BYTE_RATE), 0.98, True, "x fabric"),
    ("ofi-tcp-rtt-sleep-fabric", FABRIC_ROUND_TRIP_SLEEPING, ("ratio", "fabric", "rtt_us_p50"),
     1.05, False, "x fabric"),
    ("ofi-tcp-rtt-spin-fabric", FABRIC_ROUND_TRIP_SPINNING, ("ratio", "fabric", "rtt_us_p50"),
     1.05, False, "x fabric"),
    ("ofi-tcp-idle", FABRIC_IDLE, ("core_percent_max",), 0.5, False, "% of a core"),
    ("ring-64KiB-fabric", RING_64K, ("ratio", "fabric", BYTE_RATE), 0.95, True, "x fabric"),
    ("ring-1MiB-fabric", RING_1M, ("ratio", "fabric", BYTE_RATE), 0.95, True, "x fabric"),
    ("ring-rtt-sleep-fabric", RING_ROUND_TRIP_SLEEPING, ("ratio", "fabric", "rtt_us_p50"), 1.1,
     False, "x fabric"),
    ("ring-rtt-spin-fabric", RING_ROUND_TRIP_SPINNING, ("ratio", "fabric", "rtt_us_p50"), 1.1,
     False, "x fabric"),
    ("ring-rtt-64KiB-fabric", RING_ROUND_TRIP_64K, ("ratio", "fabric", "rtt_us_p50"), 1.1, False,
     "x fabric"),
    ("shm-64B-raw", SHM_64, ("ratio", "raw", RATE), 0.6, True, "x raw"),
    ("shm-64B-best-peer", SHM_64, ("ratio", BEST_PEER, RATE), 4, True, "x the best peer"),
    ("shm-64KiB-raw", SHM_64K, ("ratio", "raw", BYTE_RATE), 0.8, True, "x raw"),
    ("shm-rtt-spin-raw", SHM_ROUND_TRIP_SPINNING, ("ratio", "raw", "rtt_us_p50"), 1.4, False,
     "x raw"),
    ("shm-rtt-spin-peers", SHM_ROUND_TRIP_SPINNING, ("ratio", BEST_PEER, "rtt_us_p50"), 1, False,
     "x the best peer"),
    ("shm-rtt-sleep-raw", SHM_ROUND_TRIP_SLEEPING, ("ratio", "raw", "rtt_us_p50"), 1.15, False,
     "x raw"),
    ("shm-64-connections-raw", SHM_CONNECTIONS, ("ratio", "raw", RATE), 0.7, True, "x raw"),
    ("shm-64-connections-memory", SHM_CONNECTIONS,
     ("systems", "netio", "receiver_resident_bytes_per_connection"), 1 << 20, False, "bytes"),
    ("shm-loan-64MiB", SHM_LOAN, ("ratio", "smallest", "rtt_us_p50"), 1.2, False, "x 64 B"),
    ("shm-loan-64KiB-raw", SHM_LOAN_64K, ("ratio", "raw", BYTE_RATE), 0.8, True, "x raw"),
    ("shm-idle", SHM_IDLE, ("core_percent_max",), 0.5, False, "% of a core"),
    ("inproc-64B-zmq", INPROC_64, ("ratio", "zmq", RATE), 10, True, "x zmq"),
    ("fanout-tcp-push", FANOUT_TCP, ("ratio", "push", RATE), 0.8, True, "x push"),
    ("fanout-tcp-zmq", FANOUT_TCP, ("ratio", "zmq", RATE), 7, True, "x zmq"),
    ("fanout-shm-push", FANOUT_SHM, ("ratio", "push", RATE), 0.8, True, "x push"),
    ("fanout-unwanted", FANOUT_UNWANTED, ("ratio", "1000x1", PUBLISHER_CPU), 0.25, False,
     "x wanted by one"),
    ("fanout-unwanted-resolved", FANOUT_UNWANTED_RESOLVED, ("ratio", "1000x1", PUBLISHER_CPU), 0.1,
     False, "x wanted by one"),
    ("fanout-shm-8-subscribers", FANOUT_SHM_8, ("ratio", "1000x1", PUBLISHER_CPU), 1.5, False,
     "x one subscriber"),
    ("fanout-tcp-8-encodings", FANOUT_TCP_8,
     ("systems", "netio", "bodies_encoded_per_message", "max"), 1, False, "a message"),
    ("fanout-100-subscribers", FANOUT_100, ("ratio", "10x1", PUBLISHER_CPU), 1.5, False,
     "x 10 tags, 1 subscriber"),
    ("fanout-stopped-lost", FANOUT_STOPPED, ("systems", "netio", "missed", "max"), 0, False,
     "messages"),
    ("fanout-stopped-rate", FANOUT_STOPPED, ("ratio", "1000x7", "slowest_messages_per_s"), 0.99,
     True, "x without it"),
    ("request-tcp-rtt-sleep-pair", REQUEST_RTT_SLEEPING, ("ratio", "pair", "rtt_us_p50"), 1.1,
     False, "x pair"),
    ("request-tcp-rtt-sleep-zmq", REQUEST_RTT_SLEEPING, ("ratio", "zmq", "rtt_us_p50"), OF_ZEROMQ,
     False, "x zmq"),
    ("request-tcp-rtt-spin-pair", REQUEST_RTT_SPINNING, ("ratio", "pair", "rtt_us_p50"), 1.1, False,
     "x pair"),
    ("request-tcp-rtt-spin-zmq", REQUEST_RTT_SPINNING, ("ratio", "zmq", "rtt_us_p50"), OF_ZEROMQ,
     False, "x zmq"),
    ("request-shm-rtt-spin-pair", REQUEST_SHM_RTT_SPINNING, ("ratio", "pair", "rtt_us_p50"), 1.1,
     False, "x pair"),
    ("request-shm-rtt-spin-zmq", REQUEST_SHM_RTT_SPINNING, ("ratio", "zmq", "rtt_us_p50"), OF_ZEROMQ,
     False, "x zmq"),
    ("request-tcp-1000-zmq", REQUEST_1000, ("ratio", "zmq", RATE), 8, True, "x zmq"),
    ("relay-64KiB-raw", RELAY_64K, ("ratio", "raw", RATE), 0.9, True, "x raw"),
    ("relay-64KiB-copies", RELAY_64K,
     ("systems", "netio", "relay_bytes_copied_per_message", "max"), 0, False, "bytes a message"),
    ("relay-64B-zmq", RELAY_64, ("ratio", BEST_PEER, RATE), 10, True, "x the best zmq_proxy"),
    ("relay-ofi-tcp-64KiB-own", RELAY_OFI_64K, ("ratio", "own", RATE), 0.95, True,
     "x its own memory"),
    ("relay-ofi-tcp-64KiB-copies", RELAY_OFI_64K,
     ("systems", "netio", "relay_bytes_copied_per_message", "max"), 0, False, "bytes a message"),
    ("build-tcp-10KiB-plain", BUILD_10K, ("ratio", "plain", BYTE_RATE), 0.85, True, "x plain"),
    ("build-shm-10KiB-plain", BUILD_SHM_10K, ("ratio", "plain", BYTE_RATE), 0.85, True, "x plain"),
    ("build-tcp-200B-plain", BUILD_200, ("ratio", "plain", RATE), 0.6, True, "x plain"),
    ("build-shm-200B-plain", BUILD_SHM_200, ("ratio", "plain", RATE), 0.6, True, "x plain"),
    ("build-tcp-1MiB-copies", BUILD_1M,
     ("systems", "netio", "builder_bytes_copied_per_message", "max"), BUILD_CONTROL_BYTES, False,
     "bytes a message"),
    ("build-shm-1MiB-copies", BUILD_SHM_1M,
     ("systems", "netio", "builder_bytes_copied_per_message", "max"), BUILD_CONTROL_BYTES, False,
     "bytes a message"),
    ("mesh-both-ways-sum-raw", MESH_BOTH_WAYS, ("ratio", "raw", BYTE_RATE), 0.8, True, "x raw"),
    ("mesh-both-ways-variation-raw", MESH_BOTH_WAYS, ("ratio", "raw", "rate_variation"), 1.5, False,
     "x raw"),
    ("mesh-one-way-sum-raw", MESH_ONE_WAY, ("ratio", "raw", BYTE_RATE), 0.8, True, "x raw"),
    ("mesh-one-way-variation-raw", MESH_ONE_WAY, ("ratio", "raw", "rate_variation"), 1.5, False,
     "x raw"),
    ("segments-tcp", SEGMENTS_TCP, ("ratio", "callbacks", RATE), 0.97, True, "x one message"),
    ("segments-tcp-cpu", SEGMENTS_TCP, ("ratio", "gathered", "cpu_ns_per_message"), 1.0, False,
     "x gathering"),
    ("segments-shm", SEGMENTS_SHM, ("ratio", "callbacks", RATE), 0.97, True, "x one message"),
    ("segments-shm-cpu", SEGMENTS_SHM, ("ratio", "gathered", "cpu_ns_per_message"), 1.0, False,
     "x gathering"),
    ("surface-c", SURFACE_C, ("ratio", "callbacks", RATE), 0.95, True, "x C++"),
    ("surface-c-shm", SURFACE_C_SHM, ("ratio", "callbacks", RATE), 0.95, True, "x C++"),
    ("surface-coroutine", SURFACE_COROUTINE, ("ratio", "callbacks", RATE), 0.7, True,
     "x call-backs"),
    ("surface-coroutine-rtt", SURFACE_COROUTINE, ("ratio", "callbacks", "rtt_us_p50"), 1.1, False,
     "x call-backs"),
    ("surface-coroutine-shm", SURFACE_COROUTINE_SHM, ("ratio", "callbacks", RATE), 0.7, True,
     "x call-backs"),
    ("surface-coroutine-shm-rtt", SURFACE_COROUTINE_SHM_SPINNING,
     ("ratio", "callbacks", "rtt_us_p50"), 1.1, False, "x call-backs"),
    ("python-arrays", SURFACE_PYTHON, ("ratio", "callbacks", "batch_messages_per_s"), 0.5, True,
     "x call-backs"),
    ("python-arrays-zmq", SURFACE_PYTHON, ("ratio", "pyzmq", "batch_messages_per_s"), 15, True,
     "x pyzmq"),
    ("python-each-zmq", SURFACE_PYTHON, ("ratio", "pyzmq", RATE), 3, True, "x pyzmq.asyncio"),
    ("python-request-zmq", SURFACE_PYTHON, ("ratio", "pyzmq", "rtt_us_p50"), 0.5, False,
     "x pyzmq.asyncio"),
    ("python-arrays-1MiB", SURFACE_PYTHON_1M, ("ratio", "callbacks", "batch_messages_per_s"), 0.95,
     True, "x call-backs"),
    ("surface-asio-rtt", SURFACE_ASIO, ("ratio", "callbacks", "rtt_us_p50"), 1.25, False,
     "x our own loop"),
]


def named(said, path, more):
    """The path with the best peer by its name: the one that netio is least ahead of."""
    if BEST_PEER not in path:
        return path
    at = path.index(BEST_PEER)
    ratios = {name: row for name, row in dig(said, path[:at]).items() if name not in FLOORS}
    choose = min if more else max
    return (*path[:at], choose(ratios, key=lambda name: dig(ratios[name], path[at + 1:])),
            *path[at + 1:])


def shown_bound(bound):
    return str(bound) if callable(bound) else f"{bound:g}"


def dig(said, path):
    for key in path:
        said = said[key]
    return said


def run(netio, command, arguments):
    """The JSON of one `netio bench` command. Raises RuntimeError with the reason."""
    words = [netio, "bench", *command, "--seconds", str(arguments.seconds)]
    if command[0] != "idle":
        words += ["--rounds", str(arguments.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        print("$ netio", " ".join(words[1:]), flush=True)
        code = subprocess.run([*words, f"--json={path}"], check=False).returncode
        if code == 130:
            raise KeyboardInterrupt
        if code != 0:
            raise RuntimeError(f"netio bench ended with exit code {code}")
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
    if "skipped" in said:
        raise RuntimeError(said["skipped"])
    return said


def why_unmeasured(said, bar):
    """Empty if there is something to judge."""
    if isinstance(said, RuntimeError):
        return str(said)
    path = bar[2]
    absent = path[0] == "ratio" and path[1] != BEST_PEER and path[1] not in said.get("ratio", {})
    return said.get("not_compared", f"{path[1]} was not measured") if absent else ""


def judge(said, bar):
    """(measured, spread text, control text, verdict, by how much missed) of one bar."""
    name, _, path, bound, more, _ = bar
    del name
    path = named(said, path, more)
    measured = dig(said, path)
    spread = ""
    if path[0] == "ratio" and "ratio_spread" in said:
        row = dig(said, ("ratio_spread", *path[1:]))
        spread = f"{row['min']:.3f}..{row['max']:.3f}"
    slack, control = 0.0, ""
    controls = said.get("control", {})
    if controls:
        row = controls.get(path[-1], next(iter(controls.values())))
        slack = max(row["max"], 1 / row["min"]) - 1 if path[1] in FLOORS else 0.0
        control = f"{row['min']:.3f}..{row['max']:.3f}"
    if said.get("void"):
        return measured, spread, control, "VOID", said["void_why"]
    if callable(bound):
        bound = bound(said)
    missed = (bound - measured if more else measured - bound) / (bound or 1)
    if missed <= 0:
        return measured, spread, control, "met", ""
    if slack > NOISE_MAX:
        return measured, spread, control, "NOISY", f"missed by {missed * 100:.1f} %, control {slack:.2f}"
    verdict = "within control" if missed <= slack else "MISSED"
    return measured, spread, control, verdict, f"by {missed * 100:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("netio")
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    try:
        chosen = [bar for bar in BARS if re.search(arguments.filter, bar[0])]
    except re.error as error:
        parser.error(f"{arguments.filter}: {error}")
    if not chosen:
        parser.error(f"no bar matches {arguments.filter}; --list shows them")
    if arguments.list:
        for name, command, _, bound, more, unit in chosen:
            print(f"{name:38} {'>=' if more else '<='} {shown_bound(bound)} {unit:12} "
                  f"netio bench {' '.join(command)}")
        return 0
    results, rows, unmeasured = {}, [], 0
    for bar in chosen:
        key = tuple(bar[1])
        if key not in results:
            try:
                results[key] = run(arguments.netio, bar[1], arguments)
            except RuntimeError as error:
                results[key] = error
        why = why_unmeasured(results[key], bar)
        if why:
            unmeasured += 1
            rows.append((bar, None, "", "", "NOT MEASURED", why))
        else:
            rows.append((bar, *judge(results[key], bar)))
    print(f"\n{'bar':38} {'wanted':>14} {'measured':>10} {'spread':>16} {'control':>14}  verdict")
    for (name, _, _, bound, more, unit), measured, spread, control, verdict, remark in rows:
        wanted = f"{'>=' if more else '<='} {shown_bound(bound)}"
        shown = "-" if measured is None else f"{measured:.3f}" if measured < 1000 else f"{measured:.0f}"
        print(f"{name:38} {wanted:>14} {shown:>10} {spread:>16} {control:>14}  {verdict} {remark}"
              f"  ({unit})")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([{"bar": bar[0],
                        "bound": str(bar[3]) if callable(bar[3]) else bar[3], "more_is_better": bar[4],
                        "measured": measured, "verdict": verdict, "remark": remark}
                       for bar, measured, _, _, verdict, remark in rows], file, indent=2)
    if unmeasured or any(row[4] in ("VOID", "NOISY") for row in rows):
        return 3
    return 1 if any(row[4] == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

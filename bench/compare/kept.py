#!/usr/bin/env python3
"""Compares two builds of netio: how fast a receiver keeps the latest 100,000 messages of 64 bytes,
while another thread releases those that are displaced (bench/compare/kept.cpp).

Usage: kept.py NEW OLD [--wires tcp,shm,inproc] [--rounds N] [--messages M]
NEW and OLD are build folders of optimised builds, each with its sources in the folder it was
configured from. The builds are measured in turn. Prints the medians, with the least and the most, and
the allocations for each message.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def cached(build, name):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(rf"^{name}:[A-Z]+=(.*)$", cache.read(), re.MULTILINE).group(1)


def compiled(build, folder, name):
    program = os.path.join(folder, name)
    subprocess.run([cached(build, "CMAKE_CXX_COMPILER"), "-std=c++20", "-O3", "-DNDEBUG",
                    "-I", os.path.join(cached(build, "CMAKE_HOME_DIRECTORY"), "include"),
                    os.path.join(HERE, "kept.cpp"), os.path.join(build, "libnetio.a"),
                    "-ldl", "-pthread", "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("builds", nargs=2)
    parser.add_argument("--wires", default="tcp,shm,inproc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=5_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = [compiled(build, folder, name)
                    for build, name in zip(given.builds, ("new", "old"))]
        for wire in given.wires.split(","):
            rates, allocations = ([], []), [0.0, 0.0]
            for i in range(given.rounds):
                for which in ((0, 1) if i % 2 == 0 else (1, 0)):
                    said = subprocess.run([programs[which], wire, str(given.messages)], check=True,
                                          capture_output=True, text=True).stdout.split()
                    rates[which].append(float(said[0]) / 1e6)
                    allocations[which] = max(allocations[which], float(said[1]))
            new, old = (statistics.median(rate) for rate in rates)
            print(f"{wire:8}", *(f"{name} {statistics.median(rate):6.2f} M/s "
                                 f"({min(rate):.2f} to {max(rate):.2f}), {allocated:.6f} allocations;"
                                 for name, rate, allocated in zip(("new", "old"), rates, allocations)),
                  f"{new / old:.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())

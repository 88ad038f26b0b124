#!/usr/bin/env python3
"""Compares two builds of netio on this machine: is one slower, and where.

Usage: compare.py NEW OLD [FILTER] [--rounds N] [--seconds S] [--only times|instructions]
                  [--json FILE] [--list]
NEW and OLD are build folders of optimised builds (cmake --preset release). Two tables:

Times: each measurement that a performance bar rests on, of one build and then of the other, N pairs,
the first of a pair in turn. Of the N ratios the median counts, with the interval that holds the true
median with 95 % (between two of the sorted ratios, as signs of a fair coin fall: nothing is assumed of
their distribution). A row fails if the whole interval is more than 2 % worse, twice: a row that
fails is measured again, as one in forty would fail by chance.

Instructions: of one message on each hot path, or of one request and its answer, counted by callgrind
while both builds run the same program (bench/compare/paths.cpp). A row fails above 1.02. What else the
machine does plays no part.

A row that one of the builds has no means for, because it is older, is left out, and the table says so.

FILTER: a regular expression on the names that --list prints.
Exit status: 0 no row fails, 1 some fail, 2 usage, 3 something could not be measured, 130 Ctrl-C.
"""
import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import bars  # noqa: E402

WORSE_MAX = 1.02
CONFIDENCE = 0.95
HOT_PATHS = {"tcp-send": 100_000, "tcp-receive": 100_000, "shm-send": 100_000,
             "shm-receive": 100_000, "tcp-unbuffered": 20_000, "publish-1": 100_000,
             "publish-8": 40_000, "c-send": 100_000, "tcp-request": 50_000,
             "tcp-request-within": 50_000, "shm-request": 50_000}


class NotMeasured(Exception):
    """With the reason."""


class LeftOut(Exception):
    """With the reason: what is to be measured is newer than one of the builds."""


def check_has_requests(builds):
    for build in builds:
        if not os.path.exists(os.path.join(source_of(build), "include/netio/request.hpp")):
            raise LeftOut(f"{build} has no Request and no Reply")


def check_has_patterns(builds):
    for build in builds:
        said = subprocess.run([os.path.join(build, "netio"), "bench", "latency", "--help"],
                              stdout=subprocess.PIPE, text=True, check=False).stdout
        if "--pattern" not in said:
            raise LeftOut(f"netio bench of {build} has no --pattern")


def time_rows():
    """name -> (command without peers, metric, whether more is better); one for all bars on it."""
    rows = {}
    for name, command, path, _, more, _ in bars.BARS:
        if path[0] != "ratio":
            continue
        command = list(command)
        if "--against" in command:
            at = command.index("--against")
            command[at:at + 2] = ["--against", "none"]
        if (command, path[-1], more) not in rows.values():
            rows[re.sub("-(raw|fabric|push|zmq|pair)$", "", name)] = (command, path[-1], more)
    return rows


def metric_of(said, metric):
    """What netio itself reached, of the JSON of `netio bench`."""
    if "systems" in said:
        row = next(row for name, row in said["systems"].items() if name not in bars.FLOORS)
    else:
        row = said["sizes"][-1]
    value = row[metric] if metric in row else row["rtt_us"]["p50"]
    return value["median"] if isinstance(value, dict) else value


def measure(build, command, metric, seconds):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        words = [os.path.join(build, "netio"), "bench", *command, "--rounds", "1", "--seconds",
                 str(seconds), f"--json={path}"]
        if "--against" in command:
            words.append("--no-check")
        ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        if ran.returncode == 130:
            raise KeyboardInterrupt
        if ran.returncode != 0:
            last = ran.stdout.strip().splitlines() or [f"exit code {ran.returncode}"]
            raise NotMeasured(f"{' '.join(words[:-1])}: {last[-1].strip()}")
        with open(path, encoding="utf-8") as file:
            value = metric_of(json.load(file), metric)
        if not value > 0:
            raise NotMeasured(f"{' '.join(words[:-1])}: measured {value}")
        return value


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval_of_median(values):
    """The narrowest pair of order statistics that holds the median with CONFIDENCE."""
    ordered, n = sorted(values), len(values)
    below, outside = 0, 0.0
    while below < n // 2:
        outside += 2 * math.comb(n, below) / 2**n
        if outside > 1 - CONFIDENCE:
            break
        below += 1
    if below == 0:
        return -math.inf, math.inf
    return ordered[below - 1], ordered[n - below]


def judge_times(ratios, more):
    """(median, low, high, whether it fails) of new over old."""
    low, high = interval_of_median(ratios)
    worse = high < 1 / WORSE_MAX if more else low > WORSE_MAX
    return median(ratios), low, high, worse


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure_pairs(new, old, name, row, arguments):
    command, metric, _ = row
    pairs = []
    for pair in range(arguments.rounds):
        progress(f"{name}: pair {pair + 1} of {arguments.rounds}")
        turns = [("new", new), ("old", old)]
        values = {which: measure(build, command, metric, arguments.seconds)
                  for which, build in (turns if pair % 2 == 0 else reversed(turns))}
        pairs.append((values["new"], values["old"]))
    return pairs


def not_there(name, error):
    verdict = "LEFT OUT" if isinstance(error, LeftOut) else "NOT MEASURED"
    return {"name": name, "verdict": verdict, "remark": str(error)}


def compare_times(new, old, rows, arguments):
    for name, row in rows.items():
        _, metric, more = row
        looks = 0
        try:
            if "--pattern" in row[0]:
                check_has_patterns((new, old))
            worse = True
            while worse and looks < 2:
                looks += 1
                pairs = measure_pairs(new, old, name, row, arguments)
                ratio, low, high, worse = judge_times([one / other for one, other in pairs], more)
        except (NotMeasured, LeftOut) as error:
            yield not_there(name, error)
            continue
        yield {"name": name, "metric": metric, "more_is_better": more, "looks": looks,
               "new": median([one for one, _ in pairs]), "old": median([one for _, one in pairs]),
               "ratio": ratio, "low": low, "high": high, "verdict": "SLOWER" if worse else "ok"}


def source_of(build):
    """The folder that a build was configured from."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("CMAKE_HOME_DIRECTORY:"):
                return line.partition("=")[2].strip()
    raise NotMeasured(f"{build}/CMakeCache.txt does not say where its source is")


def newer_header(build):
    """A public header that was changed after the library was built, or None."""
    built = os.path.getmtime(os.path.join(build, "libnetio.a"))
    for folder, _, names in os.walk(os.path.join(source_of(build), "include")):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.getmtime(path) > built:
                return path
    return None


def compile_paths(build, folder, name):
    program = os.path.join(folder, name)
    changed = newer_header(build)
    if changed:
        raise NotMeasured(f"{changed} was changed after {build} was built: build it again, or give "
                          "the build of a worktree that stays as it is")
    words = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-DNDEBUG",
             "-I" + os.path.join(source_of(build), "include"), os.path.join(HERE, "paths.cpp"),
             os.path.join(build, "libnetio.a"), "-ldl", "-pthread", "-o", program]
    ran = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        first = next((line for line in ran.stderr.splitlines() if "error" in line), ran.stderr)
        raise NotMeasured(f"paths.cpp does not compile against {build}: {first.strip()}")
    return program


def instructions(program, path):
    messages = HOT_PATHS[path]
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--collect-atstart=no", "--toggle-collect=*counted*", program, path, str(messages)]
    ran = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or not found or int(found[1]) == 0:
        last = ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"]
        raise NotMeasured(f"{path} under callgrind: {last[-1]}")
    return int(found[1]) / messages


def compare_instructions(new, old, paths):
    with tempfile.TemporaryDirectory() as folder:
        try:
            if not shutil.which("valgrind"):
                raise NotMeasured("valgrind is not installed (apt install valgrind)")
            programs = compile_paths(new, folder, "new"), compile_paths(old, folder, "old")
        except NotMeasured as error:
            yield {"name": "instructions", "verdict": "NOT MEASURED", "remark": str(error)}
            return
        for path in paths:
            progress(f"instructions: {path}")
            try:
                if "request" in path:
                    check_has_requests((new, old))
                counts = [instructions(program, path) for program in programs]
            except (NotMeasured, LeftOut) as error:
                yield not_there(path, error)
                continue
            ratio = counts[0] / counts[1]
            yield {"name": path, "new": counts[0], "old": counts[1], "ratio": ratio,
                   "verdict": "MORE" if ratio > WORSE_MAX else "ok"}


def short(value):
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.4g}"


def show(row):
    progress("")
    if "ratio" not in row:
        print(f"{row['name']:30} {row['verdict']}: {row['remark']}", flush=True)
        return
    spread = f"{row['low']:.3f} .. {row['high']:.3f}" if "low" in row else ""
    what = "" if "metric" not in row else \
        f"  ({row['metric']}, {'more' if row['more_is_better'] else 'less'} is better)"
    print(f"{row['name']:30} {short(row['new']):>9} {short(row['old']):>9} {row['ratio']:8.3f} "
          f"{spread:>18}  {row['verdict']}{what}", flush=True)


def check_build(parser, build):
    for program in ("netio", "bench/bench-netio", "libnetio.a"):
        if not os.path.exists(os.path.join(build, program)):
            parser.error(f"{build} has no {program}: give the folder of an optimised build, made by\n"
                         "  cmake --preset release && cmake --build --preset release")
    return os.path.abspath(build)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("filter", nargs="?", default="", metavar="FILTER")
    parser.add_argument("--rounds", type=int, default=30, help="pairs of each row (30; at least 6)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of one measurement (0.3)")
    parser.add_argument("--only", choices=("times", "instructions"))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.rounds < 6:
        parser.error("--rounds: fewer than 6 pairs have no interval of 95 %")
    try:
        rows = {name: row for name, row in time_rows().items()
                if arguments.only != "instructions" and re.search(arguments.filter, name)}
        paths = [path for path in HOT_PATHS
                 if arguments.only != "times" and re.search(arguments.filter, path)]
    except re.error as error:
        parser.error(f"{arguments.filter}: {error}")
    if not rows and not paths:
        parser.error(f"nothing matches {arguments.filter}; --list shows what there is")
    if arguments.list:
        for name, (command, metric, _) in rows.items():
            print(f"{name:30} {metric:30} netio bench {' '.join(command)}")
        for path in paths:
            print(f"{path:30} instructions of a message, {HOT_PATHS[path]} messages")
        return 0
    new, old = check_build(parser, arguments.new), check_build(parser, arguments.old)
    done = []
    if paths:
        print(f"Instructions of one message of 64 bytes (a ratio above {WORSE_MAX} fails)\n"
              f"{'path':30} {'new':>9} {'old':>9} {'new/old':>8}", flush=True)
        for row in compare_instructions(new, old, paths):
            done.append({"kind": "instructions", **row})
            show(row)
    if rows:
        print(f"\nTimes, {arguments.rounds} pairs of {arguments.seconds:g} s (fails if the interval "
              f"is wholly worse than {WORSE_MAX})\n"
              f"{'measurement':30} {'new':>9} {'old':>9} {'new/old':>8} "
              f"{'95 % of the median':>18}", flush=True)
        for row in compare_times(new, old, rows, arguments):
            done.append({"kind": "times", **row})
            show(row)
    failed = [row["name"] for row in done if row["verdict"] in ("SLOWER", "MORE")]
    unmeasured = [row["name"] for row in done if row["verdict"] == "NOT MEASURED"]
    left_out = sum(row["verdict"] == "LEFT OUT" for row in done)
    print(f"\n{len(done)} rows, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}, "
          f"{len(unmeasured)} not measured{f', {left_out} left out' if left_out else ''}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"new": new, "old": old, "rounds": arguments.rounds,
                       "seconds": arguments.seconds, "rows": done}, file, indent=2)
    return 3 if unmeasured else 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print(file=sys.stderr)
        sys.exit(130)

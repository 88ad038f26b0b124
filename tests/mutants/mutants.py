#!/usr/bin/env python3
"""Do the tests see? Each patch beside this file is one fault: a check left out, a bound off by one, a
wake-up forgotten. Each is built in a copy of the sources and given to the unit, conformance, hostile, C
and simulation tests, which have to fail. script/mutants runs this; CI does not, as it takes an hour or two.

A patch begins with a sentence on what the fault does. Lines may follow it:
  Tests: REGEX       suites that are likely to see it, run first (ctest -R)
  Cannot matter: ... why no test can see it
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
# One row of each transport and mode: a fault that only one of the others shows is theirs to find.
rows = r"^((tcp_ipv4|ofi_tcp|shm)(_buffered_64k|_unbuffered_4k)?|inproc|netio)$"
labels = "^(unit|conformance|hostile|c_api|simulation)$"
test_seconds_max = 120
configure = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCMAKE_C_FLAGS_DEBUG=-O0",
             "-DNETIO_BENCH=OFF", "-DNETIO_EXAMPLES=OFF", "-DNETIO_INSTALL=OFF", "-DNETIO_TOOLS=OFF"]


class Mutant:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        head = path.read_text().split("\n--- ", 1)[0].strip().splitlines()
        self.says = " ".join(line for line in head if not re.match("(Tests|Cannot matter):", line)).strip()
        self.tests = next((line[6:].strip() for line in head if line.startswith("Tests:")), "")
        self.excuse = next((line[14:].strip() for line in head if line.startswith("Cannot matter:")), "")


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, cwd, env=None):
    return subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)


def sync(tree):
    """The sources as they are in this checkout; what is the same keeps its time, and is not built again."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, check=True,
                            stdout=subprocess.PIPE).stdout.decode().split("\0")
    files = {name for name in listed if name and (root / name).is_file()}
    for path in [p for p in tree.rglob("*") if p.is_file() and "build" != p.relative_to(tree).parts[0]]:
        if str(path.relative_to(tree)) not in files:
            path.unlink()
    for name in files:
        source, target = root / name, tree / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def build(tree, jobs):
    return run(["ninja", "-C", "build", f"-j{jobs}"], tree)


def ctest(tree, jobs, select):
    env = dict(os.environ, NETIO_TEST_ROWS=rows, GTEST_FAIL_FAST="1")
    return run(["ctest", "--test-dir", "build", "-L", labels, f"-j{jobs}", "--timeout", str(test_seconds_max),
                "--stop-on-failure", *select], tree, env)


def failures(output):
    return re.findall(r"^\s*\d+ - (\S+) \(", output, re.MULTILINE)


def seen_by(tree, jobs, tests):
    """The test that fails with the fault, twice: a machine that is busy is no judge. None if none does."""
    stages = ([["-R", tests]] if tests else []) + [["-L", "unit"], []]
    for select in stages:
        for test in failures(ctest(tree, jobs, select).stdout):
            if failures(ctest(tree, 1, ["-R", f"^{re.escape(test)}$"]).stdout):
                return test
    return None


def patch(tree, mutant, *options):
    return run(["patch", "-p1", "-s", "-F0", *options, "-i", str(mutant.path)], tree).returncode == 0


def judge(tree, jobs, mutant):
    if not patch(tree, mutant, "--dry-run"):
        return "does not apply", None
    patch(tree, mutant)
    try:
        if build(tree, jobs).returncode != 0:
            return "does not build", None
        test = seen_by(tree, jobs, mutant.tests)
    finally:
        patch(tree, mutant, "-R")
    if test is not None:
        return "seen", test
    return ("cannot matter" if mutant.excuse else "survives"), None


def parse():
    parser = argparse.ArgumentParser(prog="script/mutants", description="Builds the library with one fault at a time "
                                     "and looks whether a test fails. Some two minutes for each fault.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to try (all; --list names them)")
    parser.add_argument("--list", action="store_true", help="name the faults, and what each does")
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--jobs", type=int, default=max(2, 2 * (os.cpu_count() or 1)), metavar="N",
                        help="tests at a time (%(default)s)")
    parser.add_argument("--untested", action="store_true", help="do not test first whether all is well without a fault")
    arguments = parser.parse_args()
    mutants = [Mutant(path) for path in sorted(here.glob("*.patch"))]
    unknown = set(arguments.names) - {mutant.name for mutant in mutants}
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))} (script/mutants --list)")
    return arguments, [m for m in mutants if not arguments.names or m.name in arguments.names]


def main():
    arguments, mutants = parse()
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.name:34} {mutant.says}")
        return 0
    tree = root / "build" / "mutants"
    tree.mkdir(parents=True, exist_ok=True)
    sync(tree)
    say(f"Building without a fault, in {tree.relative_to(root)} ...")
    if not (tree / "build" / "build.ninja").is_file():
        made = run(["cmake", "-S", ".", "-B", "build", *configure], tree)
        if made.returncode != 0:
            sys.exit(made.stdout + "script/mutants: cmake failed")
    built = build(tree, os.cpu_count() or 1)
    if built.returncode != 0:
        sys.exit(built.stdout[-4000:] + "script/mutants: the build failed without a fault")
    failed = []
    if not arguments.untested:
        say("Testing without a fault ...")
        failed = failures(ctest(tree, arguments.jobs, []).stdout)
    if failed:
        sys.exit(f"script/mutants: {', '.join(failed)} fails without a fault: mend that first")
    results = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for number, mutant in enumerate(mutants, 1):
            begin = time.monotonic()
            verdict, test = judge(tree, arguments.jobs, mutant)
            seconds = time.monotonic() - begin
            results.append({"name": mutant.name, "verdict": verdict, "test": test, "seconds": round(seconds, 1)})
            print(f"{number:3}/{len(mutants)} {mutant.name:34} {verdict:14} {seconds:5.0f} s  "
                  f"{test or mutant.excuse or (mutant.says if verdict == 'survives' else '')}", flush=True)
    except KeyboardInterrupt:
        say("script/mutants: interrupted; what was tried so far:")
    finally:
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    verdicts = [result["verdict"] for result in results]
    bad = [v for v in verdicts if v not in ("seen", "cannot matter")]
    print(", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)) or "nothing was tried")
    if len(results) < len(mutants):
        return 130
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

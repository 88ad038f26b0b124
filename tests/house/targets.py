#!/usr/bin/env python3
"""Prints the programs that hold the tests of ctest whose names match a regular expression, as they are
called in the build. Nothing if other tests than those of these programs may match as well.

Usage: targets.py REGEX
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEST = re.compile(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", re.M)
USING = re.compile(r"^using (\w+) = \w+;", re.M)  # names that suites are given again
# A folder's files, the prefix of its tests in ctest, and its program.
PROGRAMS = (
    ("src", "**/*_test.cpp", "unit", "unit_tests"),
    ("bench/worker", "*_test.cpp", "unit", "unit_tests"),
    ("tests/conformance", "*.cpp", "conformance", "conformance_tests"),
    ("tests/hostile", "*.cpp", "conformance", "conformance_tests"),
    ("tests/failing_allocator", "*.cpp", "hostile", "failing_allocator_test"),
    ("tests/cuts", "*.cpp", "cuts", "cuts_test"),
    ("tests/integration", "*.cpp", "integration", "integration_tests"),
)

# Tests of ctest that are not GoogleTest's, and suites that are in a program of another kind.
OTHERS = ("processes.shm_kill", "processes.siege.http", "processes.build_faults", "simulation.schedules",
          "simulation.self_test", "simulation.building", "simulation.simulate_building_usage", "package.outside",
          "any_wire.table", "patterns.table", "c_api.abi", "house.structure", "fuzz.hello", "integration.BenchCompare")
ELSEWHERE = re.compile(r"src/build/(event_spans|manage[a-z_]*)_test\.cpp$")


def names_in(text, prefix):
    """What ctest may call the tests of a file; where they have parameters, words stand around that."""
    for suite, test in TEST.findall(text):
        for before in ("", "x/"):
            yield f"{prefix}.{before}{suite}"
            yield f"{prefix}.{before}{suite}.{test}"
    for suite in USING.findall(text):
        yield f"{prefix}.x/{suite}"


def main():
    pattern = re.compile(re.sub(r"\w+/", "x/", sys.argv[1]))
    found = []
    if any(pattern.search(name) for name in OTHERS):
        return
    for folder, files, prefix, program in PROGRAMS:
        paths = [path for path in sorted((ROOT / folder).glob(files)) if not ELSEWHERE.search(str(path))]
        if any(pattern.search(name) for path in paths
               for name in names_in(path.read_text(encoding="utf-8", errors="replace"), prefix)):
            found.append(program)
    for path in sorted((ROOT / "tests/c_api").glob("*.c*")):
        if pattern.search(f"c_api.{path.stem}"):
            found.append(f"c_api_{path.stem}")
    print(" ".join(dict.fromkeys(found)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The table of docs/patterns.md: each pattern on each wire, and the conformance test that shows it.

    patterns.py CONFORMANCE_TESTS            compares the page with the names that the program lists
    patterns.py CONFORMANCE_TESTS --write    writes the table into the page

A test that is missing is an error. A build without libfabric has no tests over fabrics: then their
two columns are only looked at for what the page says in them.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/patterns.md"
BEGIN, END = "<!-- made by tests/house/patterns.py -->\n", "<!-- end -->\n"

# The pattern, and what its test looks at.
PATTERNS = {
    "PAIR": "PairSocket.carries_both_directions_at_once",
    "PUSH/PULL": "Delivery.messages_arrive_in_order_and_unchanged",
    "REQ/REP": "RequestReply.answers_a_request",
    "PUB/SUB": "PublishSocket.sends_each_subscriber_what_it_asked_for",
}
# The wire, and the row of the conformance suite that shows it.
WIRES = {
    "tcp": "tcp_ipv4_buffered_64k",
    "shm": "shm_buffered_64k",
    "inproc": "inproc",
    "verbs": "verbs_unbuffered_4k",
    "ofi+tcp": "ofi_tcp_buffered_64k",
}
FABRICS = ("verbs", "ofi+tcp")


def listed(program):
    """Every test as "on/Suite.test/row". The rows of verbs are listed where no device is, too."""
    environment = {**os.environ, "NETIO_TEST_VERBS": "10.77.0.1"}
    environment.pop("NETIO_TEST_ROWS", None)  # which leaves rows out
    text = subprocess.run([program, "--gtest_list_tests"], env=environment, text=True, check=True,
                          capture_output=True).stdout
    names, suite = set(), ""
    for line in text.splitlines():
        if line.startswith("  "):
            names.add(suite + line.split()[0])
        elif line.endswith(".") or ".  #" in line:
            suite = line.split()[0]
    return names


def name_of(pattern, wire):
    return f"on/{PATTERNS[pattern]}/{WIRES[wire]}"


def table():
    rows = ["| | " + " | ".join(f"`{wire}`" for wire in WIRES) + " |\n",
            "| --- |" + " --- |" * len(WIRES) + "\n"]
    for pattern in PATTERNS:
        cells = " | ".join(f"`{name_of(pattern, wire)}`" for wire in WIRES)
        rows.append(f"| {pattern} | {cells} |\n")
    return "".join(rows)


def main():
    program, options = sys.argv[1], sys.argv[2:]
    names = listed(program)
    failures = 0
    fabrics = any(re.search(r"/ofi_tcp", name) for name in names)
    if not fabrics:
        print("no tests over fabrics: this build has no libfabric (libfabric-dev), so the tests of",
              ", ".join(FABRICS), "are not looked for")
    looked_for = 0
    for pattern in PATTERNS:
        for wire in WIRES:
            if wire in FABRICS and not fabrics:
                continue
            looked_for += 1
            if name_of(pattern, wire) not in names:
                failures += 1
                print(f"FAILED: there is no test {name_of(pattern, wire)} ({pattern} on {wire})")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    if old != table():
        if "--write" in options:
            PAGE.write_text(before + BEGIN + table() + END + after, encoding="utf-8")
        else:
            failures += 1
            print("FAILED: the table of docs/patterns.md is another one; this writes it anew:\n"
                  f"    tests/house/patterns.py {program} --write")
    print(f"{looked_for} tests were looked for, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

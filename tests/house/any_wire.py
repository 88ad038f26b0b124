#!/usr/bin/env python3
"""The tables of docs/any-wire.md: what a stage copies between each two wires.

    any_wire.py NETIO            runs `netio bench copies` and compares the page with its counts
    any_wire.py NETIO --write    writes the tables into the page

The page has rows for the wires of any machine that has libfabric. Rows of wires that are absent here
are left out of the comparison, with the reason. So are rows of verbs, which the page does not have.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/any-wire.md"
BEGIN, END = "<!-- made by tests/house/any_wire.py -->\n", "<!-- end -->\n"
NOT_ON_THE_PAGE = {"verbs"}


def wires_of(line):
    """The two wires of a row; nothing for a head."""
    match = re.match(r"\| (\S+) to (\S+) \|", line)
    return set(match.groups()) if match else set()


def without(lines, wires):
    return [line for line in lines if not wires_of(line) & wires]


def main():
    program, options = sys.argv[1], sys.argv[2:]
    run = subprocess.run([program, "bench", "copies", "--markdown", "--json=/dev/stderr"], text=True,
                         capture_output=True)
    if run.returncode != 0:
        print(f"FAILED: netio bench copies ended with {run.returncode}:\n{run.stderr}")
        return 1
    absent = json.loads(run.stderr)["absent"]
    made = without(run.stdout.splitlines(), NOT_ON_THE_PAGE)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    old, after = rest.split(END)
    left_out = NOT_ON_THE_PAGE | set(absent)
    for wire, reason in absent.items():
        if wire not in NOT_ON_THE_PAGE:
            print(f"the rows of {wire} are left out: {reason}")
    there = without(old.splitlines(), left_out)
    if made == there:
        print(f"{sum(1 for line in made if wires_of(line))} rows are as the page has them")
        return 0
    if "--write" in options:
        if set(absent) - NOT_ON_THE_PAGE:
            print("FAILED: not written, because rows of the page would be lost")
            return 1
        text = "".join(f"{line}\n" for line in made)
        PAGE.write_text(before + BEGIN + text + END + after, encoding="utf-8")
        return 0
    print("FAILED: the tables of docs/any-wire.md are others. -: the page, +: counted here")
    print("".join(f"- {line}\n" for line in there if line not in made) +
          "".join(f"+ {line}\n" for line in made if line not in there), end="")
    print(f"This writes them anew:\n    tests/house/any_wire.py {program} --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())

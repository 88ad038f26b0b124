#!/usr/bin/env python3
"""Passes on what ctest prints, without the lines about tests that pass, are skipped or begin; says
every ten seconds how far the tests are.

Usage: ctest_lines.py NAME <output of ctest; NAME stands in front of what is said
"""
import re
import sys
import time

QUIET = re.compile(
    r"^ *Start +\d+: | *(Passed|\*\*\*Skipped|\*\*\*Not Run \(Disabled\)) +[0-9.]+ sec$"
    r"|^\s+\d+ - .*\((Skipped|Disabled)\)$|^\[ (RUN  |      OK|-----)|^The following tests did not run:$")
ENDED = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: ")
EVERY_SECONDS = 10


def main():
    name = sys.argv[1]
    begin = told = time.monotonic()
    failed = 0
    for line in sys.stdin:
        line = line.rstrip("\n")
        ended = ENDED.match(line)
        if not QUIET.search(line):
            print(line, flush=True)
            failed += ended is not None
        now = time.monotonic()
        if ended and now - told >= EVERY_SECONDS:
            told = now
            minutes, seconds = divmod(int(now - begin), 60)
            print(f"{name}: {ended.group(1)} of {ended.group(2)} tests, {failed} failed, "
                  f"{minutes}:{seconds:02d}", flush=True)


if __name__ == "__main__":
    main()

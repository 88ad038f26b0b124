#!/usr/bin/env python3
"""Reads what ctest wrote with --output-junit, where a test of ctest is one of GoogleTest or a whole
suite. First line: passed, failed and skipped as three numbers, of GoogleTest's tests where there are
such; then one line per failed test, followed by the end of what it printed, indented; then one line
per reason for skipping tests.

Usage: ctest_report.py FILE
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

# "[       OK ] Suite.name (3 ms)"; the list at the end of a run has the same without a time.
RESULT = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),?(?: where .*)? \(\d+ ms\)$", re.M)
WORDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def last_words(output):
    """The last lines that a failed test printed, each indented and behind a line's end."""
    lines = [line.rstrip()[:300] for line in output.splitlines() if line.strip()]
    return "".join(f"\n    {line}" for line in lines[-24:])


def results(case):
    """[(result, test, reason), ...] of one test of ctest, at least one."""
    name, output = case.get("name"), case.findtext("system-out", "")
    prefix = name.split(".")[0]
    found = []
    begin = 0
    for match in RESULT.finditer(output):
        said = re.search(r": Skipped\n(.*?)\n*$", output[begin:match.start()], re.S)
        reason = " ".join(said.group(1).split()) if said else "no reason given"
        if match.group(1) == "FAILED":
            reason = last_words(output[begin:match.start()])
        found.append((WORDS[match.group(1)], f"{prefix}.{match.group(2)}", reason))
        begin = match.end()
    if case.get("status") == "disabled":
        return [("skipped", name, "disabled in the source")]
    # What ended before its last test, or could not be started ("notrun", as what was skipped is).
    if not found or case.find("failure") is not None and all(r != "failed" for r, _, _ in found):
        plain = case.get("status") == "run" and case.find("failure") is None
        last = re.findall(r"^\[ RUN +\] (\S+)$", output, re.M)
        found.append(("passed" if plain else "failed", last[-1] if last else name,
                      "" if plain else " did not come to its end" + last_words(output[begin:])))
    return found


def main():
    count = {"passed": 0, "failed": 0, "skipped": 0}
    failed, skipped = [], {}
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        for result, name, reason in results(case):
            count[result] += 1
            if result == "failed":
                failed.append(f"failed: {name}:{reason}")
            elif result == "skipped":
                skipped.setdefault(reason, []).append(name)
    print(count["passed"], count["failed"], count["skipped"])
    print("\n".join(failed))
    for reason, names in skipped.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"skipped: {names[0]}{more}: {reason}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads what ctest wrote with --output-junit, where a test of ctest is one of GoogleTest or a whole
suite: a file of all tests, then files of those that had failed and ran again. The last run of a test
counts. A test that failed and passed when it ran again is unsteady.

First line: passed, failed, skipped and unsteady as four numbers, of GoogleTest's tests where there
are such. Then one line per failed and per unsteady test, each followed by the end of what the test
printed, indented: a failed one in its last run, an unsteady one when it failed first. Then one line
per reason for skipping tests.

Usage: ctest_report.py [--keep FOLDER] FILE [FILE AGAIN ...]
  --keep FOLDER  put what unsteady tests of ctest printed when they failed into files there
"""
import argparse
import pathlib
import re
import xml.etree.ElementTree as ElementTree

# "[       OK ] Suite.name (3 ms)"; the list at the end of a run has the same without a time.
RESULT = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),?(?: where .*)? \(\d+ ms\)$", re.M)
WORDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def last_words(output):
    """The last lines that a failed test printed, each indented and behind a line's end."""
    lines = [line.rstrip()[:300] for line in output.splitlines() if line.strip()]
    return "".join(f"\n    {line}" for line in lines[-24:])


def results(case):
    """{test: (result, reason), ...} of one test of ctest, at least one."""
    name, output = case.get("name"), case.findtext("system-out", "")
    prefix = name.split(".")[0]
    found = {}
    begin = 0
    for match in RESULT.finditer(output):
        said = re.search(r": Skipped\n(.*?)\n*$", output[begin:match.start()], re.S)
        reason = " ".join(said.group(1).split()) if said else "no reason given"
        if match.group(1) == "FAILED":
            reason = last_words(output[begin:match.start()])
        found[f"{prefix}.{match.group(2)}"] = (WORDS[match.group(1)], reason)
        begin = match.end()
    if case.get("status") == "disabled":
        return {name: ("skipped", "disabled in the source")}
    # What ended before its last test, or could not be started ("notrun", as what was skipped is).
    failure = case.find("failure") is not None
    if not found or failure and all(result != "failed" for result, _ in found.values()):
        plain = case.get("status") == "run" and not failure
        begun = re.findall(r"^\[ RUN +\] (\S+)$", output, re.M)
        test = f"{prefix}.{begun[-1]}" if begun else name
        found[test] = ("passed", "") if plain else (
            "failed", " did not come to its end" + last_words(output[begin:]))
    return found


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    runs = {}  # of each test of ctest, in their order
    for file in options.files:
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            runs.setdefault(case.get("name"), []).append(case)

    count = {"passed": 0, "failed": 0, "skipped": 0}
    failed, unsteady, skipped = [], [], {}
    for name, cases in runs.items():
        tried = [results(case) for case in cases]
        for test, (result, reason) in tried[-1].items():
            count[result] += 1
            if result == "failed":
                failed.append(f"failed: {test}:{reason}")
            elif result == "skipped":
                skipped.setdefault(reason, []).append(test)
        before = {}
        for earlier in tried[:-1]:
            for test, (result, reason) in earlier.items():
                if result == "failed":
                    before.setdefault(test, reason)
        passed_now = [test for test in before if tried[-1].get(test, ("passed",))[0] != "failed"]
        unsteady += [f"unsteady: {test}:{before[test]}" for test in passed_now]
        if passed_now and options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            file = options.keep / (re.sub(r"[^\w.-]", "_", name) + ".log")
            file.write_text("".join(case.findtext("system-out", "") for case in cases[:-1]))
    print(count["passed"], count["failed"], count["skipped"], len(unsteady))
    for line in failed + unsteady:
        print(line)
    for reason, names in skipped.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"skipped: {names[0]}{more}: {reason}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads what ctest wrote with --output-junit. First line: passed, failed and skipped as three
numbers; then one line per failed test, and one per reason for skipping tests.

Usage: ctest_report.py FILE
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(output):
    """What the test gave GoogleTest as the reason, or an empty string."""
    match = re.search(r": Skipped\n(.*?)\n*\[  SKIPPED \]", output, re.S)
    return " ".join(match.group(1).split()) if match else ""


def outcome(case):
    """('passed' | 'failed' | 'skipped', reason)"""
    skipped = case.find("skipped")
    if case.get("status") == "run" and skipped is None and case.find("failure") is None:
        return "passed", ""
    message = skipped.get("message", "") if skipped is not None else ""
    # A test that could not be started is "notrun" as well: that is a failure, not a skip.
    if case.get("status") == "disabled":
        return "skipped", "disabled in the source"
    if message.startswith("SKIP_"):
        return "skipped", skip_reason(case.findtext("system-out", "")) or "no reason given"
    return "failed", message


def main():
    count = {"passed": 0, "failed": 0, "skipped": 0}
    failed, skipped = [], {}
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        result, reason = outcome(case)
        count[result] += 1
        if result == "failed":
            failed.append(f"failed: {case.get('name')}{': ' if reason else ''}{reason}")
        elif result == "skipped":
            skipped.setdefault(reason, []).append(case.get("name"))
    print(count["passed"], count["failed"], count["skipped"])
    print("\n".join(failed))
    for reason, names in skipped.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"skipped: {names[0]}{more}: {reason}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The report of the tests can fail, and tells failed tests from unsteady ones."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

REPORT = pathlib.Path(__file__).with_name("ctest_report.py")


def case(name, output, failed=False, status=None):
    status = status or ("fail" if failed else "run")
    inside = "<failure message=''/>" if failed else ""
    return f"<testcase name='{name}' status='{status}'>{inside}<system-out>{escape(output)}</system-out></testcase>"


def ran(test, verdict, said=""):
    return f"[ RUN      ] {test}\n{said}[{verdict:>9} ] {test} (3 ms)\n"


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def report(self, *runs):
        """Counts and the other lines of runs, each a list of cases."""
        files = []
        for number, cases in enumerate(runs):
            files.append(self.path / f"{number}.xml")
            files[-1].write_text(f"<testsuite>{''.join(cases)}</testsuite>")
        done = subprocess.run([sys.executable, "-B", REPORT, "--keep", self.path / "kept", *files],
                              capture_output=True, text=True, check=True)
        first, *lines = done.stdout.splitlines()
        return [int(number) for number in first.split()], lines

    def test_counts_the_tests_of_a_suite(self):
        counts, lines = self.report([case("unit.A", ran("A.x", "OK") + ran("A.y", "SKIPPED", "f: Skipped\nno fabric\n"))])
        self.assertEqual(counts, [1, 0, 1, 0])
        self.assertEqual(lines, ["skipped: unit.A.y: no fabric"])

    def test_a_test_that_always_fails_has_failed(self):
        failing = [case("unit.A", ran("A.x", "OK") + ran("A.y", "FAILED", "it is wrong\n"), failed=True)]
        counts, lines = self.report(failing, failing, failing)
        self.assertEqual(counts, [1, 1, 0, 0])
        self.assertEqual(lines[0], "failed: unit.A.y:")
        self.assertIn("    it is wrong", lines)

    def test_a_test_that_passes_in_the_end_is_unsteady_and_its_output_is_kept(self):
        steady = case("unit.B", ran("B.x", "OK"))
        failing = case("unit.A", ran("A.y", "FAILED", "too late\n"), failed=True)
        counts, lines = self.report([steady, failing], [failing], [case("unit.A", ran("A.y", "OK"))])
        self.assertEqual(counts, [2, 0, 0, 1])
        self.assertEqual(lines[0], "unsteady: unit.A.y:")
        self.assertIn("too late", (self.path / "kept" / "unit.A.log").read_text())

    def test_a_crash_is_a_failure_of_the_test_that_was_running(self):
        crash = case("unit.A", ran("A.x", "OK") + "[ RUN      ] A.y\n", failed=True)
        counts, lines = self.report([crash])
        self.assertEqual(counts, [1, 1, 0, 0])
        self.assertTrue(lines[0].startswith("failed: unit.A.y: did not come to its end"))
        counts, lines = self.report([crash], [case("unit.A", ran("A.x", "OK") + ran("A.y", "OK"))])
        self.assertEqual(counts, [2, 0, 0, 1])

    def test_another_failure_in_each_run_is_a_failure(self):
        first = [case("unit.A", ran("A.x", "OK") + ran("A.y", "FAILED"), failed=True)]
        last = [case("unit.A", ran("A.x", "FAILED") + ran("A.y", "OK"), failed=True)]
        counts, lines = self.report(first, first, last)
        self.assertEqual(counts, [1, 1, 0, 1])

    def test_what_is_no_test_of_googletest_counts_by_its_status(self):
        counts, lines = self.report([case("c_api.a", "fine"), case("c_api.b", "not fine", failed=True),
                                     case("c_api.c", "", status="notrun"), case("c_api.d", "", status="disabled")])
        self.assertEqual(counts, [1, 2, 1, 0])
        self.assertIn("    not fine", lines)


if __name__ == "__main__":
    unittest.main()

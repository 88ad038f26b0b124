#!/usr/bin/env python3
"""Does the comparison of builds see what it is for? A build against itself passes, and one that is
slow on purpose fails, by instructions, and with --times by time. A busy machine decides about times as
well: script/soak asks for them.

Usage: compare_test.py BUILD SLOWED [--times]
"""
import os
import subprocess
import sys
import unittest

import compare

BUILD = SLOWED = ""
TIMES = False


def run(new, old, *arguments):
    program = os.path.join(os.path.dirname(os.path.abspath(compare.__file__)), "compare.py")
    ran = subprocess.run([sys.executable, "-B", program, new, old, *arguments],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return ran.returncode, ran.stdout


class IntervalTest(unittest.TestCase):
    def test_of_thirty_pairs_the_tenth_and_the_twenty_first(self):
        self.assertEqual(compare.interval_of_median(range(1, 31)), (10, 21))

    def test_of_six_pairs_all(self):
        self.assertEqual(compare.interval_of_median([3, 1, 2, 6, 5, 4]), (1, 6))

    def test_of_five_pairs_there_is_none(self):
        low, high = compare.interval_of_median([1, 2, 3, 4, 5])
        self.assertLess(low, 0)
        self.assertGreater(high, 1e300)

    def test_fails_only_if_the_whole_interval_is_worse(self):
        slower = [1.03 + i / 1000 for i in range(30)]
        self.assertTrue(compare.judge_times(slower, False)[3])
        self.assertFalse(compare.judge_times(slower, True)[3], "of rates more is better")
        self.assertTrue(compare.judge_times([1 / ratio for ratio in slower], True)[3])
        self.assertFalse(compare.judge_times([0.9] * 12 + slower[12:], False)[3])
        self.assertFalse(compare.judge_times([1.019] * 30, False)[3])


class Control(unittest.TestCase):
    def expect(self, status, new, old, *arguments):
        code, said = run(new, old, *arguments)
        self.assertEqual(code, status, said)


class InstructionsTest(Control):
    def test_instructions_of_a_build_against_itself(self):
        self.expect(0, BUILD, BUILD, "^tcp-(send|receive)$", "--only", "instructions")

    def test_instructions_of_a_slowed_build(self):
        self.expect(1, SLOWED, BUILD, "^tcp-send$", "--only", "instructions")

    def test_a_folder_without_a_build(self):
        code, said = run(BUILD, os.path.dirname(compare.__file__))
        self.assertEqual(code, 2, said)
        self.assertIn("has no netio", said)


class TimesTest(Control):
    def setUp(self):
        if not TIMES:
            self.skipTest("--times is not given")

    def test_times_of_a_build_against_itself(self):
        self.expect(0, BUILD, BUILD, "^tcp-64B$", "--only", "times", "--rounds", "8",
                    "--seconds", "0.1")

    def test_times_of_a_slowed_build(self):
        # The busier the machine, the more pairs it takes to see it.
        for rounds in ("8", "24", "72"):
            code, said = run(SLOWED, BUILD, "^tcp-64B$", "--only", "times", "--rounds", rounds,
                             "--seconds", "0.1")
            if code != 0:
                break
        self.assertEqual(code, 1, said)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[3:] not in ([], ["--times"]):
        sys.exit(__doc__.rpartition("\n\n")[2])
    BUILD, SLOWED = sys.argv[1:3]
    TIMES = len(sys.argv) == 4
    unittest.main(argv=sys.argv[:1])

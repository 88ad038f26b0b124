#!/usr/bin/env python3
"""Each curve is a command that `netio bench scan` takes, and one of them is measured and drawn.

Usage: curves_test.py NETIO
"""
import os
import subprocess
import sys
import tempfile
import unittest

import curves

NETIO = ""


def run(*words):
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False)
    return ran.returncode, ran.stdout


def run_curves(*arguments):
    program = os.path.join(os.path.dirname(os.path.abspath(curves.__file__)), "curves.py")
    return run(sys.executable, "-B", program, NETIO, *arguments)


class CurvesTest(unittest.TestCase):
    def test_every_command_is_taken(self):
        """What is wrong with a command is a usage error before the file is found unwritable."""
        for curve in curves.CURVES:
            words = curves.command_of(curve, curves.OFI_TCP)
            code, said = run(NETIO, "bench", *words, "--csv", "/no/such/folder/turns.csv")
            if "is not there" in said:  # a peer that was not built
                continue
            self.assertEqual(code, 1, said)
            self.assertIn("cannot write /no/such/folder/turns.csv", said)

    def test_a_curve_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            code, said = run_curves("--into", folder, "--rounds", "1", "--seconds", "0.05",
                                    "tcp-both-ways")
            self.assertEqual(code, 0, said)
            self.assertEqual(os.listdir(folder), ["scan-tcp-both-ways.svg"])

    def test_what_makes_no_sense_is_a_usage_error(self):
        for arguments, text in (([r"no-such"], "no curve matches"), (["("], "("),
                                (["--into", "/no/such"], "is no folder")):
            code, said = run_curves(*arguments)
            self.assertEqual(code, 2, said)
            self.assertIn(text, said)

    def test_a_curve_that_cannot_be_measured_leaves_no_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            code, said = run_curves("--into", folder, "--rounds", "1", "--seconds", "0.05",
                                    "--fabric", "ofi+no_such_provider://127.0.0.1:0",
                                    "fabric-both-ways")
            self.assertEqual(code, 1, said)
            self.assertIn("NOT ALL MEASURED scan-fabric-both-ways", said)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    NETIO = sys.argv.pop()
    unittest.main()

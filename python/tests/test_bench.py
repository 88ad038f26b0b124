"""`netio bench surface --api python` measures the netio of the python3 that the path finds first."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
NETIO = ROOT / "build" / "release" / "netio"
HERE = pathlib.Path(sys.executable).parent


def surface(*words, path=HERE):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "result.json")
        ran = subprocess.run(
            [NETIO, "bench", "surface", "--api", "python", "--rounds", "1", "--seconds", "100ms",
             f"--json={report}", *words],
            env=os.environ | {"PATH": f"{path}:{os.environ['PATH']}"}, text=True, timeout=120,
            capture_output=True)
        return ran, json.loads(report.read_text()) if report.exists() else None


@unittest.skipUnless((NETIO.parent / "bench" / "bench-python.py").exists(), f"no {NETIO} with benchmarks")
class Surface(unittest.TestCase):
    def test_it_is_measured_against_callbacks_and_pyzmq(self):
        try:
            import zmq  # noqa: F401
        except ImportError:
            self.skipTest("no pyzmq")
        ran, said = surface()
        self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)
        for system in ("callbacks", "python", "pyzmq"):
            for figure in ("batch_messages_per_s", "messages_per_s", "rtt_us_p50"):
                self.assertGreater(said["systems"][system][figure]["median"], 0, (system, figure))
        self.assertGreater(said["ratio"]["pyzmq"]["messages_per_s"], 0)
        self.assertIn("messages/s, arrays", ran.stdout)

    def test_over_shared_memory_there_is_no_pyzmq(self):
        ran, said = surface("shm://*", "--size", "64KiB")
        self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)
        self.assertNotIn("pyzmq", said["systems"])
        self.assertGreater(said["ratio"]["callbacks"]["batch_messages_per_s"], 0)

    def test_a_python_without_netio_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = pathlib.Path(folder, "python3")
            bare.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
            bare.chmod(0o755)
            ran, _ = surface(path=folder)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("no module netio in ", ran.stdout + ran.stderr)

    def test_what_it_cannot_measure_is_refused(self):
        for words, told in ((("--size", "60"), "multiple of 8"), (("inproc://*",), "of its own")):
            ran, _ = surface(*words)
            self.assertEqual(ran.returncode, 2, ran.stdout)
            self.assertIn(told, ran.stderr)


if __name__ == "__main__":
    unittest.main()

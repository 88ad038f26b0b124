"""The installed package: what is in it, what it is linked with, and fabrics that are not there."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import AsyncCase, pair_of

import netio

HERE = pathlib.Path(netio.__file__).parent
MODULE = next(HERE.glob("_netio*.so"))


class Wheel(unittest.TestCase):
    @unittest.skipUnless("site-packages" in HERE.parts, "netio is not installed")
    def test_the_wheel_has_types_and_no_library_of_others(self):
        files = {path.name for path in importlib.metadata.files("netio")}
        self.assertLessEqual({"py.typed", "_netio.pyi", "__init__.py", MODULE.name}, files)
        self.assertEqual([name for name in files if ".so" in name], [MODULE.name])

    @unittest.skipUnless("site-packages" in HERE.parts, "netio is not installed")
    def test_the_stub_knows_every_public_class(self):
        stub = (HERE / "_netio.pyi").read_text()
        for name in ("Message", "Batch", "ReplyTo", "Books", "PeerSnapshot", "DownReason"):
            self.assertRegex(stub, rf"(?m)^class {name}\b")
        for text in ("def array(", "def tags(", "async def send(", "-> Fragment", "__buffer__"):
            self.assertIn(text, stub)
        self.assertNotRegex(stub, r"nanobind\.")

    def test_the_module_is_linked_with_nothing_but_the_system(self):
        try:
            told = subprocess.run(["readelf", "-d", MODULE], capture_output=True, text=True,
                                  check=True).stdout
        except FileNotFoundError:
            self.skipTest("readelf is not installed")
        needed = re.findall(r"NEEDED.*\[(.*?)\]", told)
        self.assertEqual([name for name in needed if "fabric" in name or "python" in name], [])

    @unittest.skipUnless(netio.fabrics_built(), "netio was built without libfabric")
    def test_without_libfabric_all_but_fabrics_works(self):
        program = """
import netio
from netio import blocking
with blocking.Context() as context:
    pull, push = blocking.Pull(context), blocking.Push(context)
    try:
        pull.bind("ofi+tcp://127.0.0.1:0")
    except netio.Error as error:
        print(error)
    push.connect(pull.bind("netio://127.0.0.1:0"))
    push.send(b"works", 60)
    print(bytes(pull.receive(60)))
"""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "libfabric.so.1").write_text("no library")
            ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                   timeout=120, check=False,
                                   env={**os.environ, "LD_LIBRARY_PATH": folder})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, r"libfabric")
        self.assertIn("b'works'", ended.stdout)


class Fabric(AsyncCase):
    @unittest.skipUnless(netio.fabrics_built(), "netio was built without libfabric")
    async def test_a_fabric_carries_batches(self):
        async with netio.Context() as context:
            try:
                push, pull = pair_of(context, "ofi+tcp://127.0.0.1:0")
            except netio.Error as error:
                self.skipTest(str(error))
            for i in range(1000):
                await push.send(i.to_bytes(8, "little"))
            count = total = 0
            async for batch in pull.batches():
                total += int(batch.array("<u8").sum())
                count += len(batch)
                if count == 1000:
                    break
            self.assertEqual(total, sum(range(1000)))


if __name__ == "__main__":
    unittest.main()

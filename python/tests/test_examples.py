"""The examples run; and the page of the documents shows one of them as it is."""

import ast
import asyncio
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

from support import LIMIT_S, AsyncCase

import netio

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "python"


class Examples(AsyncCase):
    async def start(self, name, *arguments, **variables):
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-u", EXAMPLES / name, *arguments, stdout=asyncio.subprocess.PIPE,
            env=os.environ | variables)

        async def end():
            if program.returncode is None:
                program.kill()
            await program.wait()

        self.addAsyncCleanup(end)
        return program

    async def address_of(self, program):
        line = await asyncio.wait_for(program.stdout.readline(), LIMIT_S)
        return line.decode().split()[-1]

    async def test_sum(self):
        program = await self.start("sum.py", "tcp://127.0.0.1:0")
        async with netio.Context() as context:
            push = netio.Push(context)
            push.connect(await self.address_of(program))
            for i in range(1000):
                await push.send(i.to_bytes(8, "little"), tag=1 + (i == 999))
            self.assertEqual((await program.stdout.read()).decode().strip(),
                             f"1000 messages, sum {sum(range(1000))}")

    async def test_push_to_sum(self):
        summing = await self.start("sum.py", "tcp://127.0.0.1:0")
        pushing = await self.start("push.py", await self.address_of(summing), "500", "4")
        self.assertIn("500 messages acknowledged, 0 dropped",
                      (await pushing.stdout.read()).decode())
        self.assertEqual((await summing.stdout.read()).decode().strip(),
                         f"500 messages, sum {500 * sum(range(4))}")

    async def test_run_control(self):
        serving = await self.start("run_control.py", "serve", "tcp://127.0.0.1:0")
        address = await self.address_of(serving)
        for command, state in (("start", "running"), ("?", "running"), ("stop", "stopped")):
            asking = await self.start("run_control.py", command, address)
            self.assertEqual((await asking.stdout.read()).decode().strip(), f"{address}: {state}")

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib")
    async def test_what_draws(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)  # after the programs, which draw until they are killed
        for what, name, shape in (("spectra", "histogram.py", ()),
                                  ("frames", "event_display.py", ("352", "384"))):
            detector = await self.start("detector.py", what, "tcp://127.0.0.1:0")
            picture = pathlib.Path(folder.name, f"{what}.png")
            drawing = await self.start(
                name, await self.address_of(detector), *shape, NETIO_PICTURE=str(picture),
                MPLBACKEND="module://picture_backend", PYTHONPATH=str(pathlib.Path(__file__).parent))
            shown = set()
            async with asyncio.timeout(LIMIT_S):
                while len(shown) < 3:  # it goes on
                    self.assertIsNone(drawing.returncode, f"{name} has ended")
                    await asyncio.sleep(0.05)
                    if picture.exists():
                        shown.add(picture.read_bytes())

    async def test_what_watches_a_builder(self):
        async with netio.Context() as context:
            publish = netio.Publish(context)
            program = await self.start("builder_monitor.py", publish.bind("tcp://127.0.0.1:0"))

            async def send():
                while True:
                    await publish.send(bytes(1024), 3)
                    await asyncio.sleep(0.001)

            sending = asyncio.create_task(send())
            seen = b""
            while b"events/s" not in seen:
                piece = await asyncio.wait_for(program.stdout.read(4096), LIMIT_S)
                self.assertTrue(piece, "it has ended")
                seen += piece
            sending.cancel()


class Text(unittest.TestCase):
    def test_examples_have_at_most_forty_lines_and_compile(self):
        found = sorted(EXAMPLES.glob("*.py"))
        self.assertGreaterEqual(len(found), 5)
        for path in found:
            text = path.read_text()
            self.assertLessEqual(len(text.splitlines()), 40, path)
            self.assertTrue(ast.get_docstring(ast.parse(text)), path)

    def test_the_page_shows_the_example_as_it_is(self):
        page = (ROOT / "docs" / "python.md").read_text()
        shown = page.partition("<!-- examples/python/sum.py -->\n```python\n")[2].partition("```")[0]
        self.assertEqual(shown, (EXAMPLES / "sum.py").read_text())


if __name__ == "__main__":
    unittest.main()

"""The interpreter ends cleanly, whatever is open; importing is quick and brings no NumPy."""

import os
import subprocess
import sys
import unittest

OPEN = """
import asyncio, netio
from netio import blocking
"""
PROGRAMS = {
    "sockets of a script": """
context = blocking.Context()
pull, push = blocking.Pull(context), blocking.Push(context)
push.connect(pull.bind("tcp://127.0.0.1:0"))
push.send(b"x", 60)
message = pull.receive(60)
view = memoryview(message)
push.send(bytes(1 << 20), 60)
""",
    "sockets and a message that are in a cycle": """
context = blocking.Context()
pull = blocking.Pull(context)
pull.cycle = [pull, context]
context.cycle = pull
pull.on_event(lambda event: pull)
""",
    "a task that waits, and a loan": """
async def main():
    global context, push, pull, free, task
    context = netio.Context()
    push, pull = netio.Push(context), netio.Pull(context)
    push.connect(pull.bind("tcp://127.0.0.1:0"))
    await push.send(b"x")
    await pull.receive()
    free = await push.lend(bytearray(1 << 24))
    task = asyncio.create_task(pull.receive())
    await asyncio.sleep(0)
asyncio.run(main())
""",
    "an event loop that was never closed": """
async def main():
    global push, pull
    context = netio.Context()
    push, pull = netio.Push(context), netio.Pull(context)
    push.connect(pull.bind("shm://*"))
    await push.send(b"x")
    await pull.receive()
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
""",
    "a daemon thread in the middle of a call": """
import threading, time
def work():
    context = blocking.Context()
    blocking.Pull(context).receive()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
""",
}


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120, check=False)


class Exit(unittest.TestCase):
    def test_the_interpreter_ends_cleanly_with_open_sockets(self):
        for name, program in PROGRAMS.items():
            with self.subTest(name):
                ended = run(OPEN + program)
                noise = [line for line in ended.stderr.splitlines() if "ResourceWarning" not in line]
                self.assertEqual((ended.returncode, noise), (0, []))


class Import(unittest.TestCase):
    def test_importing_brings_neither_numpy_nor_asyncio(self):
        ended = run("import sys, netio, netio.blocking\n"
                    "print([name for name in ('numpy', 'asyncio') if name in sys.modules])")
        self.assertEqual(ended.stdout.strip(), "[]", ended.stderr)

    def test_importing_takes_less_than_half_a_second(self):
        # It takes about 20 ms on a machine that is quiet (docs/python.md); this one may be busy.
        times = []
        for _ in range(5):
            ended = run("import time; begin = time.perf_counter(); import netio\n"
                        "print(time.perf_counter() - begin)")
            times.append(float(ended.stdout))
        self.assertLess(min(times), 0.5)


class Growth(unittest.TestCase):
    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer keeps what is freed")
    def test_memory_does_not_grow_with_messages(self):
        ended = run("""
import asyncio, os, resource, netio
MESSAGES = int(os.environ.get("NETIO_TEST_MESSAGES", "500000"))
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
async def main():
    async with netio.Context() as context:
        push, pull = netio.Push(context), netio.Pull(context)
        push.connect(pull.bind("tcp://127.0.0.1:0"))
        async def send(count):
            for i in range(count):
                await push.send(b"0123456789abcdef", i)
        async def receive(count):
            task = asyncio.create_task(send(count))
            for _ in range(count // 2):
                await anext(pull)
            left = count - count // 2
            async for batch in pull.batches():
                left -= len(batch)
                if left == 0:
                    break
            await task
        await receive(200000)
        before = resident()
        await receive(MESSAGES)
        print(resident() - before)
asyncio.run(main())
""")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertLess(int(ended.stdout), 8 << 20)


if __name__ == "__main__":
    unittest.main()

"""Children of multiprocessing: they keep nothing of the parent's, and may have a context of their own."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import LIMIT_S

from netio import blocking, events

# A parent with a socket, and a child that knows nothing of it and lives until it is killed.
WITH_A_CHILD = """
import multiprocessing, signal
from netio import blocking

def idle(pipe):
    pipe.send("here")
    signal.pause()

def main():
    context = blocking.Context()
    pull = blocking.Pull(context)
    address = pull.bind("tcp://127.0.0.1:0")
    print(address, flush=True)
    pull.receive()
    method = multiprocessing.get_context("fork")
    here, there = method.Pipe()
    child = method.Process(target=idle, args=(there,))
    child.start()
    here.recv()
    print(child.pid, flush=True)
    pull.receive()

if __name__ == "__main__":
    main()
"""

# A child that sends to the parent from a context of its own.
WITH_TWO_CONTEXTS = """
import multiprocessing, sys
from netio import blocking, events

def send(address):
    with blocking.Context() as context, blocking.Push(context) as push:
        push.connect(address)
        push.send(b"from the child", 60)

def main():
    with blocking.Context() as context, blocking.Pull(context) as pull:
        child = multiprocessing.get_context(sys.argv[1]).Process(
            target=send, args=(pull.bind("tcp://127.0.0.1:0"),))
        child.start()
        print(bytes(pull.receive(60)).decode())
        while not isinstance(pull.event(60), events.Down):  # the child has ended in order
            pass
        child.join()
        print(child.exitcode)

if __name__ == "__main__":
    main()
"""


class Processes(unittest.TestCase):
    def start(self, text, *words):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = Path(folder.name) / "program.py"
        script.write_text(text, encoding="utf-8")
        process = subprocess.Popen([sys.executable, str(script), *words], text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_a_forked_child_keeps_neither_connections_nor_the_port(self):
        parent = self.start(WITH_A_CHILD)
        address = parent.stdout.readline().strip()
        with blocking.Context() as context:
            push = blocking.Push(context)
            push.connect(address)
            while not isinstance(push.event(LIMIT_S), events.Up):
                pass
            push.send(b"first", LIMIT_S)
            push.flush()
            child = int(parent.stdout.readline())
            self.addCleanup(os.kill, child, signal.SIGKILL)
            parent.kill()
            parent.wait()
            while not isinstance(push.event(LIMIT_S), events.Down):
                pass
            os.kill(child, 0)  # it lives
            self.assertEqual(blocking.Pull(context).bind(address), address)

    def test_a_child_has_a_context_of_its_own(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                process = self.start(WITH_TWO_CONTEXTS, method)
                out, _ = process.communicate(timeout=LIMIT_S)
                self.assertEqual(out, "from the child\n0\n")


if __name__ == "__main__":
    unittest.main()

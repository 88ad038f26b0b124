"""One end of a measurement in Python: netio, or pyzmq, in the Python that the path finds first.

Started by `netio bench surface --api python`. It takes of the options of bench/worker/options.hpp
what such a measurement needs, and obeys the lines of bench/worker/worker.hpp.
"""

import argparse
import asyncio
import ctypes
import json
import os
import resource
import signal
import struct
import sys
import threading
import time
from collections import Counter

WORD = struct.Struct("<Q")
LARGE = 1 << 20  # messages that say when they came (bench/worker/tally.hpp)
JOINED = 1000  # messages of pyzmq
PICKED_UP_MS = 100  # how soon a call of pyzmq that waits sees that it is to stop


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", choices=["receive", "reply", "request"])
    parser.add_argument("--library", choices=["netio", "pyzmq"], default="netio")
    parser.add_argument("--api", choices=["messages", "batches"], default="messages",
                        help="to receive; batches are arrays of NumPy, of which each word is summed")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--mode", choices=["buffered", "unbuffered"], default="buffered")
    parser.add_argument("--wait", choices=["sleep", "spin", "adaptive"], default="sleep")
    parser.add_argument("--cpu", type=int, default=-1)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--name", default="", help="to meet at in shared memory")
    parser.add_argument("--provider", default="", help="of libfabric")
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--sum", action="store_true", help="batches are always summed")
    parser.add_argument("--requests", action="store_true", help="round trips always are")
    options = parser.parse_args()
    if options.size % WORD.size != 0:
        raise ValueError(f"messages in Python are of words: --size {options.size} is no multiple "
                         f"of {WORD.size}")
    if options.rate != 0 or options.connections != 1:
        raise ValueError("an end in Python has one connection, and no rate")
    return options


class Worker:
    """What is counted, and the thread that answers."""

    def __init__(self, options):
        self.options = options
        self.messages = self.faults = self.last_ns = 0
        self.recording = self.stopping = False
        self.copies = 0  # of large messages, which are to stay where they came in
        self.round_trips = Counter()
        self.stop = None

    def answer(self, **said):
        os.write(1, json.dumps(said).encode() + b"\n")

    def ready(self, address, stop=None):
        """Bound or connected. `stop` ends what the main thread does; the other one calls it."""
        self.stop = stop
        port = int(address.rpartition(":")[2]) if not self.options.name else 0
        self.answer(ready=True, port=port)
        threading.Thread(target=self.obey, daemon=True).start()

    def obey(self):
        for line in sys.stdin:
            command = line.split()[0]
            if command == "stop":
                break
            if command == "record":
                self.recording = True
                self.answer()
                continue
            used = resource.getrusage(resource.RUSAGE_SELF)
            said = {"last_ns": self.last_ns} if self.last_ns else {}
            self.answer(messages=self.messages, faults=self.faults + self.copies, **said,
                        ns=time.monotonic_ns(), cpu_ns=int((used.ru_utime + used.ru_stime) * 1e9),
                        switches=used.ru_nvcsw + used.ru_nivcsw)
        self.stopping = True
        if self.stop is not None:
            self.stop()

    def take(self, message):
        """A message whose first word is its number."""
        if len(message) != self.options.size or WORD.unpack_from(message)[0] != self.messages:
            self.faults += 1
        self.counted(1)

    def take_words(self, words):
        """An array with a row of words for each message, of which each is summed."""
        count, columns = words.shape
        if columns * WORD.size != self.options.size:
            self.faults += 1
        first = self.messages
        if int(words.sum()) != count * (2 * first + count - 1) // 2:
            # The rest of a message is no zeros.
            import numpy as np

            numbers = np.arange(first, first + count, dtype=np.uint64)
            self.faults += not np.array_equal(words[:, 0], numbers)
        self.counted(count)

    def counted(self, messages):
        if self.options.size >= LARGE:
            self.last_ns = time.monotonic_ns()
        self.messages += messages

    def round_trip(self, ns):
        if self.recording:
            self.round_trips[ns if ns < 2048 else ns & -(1 << ns.bit_length() - 11)] += 1

    def finish(self):
        said = {"round_trips": list(self.round_trips.items())} if self.round_trips else {}
        self.answer(end=True, faults=self.faults, **said)


def in_brackets(host):
    return f"[{host}]" if ":" in host else host


def wake(loop, call):
    """For Worker.ready(): calls `call` in the event loop."""
    return lambda: loop.call_soon_threadsafe(call)


class Netio:
    """netio in asyncio."""

    def __init__(self, worker):
        import netio

        self.worker, self.options, self.netio = worker, worker.options, netio
        self.context = netio.Context(idle=netio.IdlePolicy[self.options.wait])
        self.mode = netio.Mode[self.options.mode]

    def address(self):
        options = self.options
        if options.name:
            return f"shm://{options.name}"
        scheme = "tcp"
        if options.provider:
            scheme = "verbs" if options.provider == "verbs" else f"ofi+{options.provider}"
        window = f"?window={options.window}" if options.window else ""
        return f"{scheme}://{in_brackets(options.host)}:{options.port}{window}"

    async def receive(self):
        async with self.context as context:
            pull = self.netio.Pull(context, mode=self.mode)
            stop = wake(asyncio.get_running_loop(), pull.close)
            self.worker.ready(pull.bind(self.address()), stop)
            if self.options.api == "messages":
                async for message in pull:
                    self.worker.take(message)
                return
            stays = self.options.mode == "unbuffered" and self.options.size >= LARGE
            async for batch in pull.batches():
                self.worker.take_words(batch.array("<u8"))
                if stays:
                    self.worker.copies = pull.counters().copies

    async def reply(self):
        async with self.context as context:
            reply = self.netio.Reply(context, mode=self.mode)
            stop = wake(asyncio.get_running_loop(), reply.close)
            self.worker.ready(reply.bind(self.address()), stop)
            async for request, to in reply:
                self.worker.take(request)
                await to.send(request)

    async def request(self):
        async with self.context as context:
            request = self.netio.Request(context, mode=self.mode)
            request.connect(self.address())
            self.worker.ready(self.address())
            payload = bytearray(self.options.size)
            while not self.worker.stopping:
                WORD.pack_into(payload, 0, self.worker.messages)
                begin = time.monotonic_ns()
                answer = await request.ask(payload)
                self.worker.round_trip(time.monotonic_ns() - begin)
                self.worker.take(answer)

    def run(self):
        asyncio.run(getattr(self, self.options.role)())


class Pyzmq:
    """pyzmq: messages and round trips in zmq.asyncio, batches by calls that wait."""

    def __init__(self, worker):
        import zmq
        import zmq.asyncio

        self.worker, self.options, self.zmq = worker, worker.options, zmq
        waits = self.options.role == "receive" and self.options.api == "batches"
        kinds = {"receive": zmq.PULL, "reply": zmq.REP, "request": zmq.REQ}
        self.socket = (zmq if waits else zmq.asyncio).Context().socket(kinds[self.options.role])
        self.socket.set(zmq.LINGER, 0)
        self.socket.set(zmq.IPV6, 1)
        if self.options.role == "request":
            self.socket.connect(f"tcp://{in_brackets(self.options.host)}:{self.options.port}")
        else:
            self.socket.bind(f"tcp://{in_brackets(self.options.host)}:{self.options.port or '*'}")
        if waits:
            self.socket.set(zmq.RCVTIMEO, PICKED_UP_MS)
        self.address = self.socket.get_string(zmq.LAST_ENDPOINT)

    def receive_words(self):
        import numpy as np

        self.worker.ready(self.address)
        copies = self.options.size < self.zmq.COPY_THRESHOLD
        messages = []
        while not self.worker.stopping:
            try:
                messages = [self.socket.recv(copy=copies)]
                # What has come is joined and summed at once, as far as joining pays.
                while copies and len(messages) < JOINED:
                    messages.append(self.socket.recv(self.zmq.NOBLOCK))
            except self.zmq.Again:
                if not messages:
                    continue
            words = np.frombuffer(messages[0] if len(messages) == 1 else b"".join(messages), "<u8")
            self.worker.take_words(words.reshape(len(messages), -1))
            messages = []

    async def receive(self):
        self.ready()
        while True:
            self.worker.take(await self.socket.recv())

    async def reply(self):
        self.ready()
        while True:
            request = await self.socket.recv()
            self.worker.take(request)
            await self.socket.send(request)

    async def request(self):
        self.ready()
        payload = bytearray(self.options.size)
        while True:
            WORD.pack_into(payload, 0, self.worker.messages)
            begin = time.monotonic_ns()
            await self.socket.send(payload)
            answer = await self.socket.recv()
            self.worker.round_trip(time.monotonic_ns() - begin)
            self.worker.take(answer)

    def ready(self):
        self.worker.ready(self.address, wake(asyncio.get_running_loop(), asyncio.current_task().cancel))

    def run(self):
        if self.options.role == "receive" and self.options.api == "batches":
            return self.receive_words()
        try:
            asyncio.run(getattr(self, self.options.role)())
        except asyncio.CancelledError:
            pass


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command
    try:
        options = parsed()
        worker = Worker(options)
        if options.cpu >= 0 and options.cpu in os.sched_getaffinity(0):
            os.sched_setaffinity(0, {options.cpu})
        (Netio if options.library == "netio" else Pyzmq)(worker).run()
        worker.finish()
    except ModuleNotFoundError as error:
        told = f"no module {error.name} in {sys.executable}"
        if error.name == "netio":
            told += " (pip install ./python does it, in the folder of netio)"
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    else:
        os._exit(0)
    os.write(1, json.dumps({"error": told}).encode() + b"\n")
    os._exit(1)


if __name__ == "__main__":
    main()

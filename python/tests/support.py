"""What the tests share. They are of unittest: it has asyncio in it, and needs no package."""

import asyncio
import signal
import threading
import unittest

import netio

LIMIT_S = 60.0  # for what takes milliseconds on a machine that is not busy
TCP = "tcp://127.0.0.1:0"


class AsyncCase(unittest.IsolatedAsyncioTestCase):
    """A test in asyncio that fails when it hangs."""

    def _callTestMethod(self, method):  # noqa: N802
        async def limited():
            asyncio.get_running_loop().slow_callback_duration = LIMIT_S
            async with asyncio.timeout(LIMIT_S):
                await method()

        limited.__name__ = method.__name__
        super()._callTestMethod(limited if asyncio.iscoroutinefunction(method) else method)

    async def until(self, condition):
        """Waits for a condition."""
        while not condition():
            await asyncio.sleep(0.001)


def interrupt():
    """Ctrl-C, as the main thread gets it."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def pair_of(context, address=TCP, **options):
    """A Push and a Pull that are about to connect."""
    pull = netio.Pull(context, **options)
    push = netio.Push(context, **options)
    push.connect(pull.bind(address))
    return push, pull


async def connected_pair(context, address=TCP, **options):
    """A Push and a Pull that are connected, with nothing under way."""
    push, pull = pair_of(context, address, **options)
    await push.send(b"first")
    await pull.receive()
    return push, pull

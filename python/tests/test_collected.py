"""Sockets that go while others use them: collected in a turn, on another thread, or let go of."""

import asyncio
import gc
import sys
import threading
import unittest
import warnings

from support import LIMIT_S, TCP, AsyncCase, connected_pair

import netio
from netio import blocking


def collect_elsewhere(*boxes):
    """Lets go of what the lists hold, in cycles, and collects it on another thread."""
    gc.disable()
    try:
        for box in boxes:
            box[0].cycle = box[0]
            box.clear()
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
    finally:
        gc.enable()


class CollectingLoop(asyncio.SelectorEventLoop):
    """Collects once, from inside of the next call_soon()."""

    armed = False

    def call_soon(self, *call, **how):
        if self.armed:
            self.armed = False
            gc.collect()
        return super().call_soon(*call, **how)


def run_collecting(main):
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=CollectingLoop) as runner:
            runner.run(asyncio.wait_for(main(), LIMIT_S))
    finally:
        gc.enable()


class InTurns(unittest.TestCase):
    def test_a_socket_may_be_collected_while_a_turn_is_told(self):
        async def main():
            async with netio.Context() as context:
                pairs = [await connected_pair(context) for _ in range(2)]
                receiving = asyncio.create_task(pairs[0][1].receive())
                await asyncio.sleep(0.01)
                for push, pull in pairs:
                    push.try_send(b"x")
                    push.flush()
                pull = pairs[1][1]
                pull.cycle = pull
                pairs[1] = push = pull = None
                asyncio.get_running_loop().armed = True
                self.assertEqual(bytes(await receiving), b"x")
                await asyncio.sleep(0.01)

        run_collecting(main)

    def test_a_socket_may_be_collected_while_the_context_goes(self):
        async def main():
            context = netio.Context()
            reply, request = netio.Reply(context), netio.Request(context)
            request.connect(reply.bind(TCP))
            extra = [netio.Pull(context) for _ in range(5)]
            asking = asyncio.create_task(request.ask(b"?"))
            held = await reply.receive()
            for each in extra:
                each.cycle = each
            each = None
            extra.clear()
            asyncio.get_running_loop().armed = True
            context._finish()
            with self.assertRaises(netio.RequestError):
                await asking
            self.assertTrue(context.closed and held)

        run_collecting(main)


class Elsewhere(unittest.TestCase):
    def connected(self, context):
        pull, push = blocking.Pull(context), blocking.Push(context)
        push.connect(pull.bind(TCP))
        push.send(b"first", LIMIT_S)
        pull.receive(LIMIT_S)
        return push, pull

    def test_a_socket_with_call_backs_and_events_is_collected_on_another_thread(self):
        with blocking.Context() as context:
            push, pull = self.connected(context)
            push.on_event(lambda event: None)
            pull.close(0)  # the other hears of it in the turn in which it is gone
            boxes = [[push]]
            del push
            collect_elsewhere(*boxes)
            for _ in range(5):
                context.run_once(0.01)

    def test_what_is_lent_is_held_while_it_is_sent(self):
        payload, received, ready, go = 300000, [], [], threading.Event()

        def receive():
            with blocking.Context() as context:
                pull = blocking.Pull(context)
                ready.append(pull.bind(TCP))
                pull.receive(LIMIT_S)
                go.wait(LIMIT_S)
                try:
                    while True:
                        received.append(bytes(pull.receive(1)))
                except TimeoutError:
                    pass

        thread = threading.Thread(target=receive)
        thread.start()
        while not ready:
            pass
        with blocking.Context() as context:
            push = blocking.Push(context)
            push.connect(ready[0])
            push.send(b"first", LIMIT_S)
            for _ in range(200):
                if push._try_lend(bytearray(b"A" * payload), None, 0) is not netio.Status.ok:
                    break
            for _ in range(10):
                context.run_once(0.02)
            self.assertGreater(push._loans(), 0)
            go.set()
            threading.Event().wait(0.5)  # it reads, and there is room to write again
            boxes = [[push]]
            del push
            collect_elsewhere(*boxes)
            junk = [b"Z" * payload for _ in range(200)]
            context.run_once(0.1)
            del junk
        thread.join()
        self.assertTrue(all(each == b"A" * payload for each in received))

    def test_an_await_may_be_dropped_on_another_thread(self):
        async def main():
            async with netio.Context() as context:
                push, request = netio.Push(context), netio.Request(context)
                reply, asker = netio.Reply(context), netio.Request(context)
                asker.connect(reply.bind(TCP))
                while not asker.peers_connected:
                    await asyncio.sleep(0.001)
                boxes = [push.send(b"x"), request.ask(b"x"), asker.ask(b"x")]
                for coroutine in boxes:
                    coroutine.send(None)
                asked, to = await reply.receive()
                del coroutine
                thread = threading.Thread(target=boxes.clear)
                thread.start()
                thread.join()
                self.assertEqual((push._waiters(), request._waiters()), (0, 0))
                while to.wanted:  # the replier is told that nobody waits
                    await asyncio.sleep(0.001)

        said = []
        hook, sys.unraisablehook = sys.unraisablehook, said.append
        try:
            asyncio.run(asyncio.wait_for(main(), LIMIT_S))
        finally:
            sys.unraisablehook = hook
        self.assertEqual(said, [])

    def test_a_context_may_go_elsewhere_while_an_exception_is_raised(self):
        box = []

        def make():
            context = blocking.Context(send_pool_bytes=1 << 20, receive_pool_bytes=1 << 20)
            context.run_once(0)
            box.append(context)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaises(ZeroDivisionError):
                (box.pop(), 1 / 0)


class LetGo(AsyncCase):
    async def test_what_a_socket_has_taken_is_delivered_though_it_is_let_go_of(self):
        async with netio.Context() as context:
            pull = netio.Pull(context)
            address = pull.bind(TCP)

            async def send():
                push = netio.Push(context)
                push.connect(address)
                for i in range(1000):
                    await push.send(i.to_bytes(8, "little"))

            await send()
            self.assertEqual([int.from_bytes(await pull.receive(), "little")
                              for _ in range(1000)], list(range(1000)))
            await self.until(lambda: pull.peers_connected == 0)


if __name__ == "__main__":
    unittest.main()

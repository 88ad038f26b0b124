"""The same on uvloop, if that is installed; and what asyncio's own loop does in order."""

import asyncio
import sys
import threading
import unittest

from support import LIMIT_S, TCP, interrupt, pair_of

import netio

try:
    import uvloop
except ImportError:
    uvloop = None


async def exchange(address):
    """Messages, batches, a request and its answer, a cancelled receive, a closing in order."""
    async with asyncio.timeout(LIMIT_S), netio.Context() as context:
        push, pull = pair_of(context, address)
        reply, request = netio.Reply(context), netio.Request(context)
        request.connect(reply.bind(TCP))

        async def serve():
            async for asked, to in reply:
                await to.send(bytes(asked)[::-1])

        async def send():
            for i in range(5000):
                await push.send(i.to_bytes(8, "little"), i)

        serving, sending = asyncio.create_task(serve()), asyncio.create_task(send())
        total = count = 0
        async for batch in pull.batches():
            total += int(batch.array("<u8").sum())
            count += len(batch)
            if count == 5000:
                break
        await sending
        try:
            await pull.receive(timeout=0.01)
        except TimeoutError:
            pass
        await push.send(b"last")
        last = bytes(await pull.receive())
        answer = bytes(await request.ask(b"abc", timeout=LIMIT_S))
        reply.close()
        await serving
    return total, last, answer, push.books().acknowledged


class Loops(unittest.TestCase):
    expected = (sum(range(5000)), b"last", b"cba", 5001)

    def test_asyncio_turns_the_loop(self):
        for address in (TCP, "shm://*"):
            self.assertEqual(asyncio.run(exchange(address), debug=False), self.expected)

    @unittest.skipIf(uvloop is None, "uvloop is not installed")
    def test_uvloop_turns_the_loop(self):
        for address in (TCP, "shm://*"):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                self.assertEqual(runner.run(exchange(address)), self.expected)

    def test_ctrl_c_ends_the_main_task_in_order(self):
        async def main():
            async with netio.Context() as context:
                pull = netio.Pull(context)
                pull.bind(TCP)
                timer.start()
                try:
                    await pull.receive()
                finally:
                    closed.append(context)

        for factory in (None, uvloop and uvloop.new_event_loop):
            closed = []
            timer = threading.Timer(0.2, interrupt)
            with self.assertRaises(KeyboardInterrupt):
                with asyncio.Runner(loop_factory=factory) as runner:
                    runner.run(main())
            self.assertTrue(closed[0].closed)
            timer.join()

    def test_a_future_of_a_closed_loop_keeps_no_socket_from_being_told(self):
        context = netio.Context()
        reply, request = netio.Reply(context), netio.Request(context)
        push, pull = pair_of(context)
        request.connect(reply.bind(TCP))
        first, second = asyncio.new_event_loop(), asyncio.new_event_loop()

        async def begin():
            asking = [asyncio.ensure_future(request.ask(b"?")) for _ in range(2)]
            asked = [await reply.receive() for _ in asking]
            await push.send(b"1")
            await pull.receive()
            return asking, asked

        async def go_on():
            asked[0][1].try_send(b"answer")
            for text in (b"2", b"3"):
                push.try_send(text)
                self.assertEqual(bytes(await pull.receive(LIMIT_S)), text)
            context._finish()  # with the other request under way
            self.assertTrue(context.closed)

        said = []
        hook, sys.unraisablehook = sys.unraisablehook, said.append
        try:
            asking, asked = first.run_until_complete(begin())
            for task in asking:
                task._log_destroy_pending = False
            first.close()
            second.run_until_complete(go_on())
        finally:
            sys.unraisablehook = hook
            second.close()
        self.assertEqual(len(said), 2)

    def test_a_context_is_closed_though_its_closing_is_cancelled(self):
        async def main():
            async with netio.Context() as context:
                push, pull = pair_of(context)
                await push.send(b"x")
                await pull.receive()
                pull.pause()
                while push.try_send(bytes(60000)) is netio.Status.ok:
                    await asyncio.sleep(0)
                contexts.append(context)

        async def cancelled():
            task = asyncio.create_task(main())
            while not contexts:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        contexts = []
        asyncio.run(cancelled())
        self.assertTrue(contexts[0].closed)

    def test_other_tasks_run_while_messages_come(self):
        async def main():
            async with netio.Context() as context:
                push, pull = pair_of(context)
                ticks = 0

                async def tick():
                    nonlocal ticks
                    while True:
                        ticks += 1
                        await asyncio.sleep(0)

                async def send():
                    for _ in range(100000):
                        await push.send(bytes(64))

                tasks = [asyncio.create_task(tick()), asyncio.create_task(send())]
                count = 0
                async for _ in pull:
                    count += 1
                    if count == 100000:
                        break
                for task in tasks:
                    task.cancel()
                return ticks

        self.assertGreater(asyncio.run(main()), 10)


if __name__ == "__main__":
    unittest.main()

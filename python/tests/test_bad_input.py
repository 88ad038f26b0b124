"""What users get wrong is answered in words, by an exception, in every build."""

import asyncio
import copy
import gc
import os
import pickle
import sys
import threading
import unittest
import warnings

import numpy
from support import TCP, AsyncCase, connected_pair, pair_of

import netio
from netio import blocking


class Closed(AsyncCase):
    async def test_every_call_after_close_says_that_it_is_closed(self):
        context = netio.Context()
        push, pull = pair_of(context)
        reply, request = netio.Reply(context), netio.Request(context)
        subscribe = netio.Subscribe(context)
        context.close(0.0)
        await context.wait_closed()
        await context.wait_closed()
        context.close()
        push.close()
        self.assertTrue(push.closed and context.closed)
        for call in (lambda: push.bind(TCP), lambda: pull.connect(TCP), push.peers,
                     lambda: push.fill, lambda: subscribe.subscribe(1), context.fileno,
                     context.run_once, lambda: netio.Push(context)):
            with self.assertRaises(netio.ClosedError):
                call()
        for awaited in (lambda: push.send(b""), lambda: pull.receive(), pull.receive_batch,
                        lambda: push.lend(b""), lambda: push.allocate(1), reply.receive,
                        lambda: push.send_segments([b""]), lambda: request.ask(b"?")):
            with self.assertRaises(netio.ClosedError):
                await awaited()
        self.assertIs(push.try_send(b""), netio.Status.closed)
        self.assertIs(push.try_allocate(1), netio.Status.closed)
        self.assertIsNone(pull.try_receive())
        self.assertEqual([message async for message in pull], [])
        pull.pause()
        push.flush()
        self.assertEqual(push.books().sent, 0)

    async def test_what_was_received_before_close_may_still_be_taken(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            for i in range(10):
                await push.send(bytes([i]))
            self.assertEqual(bytes(await pull.receive()), b"\0")
            pull.close()
            await pull.wait_closed()
        self.assertEqual(b"".join([bytes(m) async for m in pull]), bytes(range(1, 10)))


class Data(AsyncCase):
    async def test_what_is_no_buffer_is_refused_in_words(self):
        async with netio.Context() as context:
            push, _ = pair_of(context)
            for data, error, words in (
                    ("text", TypeError, "encode"), (5, TypeError, "buffer protocol"),
                    (None, TypeError, "buffer protocol"),
                    (numpy.arange(10)[::2], BufferError, "not contiguous")):
                for call in (push.try_send, lambda d: push.try_send_segments([d])):
                    with self.subTest(data), self.assertRaisesRegex(error, words):
                        call(data)
                with self.assertRaisesRegex(error, words):
                    await push.lend(data)
            with self.assertRaises(ValueError):
                push.try_send(b"", tag=-1)
            with self.assertRaises(ValueError):
                push.try_send(b"", tag=2**64)

    async def test_a_buffer_that_is_gone_is_refused_for_that(self):
        async with netio.Context() as context:
            push, _ = pair_of(context)
            released = memoryview(b"x")
            released.release()
            with self.assertRaisesRegex(ValueError, "released"):
                push.try_send(released)

    async def test_messages_cannot_be_pickled_or_copied(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(b"x")
            message = await pull.receive()
            await push.send(b"x")
            batch = await pull.receive_batch()
            for thing in (message, batch, push, context):
                with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                    pickle.dumps(thing)
                with self.assertRaises(TypeError):
                    copy.copy(thing)

    async def test_a_message_is_sent_once(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(b"x")
            message = await pull.receive()
            await push.send(message)
            with self.assertRaisesRegex(ValueError, "sent or released"):
                await push.send(message)
            with self.assertRaises(BufferError):
                bytes(memoryview(message))

    async def test_a_batch_with_an_array_in_use_is_not_sent(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(bytes(8))
            batch = await pull.receive_batch()
            array = batch.array("<u8")
            with self.assertRaisesRegex(BufferError, "in use"):
                await push.send(batch)
            self.assertEqual(int(array[0, 0]), 0)

    async def test_a_batch_is_not_sent_or_released_while_it_is_gone_over(self):
        async with netio.Context() as context:
            push, pull = await connected_pair(context)
            for i in range(3):
                push.try_send(bytes([i]))
            batch = await pull.receive_batch()
            over = iter(batch)
            self.assertEqual(bytes(next(over)), b"\0")
            for gone in (batch.release, lambda: push.try_send(batch)):
                with self.assertRaisesRegex(BufferError, "walk"):
                    gone()
            self.assertEqual([bytes(message) for message in over], [b"\1", b"\2"])
            batch.release()
            with self.assertRaises(StopIteration):
                next(over)

    def test_segments_that_close_their_socket_are_not_sent(self):
        with blocking.Context() as context:
            push = blocking.Push(context)

            def pieces():
                yield b"one"
                push.close(0.0)
                yield b"two"

            self.assertIs(push.try_send_segments(pieces()), netio.Status.closed)

    async def test_a_refused_message_is_untouched(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(bytes(1000))
            message = await pull.receive()
            small, _ = pair_of(context, message_bytes_max=100)
            with self.assertRaises(netio.StatusError):
                await small.send(message)
            self.assertEqual(len(bytes(message)), 1000)

    async def test_options_of_another_pattern_are_refused(self):
        async with netio.Context() as context:
            for kind, options in ((netio.Push, {"policy": netio.Policy.block}),
                                  (netio.Reply, {"pending_max": 1}),
                                  (netio.Push, {"flush_after_s": -1.0})):
                with self.assertRaises((TypeError, ValueError)):
                    kind(context, **options)
            with self.assertRaisesRegex(TypeError, "netio.Context"):
                netio.Push(None)


class Threads(AsyncCase):
    async def test_a_socket_on_another_thread_is_refused(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(b"x")
            await pull.receive()
            errors = []

            def work():
                for call in (lambda: push.try_send(b"x"), pull.try_receive, push.books, push.peers,
                             lambda: push.bind(TCP), push.close, context.run_once,
                             context.close, lambda: netio.Push(context),
                             lambda: asyncio.run(pull.receive()),
                             lambda: asyncio.run(push.send(b"x"))):
                    try:
                        call()
                    except netio.Error as error:
                        errors.append(str(error))
                    else:
                        errors.append("no error")

            thread = threading.Thread(target=work)
            thread.start()
            while thread.is_alive():
                await asyncio.sleep(0.001)
            self.assertEqual(len(errors), 11)
            for error in errors:
                self.assertRegex(error, "another (thread|event loop)")
            await push.send(b"still works")
            self.assertEqual(bytes(await pull.receive()), b"still works")

    async def test_sockets_that_another_thread_collects_are_destroyed_on_their_own(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            seen = pull.events()
            await push.send(b"x")
            await pull.receive()
            gc.disable()
            try:
                push.cycle = push
                del push
                thread = threading.Thread(target=gc.collect)
                thread.start()
                thread.join()
            finally:
                gc.enable()
            while not isinstance(await anext(seen), netio.events.Down):
                pass

    def test_a_context_that_another_thread_collects_is_left_with_a_warning(self):
        context = blocking.Context(send_pool_bytes=1 << 20, receive_pool_bytes=1 << 20)
        pull = blocking.Pull(context)
        with self.assertRaises(TimeoutError):
            pull.receive(0)
        things = [context, pull]
        del context, pull
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            thread = threading.Thread(target=things.clear)
            thread.start()
            thread.join()
        self.assertRegex(str(caught[0].message), "another thread")


class Loops(unittest.TestCase):
    def test_a_second_event_loop_is_refused_while_the_first_is_open(self):
        context = netio.Context()
        push, pull = pair_of(context)
        first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
        try:
            first.run_until_complete(push.send(b"one"))
            with self.assertRaisesRegex(netio.Error, "another event loop"):
                second.run_until_complete(pull.receive())
            first.run_until_complete(pull.receive())
            first.close()
            second.run_until_complete(push.send(b"two"))  # after the end of the first it may go on
            self.assertEqual(bytes(second.run_until_complete(pull.receive())), b"two")
            context.close()
            second.run_until_complete(context.wait_closed())
        finally:
            first.close()
            second.close()

    def test_a_call_that_blocks_is_refused_while_asyncio_runs(self):
        async def main():
            async with netio.Context() as context:
                with self.assertRaisesRegex(netio.Error, "asyncio runs"):
                    blocking.Pull(context).receive(1)

        asyncio.run(main())

    def test_an_await_without_an_event_loop_is_refused(self):
        with netio.Context() as context:
            with self.assertRaises(RuntimeError):
                netio.Push(context).send(b"").send(None)


class Awaits(AsyncCase):
    async def test_a_send_that_is_never_awaited_sends_nothing(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                push.send(b"never")
                pull.__anext__()
                gc.collect()
            self.assertIn("never awaited", str(caught[0].message))
            await push.send(b"this")
            self.assertEqual(bytes(await pull.receive()), b"this")
            self.assertEqual(push.books().sent, 1)

    async def test_a_send_that_is_cancelled_sent_nothing(self):
        async with netio.Context() as context:
            push = netio.Push(context)
            waiting = [asyncio.create_task(push.send(bytes([i]))) for i in range(10)]
            await asyncio.sleep(0)
            for task in waiting[::2]:
                task.cancel()
            await asyncio.gather(*waiting[::2], return_exceptions=True)
            pull = netio.Pull(context)
            push.connect(pull.bind(TCP))
            got = sorted([bytes(await pull.receive())[0] for _ in range(5)])
            self.assertEqual(got, [1, 3, 5, 7, 9])
            self.assertEqual(push.books().sent, 5)

    async def test_awaits_that_are_given_up_leave_nothing(self):
        async with netio.Context() as context:
            push, pull = netio.Push(context), netio.Pull(context)
            for call in (pull.receive, pull.receive_batch, lambda: push.send(b""),
                         lambda: anext(pull.events())):
                for _ in range(20):
                    with self.assertRaises(TimeoutError):
                        async with asyncio.timeout(0.001):
                            await call()
            awaited = pull.__anext__()
            awaited.__next__()  # it waits, and is dropped
            self.assertEqual(pull._waiters(), 1)
            del awaited
            self.assertEqual((pull._waiters(), push._waiters()), (0, 0))

    async def test_two_tasks_that_receive_share_what_comes(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            got = []

            async def receive():
                async for message in pull:
                    got.append(bytes(message)[0])

            tasks = [asyncio.create_task(receive()) for _ in range(3)]
            for i in range(100):
                await push.send(bytes([i]))
                await asyncio.sleep(0)
            await self.until(lambda: len(got) == 100)
            self.assertEqual(sorted(got), list(range(100)))
            pull.close()
            await asyncio.gather(*tasks)


@unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
class Forks(unittest.TestCase):
    def in_child(self, call):
        """What a call says in a child of fork()."""
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            try:
                call()
                os.write(write, b"no error")
            except BaseException as error:  # noqa: BLE001
                os.write(write, str(error).encode())
            os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with open(read, "rb") as pipe:
            return pipe.read().decode()

    def test_a_fork_is_refused_in_words(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            push.connect(pull.bind(TCP))
            push.send(b"x", 60)
            for call in (lambda: push.send(b"x", 1), lambda: pull.receive(1), push.peers,
                         lambda: blocking.Pull(context), context.run_once, context.close):
                self.assertRegex(self.in_child(call), "forked")
            self.assertEqual(bytes(pull.receive(60)), b"x")


if __name__ == "__main__":
    sys.exit(unittest.main())

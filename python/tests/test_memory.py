"""Memory: what holds it, what may be written, and when it is the caller's again."""

import asyncio
import gc
import threading
import unittest

import numpy
from support import TCP, AsyncCase, connected_pair, pair_of

import netio


class Messages(AsyncCase):
    async def one(self, payload=bytes(range(64)), **options):
        context = netio.Context()
        async with context:
            push, pull = pair_of(context, **options)
            await push.send(payload)
            return await pull.receive()

    async def test_a_message_is_a_read_only_buffer(self):
        message = await self.one()
        view = memoryview(message)
        self.assertTrue(view.readonly and message.readonly)
        self.assertEqual(numpy.frombuffer(message, "<u2")[1], 0x0302)
        self.assertEqual(message.array("<u4").tolist()[0], 0x03020100)
        self.assertEqual(message.tobytes(), bytes(range(64)))
        with self.assertRaises((TypeError, ValueError)):
            view[0] = 1

    async def test_a_message_is_a_dlpack_tensor(self):
        message = await self.one()
        array = numpy.from_dlpack(message)
        self.assertEqual(array.tolist(), list(range(64)))
        self.assertFalse(array.flags.writeable)
        del message
        gc.collect()
        self.assertEqual(array[63], 63)

    async def test_a_message_is_used_and_freed_on_another_thread(self):
        messages = [await self.one(bytes([i]) * 100000) for i in range(3)]
        sums = []

        def work():
            while messages:
                sums.append(int(numpy.frombuffer(messages.pop(0), "u1").sum()))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(sums, [0, 100000, 200000])

    async def test_an_array_outlives_message_socket_and_context(self):
        for address in (TCP, "shm://*"):
            async with netio.Context() as context:
                push, pull = pair_of(context, address)
                await push.send(bytes(range(256)) * 4000)
                array = numpy.frombuffer(await pull.receive(), "u1")
            del push, pull, context
            gc.collect()
            self.assertEqual(int(array.sum()), 255 * 128 * 4000)

    async def test_release_gives_the_memory_back_unless_it_is_in_use(self):
        message = await self.one()
        view = memoryview(message)
        with self.assertRaisesRegex(BufferError, "still in use"):
            message.release()
        view.release()
        with message:
            pass
        self.assertFalse(message)
        with self.assertRaisesRegex(BufferError, "released"):
            memoryview(message)

    async def test_what_is_held_is_counted_and_bounds_the_sender(self):
        async with netio.Context() as context:
            push, pull = pair_of(context, receive_bytes_max=1 << 20)
            held = []

            async def hold():
                async for batch in pull.batches():
                    held.append(batch)

            holding = asyncio.create_task(hold())

            async def fill():
                while True:
                    await push.send(bytes(10000))

            filling = asyncio.create_task(fill())
            await self.until(lambda: pull.fill == 1.0)
            self.assertGreater(pull.kept_bytes, 0)
            stood = sum(map(len, held))
            held.clear()
            await self.until(lambda: sum(map(len, held)) > 0)
            self.assertGreater(stood, 0)
            holding.cancel()
            filling.cancel()

    async def test_a_received_message_is_sent_on_without_a_copy(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            onward, end = pair_of(context)
            payload = bytes(range(256)) * 4096
            await push.send(payload, tag=9)
            message = await pull.receive()
            await onward.send(message)
            self.assertFalse(message)
            arrived = await end.receive()
            self.assertEqual((bytes(arrived), arrived.tag), (payload, 9))
            self.assertEqual(onward.counters().copies, 0)

    async def test_a_received_batch_is_sent_on(self):
        async with netio.Context() as context:
            push, pull = await connected_pair(context)
            onward, end = pair_of(context)
            for i in range(100):
                push.try_send(bytes([i]), i)
            batch = await pull.receive_batch()
            await onward.send(batch)
            self.assertFalse(batch)
            got = [(await end.receive()).tag for _ in range(100)]
            self.assertEqual(got, list(range(100)))


class Segments(AsyncCase):
    async def test_segments_arrive_as_they_were_sent(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            body = numpy.arange(5000, dtype="<u4")
            await push.send_segments([b"head", bytearray(b""), body], tag=4)
            message = await pull.receive()
            head, empty, rest = message.segments
            self.assertEqual((bytes(head), bytes(empty), message.tag), (b"head", b"", 4))
            self.assertTrue((numpy.frombuffer(rest, "<u4") == body).all())
            await push.send(b"whole")
            self.assertEqual([bytes(s) for s in (await pull.receive()).segments], [b"whole"])

    async def test_too_many_segments_are_refused(self):
        async with netio.Context() as context:
            push, _ = pair_of(context)
            with self.assertRaises(netio.StatusError) as caught:
                await push.send_segments([b"x"] * 65)
            self.assertIs(caught.exception.status, netio.Status.invalid)


class Allocated(AsyncCase):
    async def test_what_was_allocated_is_written_and_sent_without_a_copy(self):
        for address in (TCP, "shm://*"):
            with self.subTest(address):
                async with netio.Context() as context:
                    push, pull = pair_of(context, address)
                    await push.send(b"so it is connected")
                    await pull.receive()
                    before = push.counters().copies
                    room = await push.allocate(1 << 20, tag=5)
                    self.assertFalse(room.readonly)
                    array = room.array("<f4")
                    array[:] = numpy.arange(1 << 18)
                    await push.send(room)
                    self.assertFalse(room)
                    message = await pull.receive()
                    self.assertEqual(message.tag, 5)
                    self.assertEqual(message.array("<f4")[-1], (1 << 18) - 1)
                    self.assertEqual(push.counters().copies, before)
                del message, push, pull, context
                gc.collect()
                array[0] = 7.0  # somebody still has it: the memory is held, and nobody else's
                self.assertEqual(array[0], 7.0)

    async def test_a_view_of_what_was_asked_or_answered_outlives_it(self):
        async with netio.Context() as context:
            reply, request = netio.Reply(context), netio.Request(context)
            push, pull = pair_of(context)
            request.connect(reply.bind(TCP))

            async def answer():
                asked, to = await reply.receive()
                view = memoryview(asked)
                await to.send(asked)
                return view

            await push.send(bytes(range(256)) * 400)
            message = await pull.receive()
            view = memoryview(message)
            answering = asyncio.create_task(answer())
            answered = await request.ask(message)
            self.assertFalse(message)
            other = await answering
        del push, pull, reply, request, message, context
        gc.collect()
        self.assertEqual(bytes(view), bytes(range(256)) * 400)
        self.assertTrue(bytes(view) == bytes(other) == bytes(answered))

    async def test_more_than_there_is_is_too_big(self):
        async with netio.Context(large_bytes_max=1 << 22) as context:
            push, _ = pair_of(context)
            with self.assertRaises(netio.StatusError) as caught:
                while True:
                    await push.allocate(1 << 23)
            self.assertIs(caught.exception.status, netio.Status.too_big)


class Lent(AsyncCase):
    async def test_a_future_says_when_a_buffer_is_free_again(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            buffer = bytearray(bytes(range(256)) * 4096)
            free = await push.lend(buffer)
            with self.assertRaises(BufferError):
                buffer.append(0)  # it cannot be resized while it is lent
            message = await pull.receive()
            await free
            buffer.append(0)
            self.assertEqual(bytes(message), buffer[:-1])
            self.assertEqual(push.counters().copies, 0)

    async def test_an_array_is_held_while_it_is_lent(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            array = numpy.arange(100000)
            free = await push.lend(array)
            with self.assertRaises(ValueError):
                array.resize(10)
            del array
            gc.collect()
            message = await pull.receive()
            await free
            self.assertTrue((message.array("<i8") == numpy.arange(100000)).all())

    async def test_loans_end_with_the_socket(self):
        buffer = bytearray(1 << 20)
        async with netio.Context() as context:
            push, pull = await connected_pair(context)
            pull.pause()
            futures = []

            async def lend():
                while True:
                    futures.append(await push.lend(buffer))

            lending = asyncio.create_task(lend())
            await self.until(lambda: push.counters().agains > 0)
            lending.cancel()
            context.close(0.0)
            await context.wait_closed()
            await asyncio.gather(*futures)
        buffer.append(0)


if __name__ == "__main__":
    unittest.main()

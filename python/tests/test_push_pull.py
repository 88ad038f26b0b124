"""Messages and batches from a Push to a Pull, in asyncio."""

import asyncio
import socket
import struct
import unittest

import numpy
from support import TCP, AsyncCase, connected_pair, pair_of

import netio


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


class PushPull(AsyncCase):
    async def test_a_message_arrives_with_its_tag_and_sender(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(b"hello", tag=7)
            message = await pull.receive()
            self.assertEqual(bytes(message), b"hello")
            self.assertEqual((message.tag, len(message)), (7, 5))
            self.assertEqual(message.sender, pull.peers()[0].id)

    async def test_every_wire_of_one_machine_carries_messages(self):
        for address in (TCP, "tcp://[::1]:0", "shm://*", "inproc://any", "netio://127.0.0.1:0"):
            with self.subTest(address):
                async with netio.Context() as context:
                    try:
                        push, pull = pair_of(context, address)
                    except netio.Error:
                        if "[::1]" not in address or has_ipv6():
                            raise
                        self.skipTest("this machine has no IPv6")
                    for payload in (b"", b"small", bytes(range(256)) * 4096):
                        await push.send(payload)
                        self.assertEqual(bytes(await pull.receive()), payload)

    async def test_iterating_gives_all_messages_in_order(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)

            async def send():
                for i in range(20000):
                    await push.send(struct.pack("<Q", i), tag=i)
                push.close()

            sending = asyncio.create_task(send())
            expected = 0
            async for message in pull:
                self.assertEqual(struct.unpack("<Q", message)[0], expected)
                expected += 1
                if expected == 20000:
                    break
            await sending
            self.assertEqual((await push.wait_closed()).acknowledged, 20000)

    async def test_iterating_ends_when_the_socket_is_closed(self):
        async with netio.Context() as context:
            pull = netio.Pull(context)
            pull.bind(TCP)

            async def count():
                return len([message async for message in pull])

            counting = asyncio.create_task(count())
            await asyncio.sleep(0)
            pull.close()
            self.assertEqual(await counting, 0)
            with self.assertRaises(netio.ClosedError):
                await pull.receive()

    async def test_iterating_ends_when_the_socket_is_closed_while_messages_stream(self):
        for i in range(40):
            async with netio.Context() as context:
                push, pull = pair_of(context, (TCP, "shm://*")[i % 2])

                async def send():
                    try:
                        while True:
                            await push.send(bytes(6000))  # noqa: B023
                    except netio.ClosedError:
                        pass

                sending = asyncio.create_task(send())
                count = 0
                async for _ in pull.batches():
                    count += 1
                    if count == 20 + i % 7:
                        push.close(0)
                        pull.close(0)
                await sending

    async def test_send_waits_for_a_peer_and_for_room(self):
        async with netio.Context() as context:
            push = netio.Push(context)
            pull = netio.Pull(context)
            waiting = asyncio.create_task(push.send(b"early"))
            await asyncio.sleep(0.01)
            self.assertFalse(waiting.done())
            push.connect(pull.bind(TCP))
            await waiting
            self.assertEqual(bytes(await pull.receive()), b"early")
            pull.pause()
            before = push.counters().agains

            async def fill():
                while True:
                    await push.send(bytes(60000))

            filling = asyncio.create_task(fill())
            await self.until(lambda: push.counters().agains > before)
            filling.cancel()
            await asyncio.gather(filling, return_exceptions=True)
            taken = push.books().sent
            pull.resume()
            for _ in range(taken - 1):
                await pull.receive()
            self.assertIsNone(pull.try_receive())

    async def test_a_receive_that_is_cancelled_loses_nothing(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            received = []
            for i in range(300):
                receiving = asyncio.create_task(pull.receive())
                await asyncio.sleep(0)
                if i % 3 == 0:
                    push.try_send(struct.pack(">Q", i))
                for _ in range(i % 7):
                    await asyncio.sleep(0)
                receiving.cancel()
                try:
                    received.append(bytes(await receiving))
                except asyncio.CancelledError:
                    pass
            while len(received) < push.books().sent:
                received.append(bytes(await pull.receive()))
            self.assertEqual(received, sorted(received))
            self.assertGreater(len(received), 50)

    async def test_a_receive_that_times_out_loses_nothing(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            with self.assertRaises(TimeoutError):
                await pull.receive(timeout=0.01)
            await push.send(b"late")
            self.assertEqual(bytes(await pull.receive(timeout=30)), b"late")


class Batches(AsyncCase):
    async def receive_batch_of(self, payloads, tags=None):
        context = netio.Context()
        async with context:
            push, pull = await connected_pair(context)
            for i, payload in enumerate(payloads):
                self.assertIs(push.try_send(payload, tags[i] if tags else 0), netio.Status.ok)
            batch = await pull.receive_batch()
            self.assertEqual(len(batch), len(payloads))
            return batch

    async def test_equal_messages_are_one_array_without_a_copy(self):
        batch = await self.receive_batch_of([struct.pack("<4Q", i, 1, 2, 3) for i in range(100)])
        array = batch.array("<u8")
        self.assertEqual(array.shape, (100, 4))
        self.assertEqual(array[:, 0].tolist(), list(range(100)))
        self.assertFalse(array.flags.writeable)
        self.assertEqual(array.strides[0], 40)  # the frame word lies between two of them
        again = batch.array("<u8")
        self.assertTrue(numpy.shares_memory(array, again))

    async def test_a_structured_type_gives_records(self):
        kind = numpy.dtype([("time", "<u8"), ("adc", "<u2", 4)])
        batch = await self.receive_batch_of([struct.pack("<Q4H", i, 1, 2, 3, i) for i in range(9)])
        records = batch.array(kind)
        self.assertEqual(records.shape, (9,))
        self.assertEqual(records["time"].tolist(), list(range(9)))
        self.assertEqual(records["adc"][:, 3].tolist(), list(range(9)))

    async def test_tags_and_sizes_are_arrays_of_any_batch(self):
        batch = await self.receive_batch_of([bytes(i) for i in range(20)], list(range(5, 25)))
        self.assertEqual(batch.tags().tolist(), list(range(5, 25)))
        self.assertEqual(batch.sizes().tolist(), list(range(20)))
        self.assertEqual([len(message) for message in batch], list(range(20)))
        with self.assertRaisesRegex(BufferError, "several sizes"):
            batch.array()

    async def test_a_mixture_of_tags_and_none_has_no_single_stride(self):
        batch = await self.receive_batch_of([bytes(8)] * 4, [0, 1, 0, 0])
        with self.assertRaises(BufferError):
            memoryview(batch)
        self.assertEqual(batch.tags().tolist(), [0, 1, 0, 0])

    async def test_one_message_that_differs_is_found_wherever_it_is(self):
        for at in (0, 1, 7, 8):
            for other in (7, 1, 9, 64, 0):
                sizes = [8] * 9
                sizes[at] = other
                batch = await self.receive_batch_of([bytes(size) for size in sizes])
                with self.assertRaises(BufferError):
                    memoryview(batch)
                self.assertEqual(batch.sizes().tolist(), sizes)
            tags = [5] * 9
            tags[at] = 0
            batch = await self.receive_batch_of([bytes(8)] * 9, tags)
            if at == 0:  # its payload is as far from the next one as that is from the third
                self.assertEqual(memoryview(batch).shape, (9, 8))
                continue
            with self.assertRaises(BufferError):
                memoryview(batch)

    async def test_equal_messages_of_any_size_are_where_they_came_in(self):
        for size in (1, 7, 8, 9, 61, 1000):
            for tags in (None, list(range(1, 10))):
                payloads = [bytes([i] * size) for i in range(9)]
                batch = await self.receive_batch_of(payloads, tags)
                self.assertEqual([row.tobytes() for row in batch.array()], payloads)

    async def test_objects_of_python_are_refused(self):
        batch = await self.receive_batch_of([bytes(16)] * 2)
        for kind in ("O", [("pointer", "O"), ("number", "u8")]):
            with self.assertRaisesRegex(TypeError, "no objects"):
                batch.array(kind)

    async def test_an_empty_message_among_others_has_no_array(self):
        batch = await self.receive_batch_of([b"", bytes(8)])
        self.assertEqual(batch.sizes().tolist(), [0, 8])
        with self.assertRaisesRegex(BufferError, "several sizes"):
            memoryview(batch)

    async def test_a_batch_is_not_in_use_after_an_array_was_refused(self):
        with await self.receive_batch_of([bytes(8)] * 2) as batch:
            with self.assertRaises(ValueError) as caught:
                batch.array("u8,u8,u8")
            batch.release()
        self.assertIn("no whole number", str(caught.exception))

    async def test_a_type_that_does_not_fit_is_refused(self):
        batch = await self.receive_batch_of([bytes(12)] * 3)
        with self.assertRaisesRegex(ValueError, "12 bytes"):
            batch.array("<u8")

    async def test_a_batch_gives_what_is_left_of_a_page(self):
        async with netio.Context() as context:
            push, pull = await connected_pair(context)
            for i in range(10):
                push.try_send(bytes([i]))
            for i in range(3):
                self.assertEqual(bytes(await pull.receive()), bytes([i]))
            self.assertEqual(b"".join(await pull.receive_batch()), bytes(range(3, 10)))

    async def test_a_batch_outlives_its_socket_and_context(self):
        batch = await self.receive_batch_of([struct.pack("<Q", i) for i in range(50)])
        array = batch.array("<u8")
        del batch
        self.assertEqual(array.sum(), sum(range(50)))


if __name__ == "__main__":
    unittest.main()

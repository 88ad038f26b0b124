"""Event building: whole events of two read-out units, with and without an event manager."""

import asyncio
import gc
import unittest

import numpy
from support import LIMIT_S, TCP, AsyncCase

import netio
from netio import events

EVENTS = 500


class Building(AsyncCase):
    async def feed(self, unit, source):
        for number in range(EVENTS):
            fragment = numpy.full(number % 50 + 1, source, dtype="<u4")
            await unit.send((1, number), fragment)
        unit.advance(netio.end_of_run(1))

    async def collect(self, builder):
        numbers = []
        async for event in builder:
            run, number = event.id
            self.assertEqual((run, len(event), event.complete), (1, 2, True))
            for source in range(2):
                fragment = numpy.frombuffer(event[source], "<u4")
                self.assertEqual(len(fragment), number % 50 + 1)
                self.assertTrue((fragment == source).all())
            numbers.append(number)
            if len(numbers) == EVENTS:
                return numbers
        return numbers

    async def test_a_builder_hands_over_whole_events(self):
        async with netio.Context() as context:
            builder = netio.BuilderUnit(context, sources=2, deadline_s=60.0)
            address = builder.bind(TCP)
            units = [netio.ReadoutUnit(context, sources=2, source=i) for i in range(2)]
            for unit in units:
                unit.connect(0, address)
            feeding = [asyncio.create_task(self.feed(unit, i)) for i, unit in enumerate(units)]
            self.assertEqual(await self.collect(builder), list(range(EVENTS)))
            await asyncio.gather(*feeding)
            books = [await unit.finish() for unit in units]
            self.assertEqual([each["settled"] for each in books], [EVENTS] * 2)
            self.assertEqual([each["built"] for each in books], [EVENTS] * 2)
            self.assertEqual(builder.books()["complete"], EVENTS)
            with self.assertRaises(netio.ClosedError):
                await units[0].send((1, EVENTS), b"")

    async def test_a_unit_says_for_whom_it_holds_fragments(self):
        async with netio.Context() as context:
            unit = netio.ReadoutUnit(context, sources=1, source=0, builders=2, range_events=2)
            for number in range(3):
                await unit.send((1, number), b"12345")
            first, second = unit.held_for_builders()
            self.assertEqual(first, {"connected": False, "fragments": 2, "bytes": 2 * (5 + 64),
                                     "oldest": (1, 0), "window_bytes": 0})
            self.assertEqual((second["fragments"], second["oldest"]), (1, (1, 2)))
            self.assertAlmostEqual(unit.fill, 3 * (5 + 64) / 2**26)
            self.assertEqual(unit.settled, (1, 0))

    async def test_a_builder_says_who_and_what_is_missing(self):
        async with netio.Context() as context:
            builder = netio.BuilderUnit(context, sources=2, deadline_s=0.05, meet_within_s=0.0)
            with self.assertRaisesRegex(TimeoutError, "in time; units that are not connected: 0, 1$"):
                await builder.receive(0.01)
            unit = netio.ReadoutUnit(context, sources=2, source=0)
            unit.connect(0, builder.bind(TCP))
            await unit.send((1, 7), b"abc")
            event = await builder.receive(LIMIT_S)
            self.assertEqual(repr(event), "<netio.Event 7 of run 1, incomplete>")
            self.assertEqual(repr(event[0]), "<netio.Fragment of 3 bytes, good>")
            self.assertEqual(repr(event[1]), "<netio.Fragment, missing: not_connected>")
            lost = netio.BuilderUnit(context, sources=20, managed=True)
            lost.join("tcp://127.0.0.1:1")
            while not lost.last_failure:
                await asyncio.sleep(0.01)
            with self.assertRaisesRegex(TimeoutError, r": 0, 1, .*, 7 and 12 more \(nobody listens"):
                await lost.receive(0.01)

    async def test_a_unit_of_another_plan_is_a_failure(self):
        async with netio.Context() as context:
            builder = netio.BuilderUnit(context, sources=2)
            unit = netio.ReadoutUnit(context, sources=3, source=0)
            unit.connect(0, builder.bind(TCP))
            while not (builder.last_failure and unit.last_failure):
                await asyncio.sleep(0.01)
            self.assertIn("sources: ", builder.last_failure)
            self.assertIn("sources: ", unit.last_failure)

    async def test_an_event_manager_gives_ranges_to_builders(self):
        plan = {"sources": 2, "builders": 1, "range_events": 16, "managed": True}
        async with netio.Context() as context:
            manager = netio.EventManager(context, sources=2, builders=1, range_events=16)
            at = manager.bind(TCP)
            builder = netio.BuilderUnit(context, **plan, deadline_s=60.0)
            builder.bind(TCP)
            builder.join(at)
            units = [netio.ReadoutUnit(context, **plan, source=i) for i in range(2)]
            for unit in units:
                unit.join(at)
            feeding = [asyncio.create_task(self.feed(unit, i)) for i, unit in enumerate(units)]
            self.assertEqual(await self.collect(builder), list(range(EVENTS)))
            await asyncio.gather(*feeding)
            await manager.stop(netio.end_of_run(1))
            settled = manager.books()["settled"]
            self.assertGreater(settled, 0)
            manager.close()
            await manager.wait_closed()
            self.assertEqual(manager.books()["settled"], settled)

    async def test_stop_does_not_wait_for_a_manager_that_closes(self):
        async with netio.Context() as context:
            async with netio.EventManager(context, sources=1, builders=1) as manager:
                stopping = asyncio.create_task(manager.stop((1, 5)))
                await asyncio.sleep(0)
                manager.close(0)
                with self.assertRaises(netio.ClosedError):
                    await stopping

    async def test_units_know_no_peers_connected(self):
        async with netio.Context() as context:
            for unit in (netio.BuilderUnit(context, sources=1),
                         netio.ReadoutUnit(context, sources=1),
                         netio.EventManager(context, sources=1, builders=1)):
                self.assertEqual(unit.peers_connected, 0)
                with self.assertRaisesRegex(netio.Error, "event building"):
                    unit.peers()
            with self.assertRaisesRegex(netio.Error, "event building"):
                netio.ReadoutUnit(context, sources=1).counters()

    async def test_a_fragment_that_does_not_come_is_missing(self):
        async with netio.Context() as context:
            builder = netio.BuilderUnit(context, sources=2, deadline_s=0.2, meet_within_s=0.0)
            unit = netio.ReadoutUnit(context, sources=2, source=1)
            unit.connect(0, builder.bind(TCP))
            await unit.send((1, 0), b"alone", netio.FragmentStatus.truncated)
            event = await builder.receive()
            self.assertFalse(event.complete)
            self.assertIs(event[0].missing, netio.Missing.not_connected)
            self.assertFalse(event[0])
            self.assertEqual(bytes(event[1]), b"alone")
            self.assertIs(event[1].status, netio.FragmentStatus.truncated)
            with self.assertRaises(IndexError):
                event[2]

    async def test_a_fragment_outlives_its_event_and_context(self):
        async with netio.Context() as context:
            builder = netio.BuilderUnit(context, sources=1)
            unit = netio.ReadoutUnit(context, sources=1)
            unit.connect(0, builder.bind(TCP))
            await unit.send((1, 0), bytes(range(200)))
            array = numpy.frombuffer((await builder.receive())[0], "u1")
        del builder, unit, context
        gc.collect()
        self.assertEqual(array.tolist(), list(range(200)))

    async def test_an_event_that_does_not_ascend_is_named(self):
        async with netio.Context() as context:
            unit = netio.ReadoutUnit(context, sources=1)
            await unit.send((1, 5), b"x")
            for event in (1, 5), (1, 4):
                with self.assertRaises(netio.StatusError) as caught:
                    await unit.send(event, b"x")
                self.assertIs(caught.exception.status, netio.Status.invalid)
                self.assertIn(f"event {event} does not lie above", str(caught.exception))
            self.assertEqual(unit.books()["sent"], 1)

    async def test_another_plan_is_refused_in_words(self):
        async with netio.Context() as context:
            builder = netio.BuilderUnit(context, sources=2)
            unit = netio.ReadoutUnit(context, sources=3)
            seen = unit.events()
            unit.connect(0, builder.bind(TCP))
            async for event in seen:
                if isinstance(event, events.Refused):
                    break
            self.assertRegex(event.why, "sources")
            with self.assertRaises(netio.Error):
                netio.ReadoutUnit(context)
            with self.assertRaises(TypeError):
                await unit.send(5, b"")


if __name__ == "__main__":
    unittest.main()

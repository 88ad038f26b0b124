"""Every socket in asyncio: pair, publish and subscribe, request and reply; events and figures."""

import asyncio
import sys
import unittest

from support import TCP, AsyncCase, pair_of

import netio
from netio import events


class Pairs(AsyncCase):
    async def test_both_ends_of_a_pair_send(self):
        async with netio.Context() as context:
            here, there = netio.Pair(context), netio.Pair(context)
            there.connect(here.bind(TCP))
            await here.send(b"to there")
            await there.send(b"to here")
            self.assertEqual(bytes(await there.receive()), b"to there")
            self.assertEqual(bytes(await here.receive()), b"to here")


class ToAll(AsyncCase):
    async def test_every_receiver_is_told_and_the_sender_who_was_away(self):
        async with netio.Context() as context:
            push = netio.Push(context)
            answer = push.try_send_to_all(b"early")
            self.assertIs(answer.status, netio.Status.not_connected)
            self.assertEqual((answer.peers, answer.away), (0, 0))
            pulls = [netio.Pull(context) for _ in range(3)]
            for pull in pulls:
                push.connect(pull.bind(TCP))
            await self.until(lambda: push.peers_connected == 3)
            for tag, data in ((7, b"run 42 starts"), (8, bytes(300_000))):
                answer = await push.send_to_all(data, tag)
                self.assertIs(answer.status, netio.Status.ok)
                self.assertEqual((answer.peers, answer.away, answer.to_everyone), (3, 0, True))
                for pull in pulls:
                    message = await pull.receive()
                    self.assertEqual((bytes(message), message.tag), (data, tag))
            push.connect("tcp://127.0.0.1:1")  # where nobody listens
            answer = await push.send_to_all(b"run 42 ends")
            self.assertEqual((answer.peers, answer.away, answer.to_everyone), (3, 1, False))

    async def test_waits_for_the_first_peer(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            self.assertEqual((await push.send_to_all(b"here")).peers, 1)
            self.assertEqual(bytes(await pull.receive()), b"here")

    async def test_a_publisher_has_other_means(self):
        async with netio.Context() as context:
            with self.assertRaises(netio.StatusError):
                await netio.Publish(context).send_to_all(b"x")


class Publishing(AsyncCase):
    async def test_a_subscriber_gets_the_tags_that_it_asked_for(self):
        async with netio.Context() as context:
            publish = netio.Publish(context, subscribers_min=1)
            subscribe = netio.Subscribe(context, policy=netio.Policy.block)
            subscribe.subscribe(1, (10, 12), range(20, 23))
            self.assertEqual(subscribe.subscribed, [(1, 1), (10, 12), (20, 22)])
            subscribe.unsubscribe(11)
            subscribe.connect(publish.bind(TCP))
            for tag in range(30):
                await publish.send(bytes([tag]), tag)
            tags = [(await subscribe.receive()).tag for _ in range(6)]
            self.assertEqual(tags, [1, 10, 12, 20, 21, 22])
            self.assertEqual(publish.counters().unwanted, 24)

    async def test_both_sides_hear_of_the_subscription(self):
        async with netio.Context() as context:
            publish, subscribe = netio.Publish(context), netio.Subscribe(context)
            at_publisher, at_subscriber = publish.events(), subscribe.events()
            subscribe.subscribe_all()
            subscribe.connect(publish.bind(TCP))
            async for event in at_subscriber:
                if isinstance(event, events.Subscribed):
                    break
            self.assertFalse(event.refused)
            self.assertIs(event.policy, netio.Policy.drop_new)
            async for event in at_publisher:
                if isinstance(event, events.SubscribedTags):
                    break
            self.assertEqual(event.ranges, [(0, 2**64 - 1)])

    async def test_ranges_of_python_reach_to_the_last_tag(self):
        async with netio.Context() as context:
            subscribe = netio.Subscribe(context)
            subscribe.subscribe(range(2**64 - 5, 2**64))
            self.assertEqual(subscribe.subscribed, [(2**64 - 5, 2**64 - 1)])
            subscribe.subscribe(range(2**64))
            self.assertEqual(subscribe.subscribed, [(0, 2**64 - 1)])
            for wrong in (range(5, 5), range(0, 9, 2)):
                with self.assertRaises(ValueError):
                    subscribe.subscribe(wrong)

    async def test_a_tag_that_makes_no_sense_is_refused_in_words(self):
        async with netio.Context() as context:
            subscribe = netio.Subscribe(context)
            for tags, error in ((-1, TypeError), ("a", TypeError), ((5, 3), netio.Error),
                                (range(0, 9, 2), ValueError)):
                with self.subTest(tags), self.assertRaises(error):
                    subscribe.subscribe(tags)


class Requests(AsyncCase):
    async def asking(self, context, answer):
        reply, request = netio.Reply(context), netio.Request(context)
        request.connect(reply.bind(TCP))

        async def serve():
            async for asked, to in reply:
                await answer(asked, to)

        return request, reply, asyncio.create_task(serve())

    async def test_answers_come_back_in_any_order(self):
        kept = []

        async def answer(asked, to):
            kept.append((bytes(asked), to))
            if len(kept) == 3:
                for text, other in reversed(kept):
                    self.assertTrue(await other.send(text.upper()))

        async with netio.Context() as context:
            request, reply, serving = await self.asking(context, answer)
            answers = await asyncio.gather(*(request.ask(text) for text in (b"a", b"b", b"c")))
            self.assertEqual([bytes(each) for each in answers], [b"A", b"B", b"C"])
            self.assertEqual(request.requests().ended[netio.Outcome.answered], 3)
            self.assertEqual(reply.requests().answered, 3)
            serving.cancel()

    async def test_a_request_that_is_given_up_says_so(self):
        async def answer(asked, to):
            to.give_up()

        async with netio.Context() as context:
            request, _, serving = await self.asking(context, answer)
            with self.assertRaises(netio.RequestError) as caught:
                await request.ask(b"?")
            self.assertIs(caught.exception.outcome, netio.Outcome.not_answered)
            serving.cancel()

    async def test_a_request_times_out_without_and_with_a_replier(self):
        async def answer(asked, to):
            await asyncio.sleep(1000)

        async with netio.Context() as context:
            alone = netio.Request(context)
            with self.assertRaises(TimeoutError):
                await alone.ask(b"?", timeout=0.01)
            request, _, serving = await self.asking(context, answer)
            with self.assertRaises(netio.RequestTimeout) as caught:
                await request.ask(b"?", timeout=0.5)
            self.assertIs(caught.exception.outcome, netio.Outcome.timed_out)
            serving.cancel()

    async def test_a_time_limit_may_be_over_already_or_infinite(self):
        async with netio.Context() as context:
            request, reply = netio.Request(context), netio.Reply(context)
            request.connect(reply.bind(TCP))
            for timeout in (0, -0.001):
                with self.assertRaises(netio.RequestTimeout):
                    await request.ask(b"?", timeout)
            asking = asyncio.create_task(request.ask(b"?", float("inf")))
            async for asked, to in reply:
                await to.send(b"!")
                break
            self.assertEqual(bytes(await asking), b"!")

    async def test_a_request_that_is_cancelled_is_cancelled_at_the_replier(self):
        reached = asyncio.Event()
        rights = []

        async def answer(asked, to):
            rights.append(to)
            reached.set()

        async with netio.Context() as context:
            request, _, serving = await self.asking(context, answer)
            asking = asyncio.create_task(request.ask(b"?"))
            await reached.wait()
            self.assertTrue(rights[0].wanted)
            asking.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await asking
            await self.until(lambda: not rights[0].wanted)
            self.assertEqual(request.requests().ended[netio.Outcome.cancelled], 1)
            self.assertFalse(await rights[0].send(b"too late"))
            serving.cancel()

    async def test_requests_under_way_end_with_their_socket(self):
        async def answer(asked, to):
            await asyncio.sleep(1000)

        context = netio.Context()
        request, _, serving = await self.asking(context, answer)
        asking = asyncio.create_task(request.ask(b"?"))
        await self.until(lambda: request.requests().asked == 1)
        context.close(0.1)
        await context.wait_closed()
        with self.assertRaises(netio.RequestError) as caught:
            await asking
        self.assertIs(caught.exception.outcome, netio.Outcome.cancelled)
        serving.cancel()


class Events(AsyncCase):
    async def test_peers_come_and_go_as_events(self):
        async with netio.Context() as context:
            push, pull = pair_of(context, name="a.name")
            seen = pull.events()
            up = await anext(seen)
            self.assertIsInstance(up, events.Up)
            self.assertEqual(up.peer.name, "a.name")
            self.assertEqual(up.peer.wire, "tcp")
            await push.send(b"so both are up")
            await pull.receive()
            push.close()
            async for event in seen:
                if isinstance(event, events.Down):
                    break
            self.assertIs(event.reason, netio.DownReason.closed_by_peer)
            self.assertTrue(event.peer.was_up)
            self.assertTrue(event.detail)

    async def test_events_end_with_the_socket(self):
        async with netio.Context() as context:
            pull = netio.Pull(context)
            seen = pull.events()
            pull.close()
            self.assertEqual([event async for event in seen], [])

    async def test_what_was_dropped_is_told_as_a_gap(self):
        async with netio.Context() as context:
            publish = netio.Publish(context, subscribers_min=0)
            subscribe = netio.Subscribe(context, policy=netio.Policy.drop_new,
                                        behind_bytes_max=1 << 17)
            seen = subscribe.events()
            subscribe.subscribe_all()
            subscribe.connect(publish.bind(TCP))
            while not isinstance(await anext(seen), events.Subscribed):
                pass
            subscribe.pause()
            while publish.books().dropped == 0:
                await publish.send(bytes(50000), 1)
                await asyncio.sleep(0)
            subscribe.resume()
            subscribe.on_message(lambda message: None)  # the gap comes behind what came before it
            async for event in seen:
                if isinstance(event, events.Gap):
                    break
            self.assertIs(event.reason, netio.DropReason.dropped_new)
            self.assertGreater(event.count, 0)

    async def test_call_backs_are_called_after_a_turn(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            messages, seen = [], []
            pull.on_message(messages.append)
            pull.on_event(seen.append)
            for i in range(100):
                await push.send(bytes([i]))
            await self.until(lambda: len(messages) == 100)
            self.assertEqual(b"".join(messages), bytes(range(100)))
            self.assertIsInstance(seen[-1], events.Up)

    async def test_a_call_back_is_called_for_what_came_before_it_was_set(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            sending = asyncio.create_task(self.send_all(push, 1000))
            while not push.counters().agains:  # the inbox of the other is full
                await asyncio.sleep(0.01)
            messages = []
            pull.on_message(lambda message: messages.append(len(message)))
            await self.until(lambda: len(messages) == 1000)
            await sending

    async def send_all(self, push, count):
        for _ in range(count):
            await push.send(bytes(60000))

    async def test_of_several_exceptions_in_a_turn_none_is_lost(self):
        caught = []
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, told: caught.append(told["exception"]))
        hook, sys.unraisablehook = sys.unraisablehook, lambda told: caught.append(told.exc_value)
        try:
            async with netio.Context() as context:
                push, pull = pair_of(context)

                def fail(message):
                    raise ValueError(bytes(message))

                for i in range(10):
                    await push.send(bytes([i]))
                await self.until(lambda: pull.books().delivered == 10)
                pull.on_message(fail)
                await self.until(lambda: len(caught) == 10)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(sorted(error.args[0][0] for error in caught), list(range(10)))

    async def test_an_exception_in_a_call_back_reaches_the_handler_of_the_loop(self):
        caught = []
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, told: caught.append(told["exception"]))
        async with netio.Context() as context:
            push, pull = pair_of(context)
            counted = []

            def fail(message):
                counted.append(message)
                raise ValueError("mine")

            pull.on_message(fail)
            for _ in range(3):
                await push.send(b"x")
            await self.until(lambda: len(counted) == 3)
            self.assertIsInstance(caught[0], ValueError)


class Figures(AsyncCase):
    async def test_a_peer_is_let_go_and_an_address_is_free_again(self):
        async with netio.Context() as context:
            push, pull = netio.Push(context), netio.Pull(context)
            address = pull.bind(TCP)
            push.connect(address)
            for _ in range(10):
                await push.send(b"before")
            self.assertTrue(pull.unbind(address))
            self.assertFalse(pull.unbind(address))
            self.assertFalse(push.disconnect(99))
            self.assertTrue(push.disconnect(push.peers()[0].id))
            for _ in range(10):
                self.assertEqual(bytes(await pull.receive()), b"before")
            await self.until(lambda: not push.peers())
            push.connect(address)
            push.connect(address)
            self.assertEqual(push.disconnect(address, linger_s=1.0), 2)
            await self.until(lambda: not push.peers())
            self.assertEqual(push.disconnect(address), 0)
            with self.assertRaises(netio.Error):
                push.disconnect("nonsense")
            self.assertEqual(netio.Pull(context).bind(address), address)

    async def test_books_counters_and_peers_say_what_happened(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            for _ in range(10):
                await push.send(bytes(100))
            for _ in range(10):
                await pull.receive()
            self.assertEqual(pull.books().delivered, 10)
            self.assertEqual(pull.counters().bytes_received, 1000)
            await self.until(lambda: push.books().acknowledged == 10)
            [peer] = push.peers()
            self.assertTrue(peer.up and peer.dialed)
            self.assertEqual(peer.books.acknowledged, 10)
            self.assertEqual(set(peer.books.dropped_by), set(netio.DropReason))
            self.assertIn("acknowledged=10", repr(push.books()))
            self.assertEqual(len(peer.run), 16)
        self.assertEqual(push.books().acknowledged, 10)  # also after the end

    async def test_errors_have_their_parts(self):
        async with netio.Context() as context:
            push = netio.Push(context)
            with self.assertRaises(netio.AddressError) as caught:
                push.connect("nothing://here")
            error = caught.exception
            self.assertIn("nothing://here", error.operation)
            self.assertTrue(error.cause and error.advice)
            self.assertIn(error.cause, str(error))
            # Nobody's address (RFC 5737), and a folder that is missing.
            for later in ("tcp://192.0.2.1:0", "shm:///no/such/folder/socket"):
                with self.assertRaises(netio.NotThereYet) as caught:
                    netio.Pull(context).bind(later)
                self.assertIsInstance(caught.exception, netio.Error)
                self.assertTrue(caught.exception.cause and caught.exception.advice)
            with self.assertRaises(netio.Error):
                netio.Push(context, high_watermark=2.0)
            with self.assertRaisesRegex(TypeError, "no option flush_after"):
                netio.Push(context, flush_after=1.0)
            with self.assertRaises(netio.StatusError) as caught:
                await pair_of(context, message_bytes_max=100)[0].send(bytes(200))
            self.assertIs(caught.exception.status, netio.Status.too_big)

    async def test_options_of_a_wrong_kind_say_what_is_needed(self):
        class Unspeakable:
            def __repr__(self):
                raise ValueError("mine")

        async with netio.Context() as context:
            for name, value, said in (
                    ("send_bytes_max", "much", "is a whole number from 0 to 2**64 - 1, not 'much'"),
                    ("send_bytes_max", -1, "is a whole number from 0 to 2**64 - 1, not -1"),
                    ("mode", "fast", "is a netio.Mode, not 'fast'"),
                    ("name", "\udc80", "is a str of valid Unicode, not '\\udc80'"),
                    ("name", b"x" * 1000, "is a str of valid Unicode, not b'" + "x" * 98),
                    ("flush_after_s", "1", "is a number of seconds, not '1'"),
                    ("flush_after_s", -1, ": a time cannot be negative"),
                    ("low_watermark", "1", "is a number, not '1'"),
                    ("flush_when_idle", 1, "is True or False, not 1")):
                with self.assertRaises((TypeError, ValueError)) as caught:
                    netio.Push(context, **{name: value})
                between = "" if said.startswith(":") else " "
                self.assertEqual(str(caught.exception), name + between + said)
            with self.assertRaisesRegex(ValueError, "mine"):
                netio.Push(context, mode=Unspeakable())
        with self.assertRaisesRegex(TypeError, r"cpu is a whole number from -2\*\*31 to 2\*\*31 - 1"):
            netio.Context(cpu=2**40)

    async def test_time_limits_say_why_nothing_came(self):
        async with netio.Context() as context:
            push, pull = pair_of(context)
            await push.send(b"")
            await pull.receive()
            for call, why in ((pull.receive, "receive: no message came in time"),
                              (pull.receive_batch, "receive: no message came in time"),
                              (netio.Reply(context).receive, "receive: no peer is connected")):
                with self.assertRaises(TimeoutError) as caught:
                    await call(timeout=0.01)
                self.assertEqual(str(caught.exception), why)
            with self.assertRaises(TimeoutError) as caught:
                async with asyncio.timeout(0.01):
                    await pull.receive(timeout=30)
            self.assertEqual(str(caught.exception), "")  # not netio's


class OnePeer(AsyncCase):
    """Calls about one peer of several."""

    async def two_pulls(self, context):
        pulls = [netio.Pull(context, name=name) for name in ("a", "b")]
        push = netio.Push(context)
        for pull in pulls:
            push.connect(pull.bind(TCP))
        await self.until(lambda: sum(peer.up for peer in push.peers()) == 2)
        return push, pulls, {peer.name: peer.id for peer in push.peers()}

    async def test_a_message_goes_to_the_one_that_is_named(self):
        async with netio.Context() as context:
            push, (_, b), ids = await self.two_pulls(context)
            await push.send(b"bytes", 1, peer=ids["b"])
            await push.send_segments([b"two", b"segments"], 2, peer=ids["b"])
            free = await push.lend(bytearray(100_000), 3, peer=ids["b"])
            self.assertIs(push.try_send(b"again", 4, peer=ids["b"]), netio.Status.ok)
            got = [await b.receive() for _ in range(4)]
            self.assertEqual([message.tag for message in got], [1, 2, 3, 4])
            self.assertEqual([bytes(s) for s in got[1].segments], [b"two", b"segments"])
            await push.send(got[0], peer=ids["b"])  # as it is
            self.assertEqual(bytes(await b.receive()), b"bytes")
            await free
            self.assertIs(push.try_send(b"", peer=max(ids.values()) + 1), netio.Status.not_connected)

    async def test_what_cannot_choose_refuses(self):
        async with netio.Context() as context:
            publish = netio.Publish(context)
            publish.bind(TCP)
            with self.assertRaises(netio.StatusError):
                await publish.send(b"", 1, peer=1)
            push, (a, _), ids = await self.two_pulls(context)
            await push.send(b"", peer=ids["a"])
            batch = await a.receive_batch()
            with self.assertRaisesRegex(ValueError, "whose turn"):
                await push.send(batch, peer=ids["a"])

    async def test_what_is_no_id_is_refused_in_words(self):
        async with netio.Context() as context:
            push, (a, _), _ = await self.two_pulls(context)
            wrong = ((push.peers()[0], TypeError, "is a number"), (-1, ValueError, "from 0"),
                     (1 << 64, ValueError, "from 0"))
            for given, kind, words in wrong:
                for call in (lambda: push.try_send(b"", peer=given), lambda: a.pause_peer(given)):
                    with self.assertRaisesRegex(kind, f"the id of a peer .*{words}"):
                        call()

    async def test_one_is_paused_and_the_other_goes_on(self):
        async with netio.Context() as context:
            pull = netio.Pull(context)
            address = pull.bind(TCP)
            pushes = [netio.Push(context, name=name) for name in ("a", "b")]
            for push in pushes:
                push.connect(address)
            await self.until(lambda: sum(peer.up for peer in pull.peers()) == 2)
            ids = {peer.name: peer.id for peer in pull.peers()}
            pull.pause_peer(ids["a"])
            self.assertEqual({p.name: p.paused for p in pull.peers()}, {"a": True, "b": False})
            for push in pushes:
                await push.send(b"", 1)
            self.assertEqual((await pull.receive()).sender, ids["b"])
            with self.assertRaises(TimeoutError):
                await pull.receive(0.05)
            pull.resume_peer(ids["a"])
            self.assertEqual((await pull.receive()).sender, ids["a"])
            with self.assertRaises(netio.StatusError) as caught:
                pull.pause_peer(max(ids.values()) + 1)
            self.assertIs(caught.exception.status, netio.Status.not_connected)
            pull.close()
            await pull.wait_closed()
            with self.assertRaises(netio.ClosedError):
                pull.pause_peer(ids["a"])

    async def test_a_head_and_a_lent_body_are_one_message(self):
        async with netio.Context() as context:
            push, (a, _), ids = await self.two_pulls(context)
            body = bytearray(b"x" * 300_000)
            head = bytearray(b"head")
            free = await push.lend_segments([head, body])
            other = await push.lend_segments([b"head", body])
            with self.assertRaises(BufferError):
                body.extend(b"y")  # it is lent
            head[:] = b"tail"  # which is not
            head.extend(b"y")
            message = await a.receive()
            self.assertEqual([len(s) for s in message.segments], [4, 300_000])
            self.assertEqual(bytes(message.segments[0]), b"head")
            self.assertEqual(push.counters().copies, 0)
            await free
            await other
            body.extend(b"y")


if __name__ == "__main__":
    unittest.main()

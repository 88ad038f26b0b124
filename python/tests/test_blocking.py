"""Sockets whose calls wait, in scripts."""

import os
import signal
import threading
import time
import unittest

from support import LIMIT_S, TCP, interrupt

import netio
from netio import blocking, events


class Blocking(unittest.TestCase):
    def test_send_and_receive_wait(self):
        with blocking.Context() as context:
            with blocking.Pull(context) as pull, blocking.Push(context) as push:
                push.connect(pull.bind(TCP))
                push.send(b"hello", LIMIT_S, tag=3)
                message = pull.receive(LIMIT_S)
                self.assertEqual((bytes(message), message.tag), (b"hello", 3))
            self.assertEqual(push.books().acknowledged, 1)

    def test_a_message_to_all_waits_and_says_who_was_away(self):
        with blocking.Context() as context:
            pulls, push = [blocking.Pull(context) for _ in range(2)], blocking.Push(context)
            with self.assertRaises(TimeoutError):
                push.send_to_all(b"nobody", 0.01)
            for pull in pulls:
                push.connect(pull.bind(TCP))
            answer = push.send_to_all(b"one, or both", LIMIT_S, tag=3)
            self.assertEqual(answer.peers + answer.away, 2)
            while push.peers_connected < 2:
                push.send_to_all(b"again", LIMIT_S)
                pulls[0].receive(0.01)
            answer = push.send_to_all(b"all", LIMIT_S)
            self.assertTrue(answer.to_everyone)
            self.assertEqual(answer.peers, 2)
            for pull in pulls:
                while bytes(pull.receive(LIMIT_S)) != b"all":
                    pass

    def test_a_time_limit_that_is_over_is_a_timeout(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            for wait in (lambda: pull.receive(0.01), lambda: push.send(b"", 0.01),
                         lambda: pull.receive_batch(0), lambda: pull.event(0.01)):
                with self.assertRaises(TimeoutError):
                    wait()

    def test_a_time_limit_says_why_nobody_is_there(self):
        with blocking.Context() as context:
            pull = blocking.Pull(context)
            nobody = "tcp://127.0.0.1:1"
            for socket, operation, call in (
                    (blocking.Push(context), "send", lambda socket: socket.send(b"", 0.01)),
                    (blocking.Request(context), "ask", lambda socket: socket.ask(b"?", 0.01)),
                    (blocking.Subscribe(context), "receive", lambda socket: socket.receive(0.01))):
                with self.assertRaises(TimeoutError) as caught:
                    call(socket)
                self.assertEqual(str(caught.exception), f"{operation}: no peer is connected")
                socket.connect(nobody)
                while not socket.last_failure:
                    socket.event(LIMIT_S)
                with self.assertRaises(TimeoutError) as caught:
                    call(socket)
                self.assertEqual(str(caught.exception), f"{operation}: no peer is connected "
                                 f"(nobody listens at {nobody})")
            push = blocking.Push(context)
            push.connect(nobody)
            while not push.last_failure:
                push.event(LIMIT_S)
            push.connect(pull.bind(TCP))
            push.send(b"", LIMIT_S)
            self.assertIn(nobody, push.last_failure)  # another peer came, not that one
            pull.receive(LIMIT_S)
            for call, why in ((lambda: pull.receive(0.01), "receive: no message came in time"),
                              (lambda: push.send(b"", 0.01, peer=99),
                               "send: no peer with this id is connected")):
                with self.assertRaises(TimeoutError) as caught:
                    call()
                self.assertEqual(str(caught.exception), why)

    def test_a_peer_that_comes_after_all_is_no_failure_any_more(self):
        with blocking.Context() as context:
            push = blocking.Push(context, reconnect_after_min_s=0.01)
            address = f"shm://after-all-{os.getpid()}"
            push.connect(address)
            while not push.last_failure:
                push.event(LIMIT_S)
            pull = blocking.Pull(context)
            pull.bind(address)
            push.send(b"", LIMIT_S)
            self.assertEqual(push.last_failure, "")

    def test_batches_end_when_the_socket_is_closed(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            push.connect(pull.bind(TCP))
            for _ in range(50):
                push.send(bytes(8), LIMIT_S)
            count = 0
            for batch in pull.batches(LIMIT_S):
                count += len(batch)
                if count == 50:
                    pull.close(0)
            self.assertEqual(count, 50)

    def test_a_peer_that_comes_is_an_event(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            push.connect(pull.bind(TCP))
            while not isinstance(event := push.event(LIMIT_S), events.Up):
                pass
            self.assertEqual(event.peer.wire, "tcp")

    def test_requests_are_answered_between_two_threads(self):
        address = []
        bound = threading.Event()

        def serve():
            with blocking.Context() as context, blocking.Reply(context) as reply:
                address.append(reply.bind(TCP))
                bound.set()
                for _ in range(3):
                    request, to = reply.receive(LIMIT_S)
                    reply.answer(to, bytes(request)[::-1], LIMIT_S)

        server = threading.Thread(target=serve)
        server.start()
        bound.wait(LIMIT_S)
        with blocking.Context() as context, blocking.Request(context) as request:
            request.connect(address[0])
            for text in (b"ab", b"cd", b"ef"):
                self.assertEqual(bytes(request.ask(text, LIMIT_S)), text[::-1])
        server.join(LIMIT_S)
        self.assertFalse(server.is_alive())

    def test_a_request_without_a_replier_times_out(self):
        with blocking.Context() as context:
            with self.assertRaises(netio.RequestTimeout):
                blocking.Request(context).ask(b"?", 0.01)

    def test_publish_and_subscribe_wait(self):
        with blocking.Context() as context:
            publish = blocking.Publish(context, subscribers_min=1)
            subscribe = blocking.Subscribe(context, policy=netio.Policy.block)
            subscribe.subscribe(5)
            subscribe.connect(publish.bind(TCP))
            publish.send(b"no", LIMIT_S, tag=4)
            publish.send(b"yes", LIMIT_S, tag=5)
            self.assertEqual(bytes(subscribe.receive(LIMIT_S)), b"yes")

    def test_lend_returns_when_the_buffer_is_free(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            push.connect(pull.bind(TCP))
            buffer = bytearray(1 << 20)
            push.lend(buffer, LIMIT_S)
            buffer.append(1)  # not lent any more
            self.assertEqual(len(pull.receive(LIMIT_S)), 1 << 20)

    def test_lend_waits_for_its_own_buffer(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context, receive_bytes_max=1 << 20), blocking.Push(context)
            push.connect(pull.bind(TCP))
            push.send(b"first", LIMIT_S)
            pull.receive(LIMIT_S)
            pull.pause()
            first, second = bytearray(8 << 20), bytearray(8 << 20)
            with self.assertRaises(TimeoutError):
                push.lend(first, 0.05)
            pull.resume()
            pull.on_message(lambda message: None)
            push.lend(second, LIMIT_S)
            second.append(0)  # not lent any more
            self.assertEqual(push._loans(), 0)

    def test_ctrl_c_in_a_call_back_loses_no_message(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            push.connect(pull.bind(TCP))
            got = []

            def call(message):
                got.append(bytes(message))
                if len(got) == 1:
                    raise KeyboardInterrupt

            for i in range(10):
                push.send(bytes([i]), LIMIT_S)
            while pull.books().delivered < 10:
                context.run_once(0.01)
            pull.on_message(call)  # also for what is here already
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    self.assertTrue(context.run_once(LIMIT_S))
            while len(got) < 10:
                self.assertTrue(context.run_once(LIMIT_S))
            self.assertEqual(b"".join(got), bytes(range(10)))

    def test_an_exception_in_a_call_back_leaves_the_call_that_turned_the_loop(self):
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)

            def fail(event):
                raise ValueError("mine")

            pull.on_event(fail)
            push.connect(pull.bind(TCP))
            with self.assertRaisesRegex(ValueError, "mine"):
                while True:
                    context.run_once(LIMIT_S)
            pull.on_event(None)


class Interrupts(unittest.TestCase):
    """Ctrl-C ends every call that waits, and nothing is lost by it."""

    def interrupted(self, call):
        timer = threading.Timer(0.2, interrupt)
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            timer.start()
            call()
        timer.join()
        self.assertLess(time.monotonic() - begin, LIMIT_S)

    def test_every_call_that_waits_ends(self):
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        with blocking.Context() as context:
            pull, push = blocking.Pull(context), blocking.Push(context)
            request, reply = blocking.Request(context), blocking.Reply(context)
            address = reply.bind(TCP)
            for call in (pull.receive, pull.receive_batch, pull.event, reply.receive,
                         lambda: push.send(b"x"), lambda: push.lend(bytes(8)),
                         lambda: push.allocate(8), lambda: request.ask(b"?"),
                         lambda: context.run_once(None)):
                self.interrupted(call)
            request.connect(address)
            self.interrupted(lambda: request.ask(b"?"))  # it is under way by then
            push.connect(pull.bind(TCP))
            push.send(b"after", LIMIT_S)
            self.assertEqual(bytes(pull.receive(LIMIT_S)), b"after")


if __name__ == "__main__":
    unittest.main()

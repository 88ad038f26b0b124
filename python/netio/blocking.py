"""The sockets of netio for scripts: calls wait for at most a time limit, and turn the loop.

Names are those of netio.blocking in C++. A time limit is a number of seconds, or None: for ever.
When it is over, calls raise TimeoutError. Between two calls nothing happens on the sockets of a
context: no reconnecting, no acknowledgement. Ctrl-C ends a call that waits, and loses nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ._base import (AGAIN, EVENT, NOT_CONNECTED, OK, WRITABLE, ReceivingBase, SendingBase,
                    Socket, SubscribeBase, refused)
from ._netio import Batch, Books, Message, Outcome, ReplyTo, Status, ToAll
from .context import Context
from .errors import ClosedError, RequestTimeout
from .requests import ReplyBase, RequestBase, failed, late, limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self, Unpack

    from .events import Event
    from .options import (PublishOptions, ReplyOptions, RequestOptions, SocketOptions,
                          SubscribeOptions)

__all__ = ["Context", "Pair", "Publish", "Pull", "Push", "Reply", "Request", "Subscribe"]


def _seconds(timeout: float | None) -> float:
    return -1.0 if timeout is None else max(0.0, timeout)


class BlockingSocket(Socket):
    """A socket whose calls wait."""

    def close(self, linger_s: float = 5.0) -> Books:
        """Closes, and returns when every peer has acknowledged, or `linger_s` has passed."""
        if not self.closed:
            super().close(linger_s)
            self._ctx._turn_until(lambda: self.closed, -1.0)
        self._end()
        return self.books()

    def event(self, timeout: float | None = None) -> Event:
        """The next event. Events are kept from the first call on."""
        self._keep_events(True)
        end = None if timeout is None else time.monotonic() + timeout
        while (event := self._next_made_event()) is None:
            if self.closed:
                raise ClosedError("wait for an event", "the socket is closed")
            try:
                self._wait_for(EVENT, end)
            except TimeoutError:
                raise TimeoutError("wait for an event: none came in time") from None
        return event

    def _wait_for(self, kind: int, end: float | None) -> None:
        left = -1.0 if end is None else max(0.0, end - time.monotonic())
        if not self._wait(kind, left):
            raise TimeoutError

    def _until_taken(self, operation: str, attempt: Callable[[], Any],
                     timeout: float | None) -> Any:
        end: float | None = None
        first = True
        while isinstance(answer := attempt(), Status) and answer is not OK:
            if answer is not AGAIN and answer is not NOT_CONNECTED:
                raise refused(operation, answer)
            if first and timeout is not None:
                end = time.monotonic() + timeout
            first = False
            try:
                self._wait_for(WRITABLE, end)
            except TimeoutError:
                why = self._why("there was no room in time", answer)
                raise TimeoutError(f"{operation}: {why}") from None
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if not self.context.closed:
            self.close(5.0 if kind is None else 0.0)


class BlockingSending(SendingBase):
    """What Push, Pair and Publish have in common."""

    def send(self, data: Any, timeout: float | None = None, *, tag: int = 0, peer: int = 0) -> None:
        """Sends a message; waits while there is no room, or no peer.

        With `peer` (PeerInfo.id) it goes to that one; a Publish and a Batch cannot do that.
        """
        if self._try_send(data, tag, peer) is not OK:
            self._until_taken("send", lambda: self._try_send(data, tag, peer), timeout)

    def send_to_all(self, data: Any, timeout: float | None = None, *, tag: int = 0) -> ToAll:
        """Sends a message to every peer that is up: all take it, or nobody gets it.

        Waits while one of them has no room, or no peer is up. Look at `away` and `peers` of the
        answer: who is not up does not get the message. Of Push and Pair; a Publish cannot do that.
        """
        def attempt() -> ToAll | Status:
            answer = self._try_send_to_all(data, tag)
            return answer if answer.status is OK else answer.status

        return self._until_taken("send to all", attempt, timeout)

    def send_segments(self, segments: Iterable[Any], timeout: float | None = None, *,
                      tag: int = 0, peer: int = 0) -> None:
        """Sends one message of up to 64 buffers; the receiver sees where each begins."""
        parts = list(segments)
        self._until_taken("send", lambda: self._try_send_segments(parts, tag, peer), timeout)

    def lend(self, data: Any, timeout: float | None = None, *, tag: int = 0, peer: int = 0) -> None:
        """Sends a buffer without copying it, and returns when it is the caller's again."""
        self._lend(lambda: self._try_lend(data, None, tag, peer), timeout)

    def lend_segments(self, segments: Iterable[Any], timeout: float | None = None, *,
                      tag: int = 0) -> None:
        """Sends one message of up to 64 buffers without copying the last one; returns as lend()."""
        parts = list(segments)
        self._lend(lambda: self._try_lend_segments(parts, None, tag), timeout)

    def _lend(self, attempt: Callable[[], Status], timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        self._until_taken("lend", attempt, timeout)
        token = self._last_loan()
        left = -1.0 if end is None else max(0.0, end - time.monotonic())
        if not self._ctx._turn_until(lambda: not self._is_lent(token), left):
            raise TimeoutError("the buffer is still lent")

    def allocate(self, size: int, timeout: float | None = None, *, tag: int = 0) -> Message:
        """A message of `size` bytes, to be written and sent without a copy."""
        return self._until_taken("allocate", lambda: self._try_allocate(size, tag), timeout)


class BlockingReceiving(ReceivingBase):
    """What Pull, Pair and Subscribe have in common: `for message in socket`."""

    def receive(self, timeout: float | None = None) -> Message:
        """The next message."""
        if (message := self._receive(_seconds(timeout))) is None:
            raise TimeoutError(f"receive: {self._why('no message came in time')}")
        return message

    def receive_batch(self, timeout: float | None = None) -> Batch:
        """The messages of the next page."""
        if (batch := self._receive_batch(_seconds(timeout))) is None:
            raise TimeoutError(f"receive: {self._why('no message came in time')}")
        return batch

    def batches(self, timeout: float | None = None) -> Iterator[Batch]:
        """The messages of each page, until the socket is closed."""
        return _each(self.receive_batch, timeout)

    def __iter__(self) -> Iterator[Message]:
        return _each(self.receive, None)


def _each(receive: Callable[[float | None], Any], timeout: float | None) -> Iterator[Any]:
    while True:
        try:
            item = receive(timeout)
        except ClosedError:
            return
        yield item


class Push(BlockingSocket, BlockingSending):
    """A netio.Push whose calls wait."""

    _pattern = "push"

    def __init__(self, context: Context, **options: Unpack[SocketOptions]) -> None:
        super().__init__(context, **options)


class Pull(BlockingSocket, BlockingReceiving):
    """A netio.Pull whose calls wait."""

    _pattern = "pull"

    def __init__(self, context: Context, **options: Unpack[SocketOptions]) -> None:
        super().__init__(context, **options)


class Pair(BlockingSocket, BlockingSending, BlockingReceiving):
    """A netio.Pair whose calls wait."""

    _pattern = "pair"

    def __init__(self, context: Context, **options: Unpack[SocketOptions]) -> None:
        super().__init__(context, **options)


class Publish(BlockingSocket, BlockingSending):
    """A netio.Publish whose calls wait."""

    _pattern = "publish"

    def __init__(self, context: Context, **options: Unpack[PublishOptions]) -> None:
        super().__init__(context, **options)


class Subscribe(BlockingSocket, BlockingReceiving, SubscribeBase):
    """A netio.Subscribe whose calls wait."""

    _pattern = "subscribe"

    def __init__(self, context: Context, **options: Unpack[SubscribeOptions]) -> None:
        super().__init__(context, **options)


class Request(BlockingSocket, RequestBase):
    """A netio.Request whose calls wait."""

    _pattern = "request"

    def __init__(self, context: Context, **options: Unpack[RequestOptions]) -> None:
        super().__init__(context, **options)

    def ask(self, data: Any, timeout: float | None = None, *, peer: int = 0,
            idempotent: bool = False) -> Message:
        """Asks, and returns the answer. Raises RequestTimeout (a TimeoutError) or RequestError."""
        timeout = limited(timeout)
        end = None if timeout is None else time.monotonic() + timeout

        last: int | Status = AGAIN

        def attempt() -> int | Status:
            nonlocal last
            left = -1.0 if end is None else max(0.0, end - time.monotonic())
            last = self._try_ask(data, None, left, peer, idempotent)
            return last

        try:
            number = self._until_taken("ask", attempt, timeout)
        except TimeoutError:
            raise late(self, last) from None
        answer = self._wait_answer(number)
        if isinstance(answer, Outcome):
            raise failed(answer)
        return answer


class Reply(BlockingSocket, ReplyBase):
    """A netio.Reply whose calls wait: `for request, to in reply: reply.answer(to, data)`."""

    _pattern = "reply"

    def __init__(self, context: Context, **options: Unpack[ReplyOptions]) -> None:
        super().__init__(context, **options)

    def receive(self, timeout: float | None = None) -> tuple[Message, ReplyTo]:
        """The next request and the right to answer it."""
        if (asked := self._receive_request(_seconds(timeout))) is None:
            raise TimeoutError(f"receive: {self._why('no request came in time')}")
        return asked

    def answer(self, to: ReplyTo, data: Any, timeout: float | None = None) -> bool:
        """Answers; waits for room. False if nobody waits for the answer any more."""
        end = None if timeout is None else time.monotonic() + timeout
        while (status := to.try_send(data)) is not OK:
            if status is NOT_CONNECTED:
                return False
            if status is not AGAIN:
                raise refused("answer", status)
            try:
                self._wait_for(WRITABLE, end)
            except TimeoutError:
                raise TimeoutError("answer: there was no room in time") from None
        return True

    def __iter__(self) -> Iterator[tuple[Message, ReplyTo]]:
        return _each(self.receive, None)

"""The sockets of asyncio: what waits is awaited, and an await that is cancelled loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import (AGAIN, CLOSED, EVENT, NOT_CONNECTED, OK, WRITABLE, ReceivingBase, SendingBase,
                    Socket, SubscribeBase, refused)
from ._netio import Batch, Books, Message, Status, ToAll

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Iterable
    from types import TracebackType
    from typing import Self, Unpack

    from .context import Context
    from .events import Event
    from .options import PublishOptions, SocketOptions, SubscribeOptions

__all__ = ["AsyncSocket", "Pair", "Publish", "Pull", "Push", "Subscribe"]


class AsyncSocket(Socket):
    """A socket in asyncio."""

    async def _until(self, kind: int) -> None:
        future = self._ctx._event_loop().create_future()
        self._add_waiter(kind, future)
        try:
            await future
        finally:
            self._remove_waiter(kind, future)

    async def wait_closed(self) -> Books:
        """Waits for the end of close(). Returns the final books."""
        while not self.closed:
            await self._until(CLOSED)
        self._end()
        return self.books()

    def events(self) -> AsyncIterator[Event]:
        """Events from now on, in order, until the socket is closed: peers that come and go, gaps.

        An event is given once, to one who asks. The latest 1,024 wait for that.
        """
        self._keep_events(True)
        return _Events(self)

    async def __aenter__(self) -> Self:
        self._ctx._event_loop()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.close(5.0 if kind is None else 0.0)
        await self.wait_closed()


class _Events:
    def __init__(self, socket: AsyncSocket) -> None:
        self._socket = socket

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while (event := self._socket._next_made_event()) is None:
            if self._socket.closed:
                raise StopAsyncIteration
            await self._socket._until(EVENT)
        return event


class AsyncSending(SendingBase):
    """What Push, Pair and Publish have in common."""

    async def send(self, data: Any, tag: int = 0, *, peer: int = 0) -> None:
        """Sends a message; waits while there is no room, or no peer.

        `data` is anything with the buffer protocol, which is copied; or a Message or a Batch, which
        is sent without a copy and empty afterwards. With `peer` (PeerInfo.id) it goes to that one,
        and waits for it; a Publish and a Batch cannot do that. If this is cancelled, nothing was
        sent.
        """
        if self._ctx._loop is None:
            self._ctx._event_loop()
        while (status := self._try_send(data, tag, peer)) is not OK:
            await self._room("send", status)

    async def send_to_all(self, data: Any, tag: int = 0) -> ToAll:
        """Sends a message to every peer that is up: all take it, or nobody gets it.

        Waits while one of them has no room, or no peer is up. Look at `away` and `peers` of the
        answer: who is not up does not get the message. Of Push and Pair; a Publish cannot do that.
        `data` is anything with the buffer protocol, which is copied.
        """
        if self._ctx._loop is None:
            self._ctx._event_loop()
        while (answer := self._try_send_to_all(data, tag)).status is not OK:
            await self._room("send to all", answer.status)
        return answer

    async def send_segments(self, segments: Iterable[Any], tag: int = 0, *, peer: int = 0) -> None:
        """Sends one message of up to 64 buffers; the receiver sees where each begins."""
        segments = list(segments)
        if self._ctx._loop is None:
            self._ctx._event_loop()
        while (status := self._try_send_segments(segments, tag, peer)) is not OK:
            await self._room("send", status)

    async def lend(self, data: Any, tag: int = 0, *, peer: int = 0) -> asyncio.Future[None]:
        """Lends a buffer, which is not copied. Returns a future that is done when it is released.

        Until then the buffer must not be changed, and cannot be resized.
        """
        future = self._ctx._event_loop().create_future()
        while (status := self._try_lend(data, future, tag, peer)) is not OK:
            await self._room("lend", status)
        return future

    async def lend_segments(self, segments: Iterable[Any], tag: int = 0) -> asyncio.Future[None]:
        """Sends one message of up to 64 buffers, of which the last one is lent as by lend().

        So a header and a large body leave as one message, and the body is not copied. The others
        are copied, and are the caller's again when this returns.
        """
        segments = list(segments)
        future = self._ctx._event_loop().create_future()
        while (status := self._try_lend_segments(segments, future, tag)) is not OK:
            await self._room("lend", status)
        return future

    async def allocate(self, size: int, tag: int = 0) -> Message:
        """A message of `size` bytes, to be written and sent without a copy; waits for memory.

        It is a writable buffer: `message.array("<f4")[:] = ...`. Its contents are undefined at
        first. Do not write to it after it was sent.
        """
        while isinstance(allocated := self._try_allocate(size, tag), Status):
            await self._room("allocate", allocated)
        return allocated

    async def _room(self, operation: str, status: Status) -> None:
        if status is not AGAIN and status is not NOT_CONNECTED:
            raise refused(operation, status)
        await self._until(WRITABLE)


class AsyncReceiving(ReceivingBase):
    """What Pull, Pair and Subscribe have in common: `async for message in socket`."""

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    def __anext__(self) -> Awaitable[Message]:
        return self._anext()

    def batches(self) -> AsyncIterator[Batch]:
        """The messages of each page at once: `async for batch in pull.batches()`."""
        return self._batches()

    async def receive(self, timeout: float | None = None) -> Message:
        """The next message. Raises TimeoutError after `timeout` seconds."""
        if timeout is None:
            return await self._next_message()
        return await received(self, timeout, self._next_message(), "no message came in time")

    async def receive_batch(self, timeout: float | None = None) -> Batch:
        """The messages of the next page. Raises TimeoutError after `timeout` seconds."""
        if timeout is None:
            return await self._next_batch()
        return await received(self, timeout, self._next_batch(), "no message came in time")


async def received(socket: Socket, timeout: float, awaitable: Awaitable[Any], late: str) -> Any:
    """What is awaited; or a TimeoutError that says why nothing came, `late` if a peer is there."""
    from asyncio import timeout as limit_of

    try:
        async with limit_of(timeout) as limit:
            return await awaitable
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeoutError(f"receive: {socket._why(late)}") from None


class Push(AsyncSocket, AsyncSending):
    """Sends each message to one of its Pull peers."""

    _pattern = "push"

    def __init__(self, context: Context, **options: Unpack[SocketOptions]) -> None:
        super().__init__(context, **options)


class Pull(AsyncSocket, AsyncReceiving):
    """Receives from any number of Push peers: in order for each, and from all in turn."""

    _pattern = "pull"

    def __init__(self, context: Context, **options: Unpack[SocketOptions]) -> None:
        super().__init__(context, **options)


class Pair(AsyncSocket, AsyncSending, AsyncReceiving):
    """Sends to its one peer, and receives from it. A second peer is refused."""

    _pattern = "pair"

    def __init__(self, context: Context, **options: Unpack[SocketOptions]) -> None:
        super().__init__(context, **options)


class Publish(AsyncSocket, AsyncSending):
    """Sends each message to all subscribers of its tag; if nobody wants it, to nobody."""

    _pattern = "publish"

    def __init__(self, context: Context, **options: Unpack[PublishOptions]) -> None:
        super().__init__(context, **options)


class Subscribe(AsyncSocket, AsyncReceiving, SubscribeBase):
    """Receives what publishers send with the tags that it asked for."""

    _pattern = "subscribe"

    def __init__(self, context: Context, **options: Unpack[SubscribeOptions]) -> None:
        super().__init__(context, **options)

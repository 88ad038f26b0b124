"""Request and Reply in asyncio: any number of requests under way, answered in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import AGAIN, NOT_CONNECTED, OK, WRITABLE, refused
from ._netio import Message, Outcome, ReplyBooks, ReplyTo, RequestBooks, Status
from .errors import RequestError, RequestTimeout
from .sockets import AsyncSocket, received

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Unpack

    from ._base import Socket
    from .context import Context
    from .options import ReplyOptions, RequestOptions

__all__ = ["Reply", "ReplyTo", "Request"]

_words = {
    Outcome.timed_out: ("its time was over", "the replier may still execute it"),
    Outcome.not_answered: ("the replier received it and gave it up", ""),
    Outcome.cancelled: ("the socket was closed", ""),
    Outcome.not_executed: ("no replier has received it", "it may be asked again"),
    Outcome.in_doubt: ("the connection ended, and nobody knows whether it was received",
                       "ask again only if it may be executed twice (idempotent=True)"),
}


def failed(outcome: Outcome) -> RequestError:
    """The exception for a request that was not answered."""
    kind = RequestTimeout if outcome is Outcome.timed_out else RequestError
    return kind("get an answer", *_words[outcome], outcome)


def late(socket: Socket, answer: int | Status) -> RequestTimeout:
    """The exception for a request whose time was over before a replier had room for it."""
    why = socket._why("no replier had room in time", answer)
    return RequestTimeout("ask", why, "", Outcome.timed_out)


def limited(timeout: float | None) -> float | None:
    """A time limit that is over already is 0.0, and one of a century or more is none."""
    return None if timeout is None or timeout > 3e9 else max(0.0, timeout)


class RequestBase:
    """What the Request of asyncio and the one that blocks have in common."""

    def requests(self) -> RequestBooks:
        """What became of each request; books() counts the messages that carried them."""
        return self._request_books()


class ReplyBase:
    """What the Reply of asyncio and the one that blocks have in common."""

    def requests(self) -> ReplyBooks:
        """What became of each request; books() counts the messages that carried the answers."""
        return self._reply_books()

    def try_receive(self) -> tuple[Message, ReplyTo] | None:
        """The next request and the right to answer it, if one is here."""
        return self._try_receive_request()

    def pause(self) -> None:
        """Reads no more requests for now: requesters are held back."""
        self._pause(True)

    def resume(self) -> None:
        """Goes on after pause()."""
        self._pause(False)

    def on_request(self, call: Callable[[Message, ReplyTo], None] | None) -> None:
        """Calls `call` with each request and the right to answer it."""
        self._set_call("request", call)


class Request(AsyncSocket, RequestBase):
    """Asks Reply peers."""

    _pattern = "request"

    def __init__(self, context: Context, **options: Unpack[RequestOptions]) -> None:
        super().__init__(context, **options)

    async def ask(self, data: Any, timeout: float | None = None, *, peer: int = 0,
                  idempotent: bool = False) -> Message:
        """Asks, and returns the answer.

        Waits while no peer has room for the request, which counts in `timeout` seconds. Raises
        RequestTimeout (a TimeoutError), or RequestError, whose `outcome` says how the request
        ended. If this is cancelled, so is the request, and the replier is told.
        """
        future = self._ctx._event_loop().create_future()
        timeout = limited(timeout)
        number = self._try_ask(data, future, -1.0 if timeout is None else timeout, peer, idempotent)
        if isinstance(number, Status):
            number = await self._ask_when_room(number, data, future, timeout, peer, idempotent)
        try:
            return await future
        except BaseException:
            if not future.done() or future.cancelled():
                self._cancel(number)
            raise

    async def _ask_when_room(self, status: Status, data: Any, future: Any, timeout: float | None,
                             peer: int, idempotent: bool) -> int:
        import asyncio

        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        answer: int | Status = status
        try:
            async with asyncio.timeout_at(end) as limit:
                while isinstance(answer, Status):
                    if answer is not AGAIN and answer is not NOT_CONNECTED:
                        raise refused("ask", answer)
                    await self._until(WRITABLE)
                    left = -1.0 if end is None else max(0.0, end - loop.time())
                    answer = self._try_ask(data, future, left, peer, idempotent)
        except TimeoutError:
            if not limit.expired():
                raise
            raise late(self, answer) from None
        return answer


class Reply(AsyncSocket, ReplyBase):
    """Is given requests: `async for request, to in reply: await to.send(answer)`."""

    _pattern = "reply"

    def __init__(self, context: Context, **options: Unpack[ReplyOptions]) -> None:
        super().__init__(context, **options)

    def __aiter__(self) -> AsyncIterator[tuple[Message, ReplyTo]]:
        return self

    def __anext__(self) -> Awaitable[tuple[Message, ReplyTo]]:
        return self._anext_request()

    async def receive(self, timeout: float | None = None) -> tuple[Message, ReplyTo]:
        """The next request and the right to answer it. Raises TimeoutError."""
        if timeout is None:
            return await self._next_request()
        return await received(self, timeout, self._next_request(), "no request came in time")


async def _send_answer(self: ReplyTo, answer: Any) -> bool:
    """Answers; waits for room if much waits for that requester. False if nobody waits any more."""
    while (status := self.try_send(answer)) is not OK:
        if status is NOT_CONNECTED:
            return False
        if status is not AGAIN:
            raise refused("answer", status)
        await self._owner._until(WRITABLE)
    return True


ReplyTo.send = _send_answer

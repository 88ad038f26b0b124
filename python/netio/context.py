"""A context: a loop, its memory and its transports. It belongs to one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._netio import ContextBase
from .errors import ClosedError, Error

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType
    from typing import Self, Unpack

    from .options import ContextOptions

_get_running_loop: Any = None


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop of asyncio that runs in this thread. Imports asyncio when it is needed."""
    global _get_running_loop
    if _get_running_loop is None:
        from asyncio import get_running_loop

        _get_running_loop = get_running_loop
    return _get_running_loop()


def _running_loop_or_none() -> asyncio.AbstractEventLoop | None:
    try:
        return running_loop()
    except RuntimeError:
        return None


class Context(ContextBase):
    """A loop, its memory and its transports; sockets are made in it.

    In asyncio it is turned by the running event loop, from the first await on one of its sockets
    on. In a script, calls of `netio.blocking` and `run_once()` turn it. It belongs to the thread
    that does so first, and to one event loop.
    """

    def __init__(self, **options: Unpack[ContextOptions]) -> None:
        super().__init__(**options)
        self._loop: asyncio.AbstractEventLoop | None = None

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        loop = (_get_running_loop or running_loop)()
        if loop is not self._loop:
            self._attach(loop)
        return loop

    def _attach(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.closed:
            raise ClosedError("await on a context", "it is closed")
        if self._loop is not None and not self._loop.is_closed():
            raise Error(
                "await on a context", "another event loop turns it",
                "make a context for each event loop",
            )
        self._loop = self._asyncio_loop = loop
        loop.add_reader(self.fileno(), self._turn)
        loop.call_soon(self._first_turn)

    def _first_turn(self) -> None:
        if self._loop is not None and not self.closed:
            self._turn()

    def _detach(self) -> None:
        loop, self._loop, self._asyncio_loop = self._loop, None, None
        if loop is not None and not loop.is_closed():
            loop.remove_reader(self.fileno())

    def close(self, linger_s: float = 5.0) -> None:
        """Begins to close every socket in this context; never blocks. See Socket.close()."""
        if not self.closed:
            self._begin_close(linger_s)

    async def wait_closed(self) -> None:
        """Waits for the end of close(), and gives back the memory of the context."""
        if self.closed:
            return
        while not self._closing_done:
            future = self._event_loop().create_future()
            self._add_waiter(future)
            try:
                await future
            finally:
                self._remove_waiter(future)
        self._finish()

    def _finish(self) -> None:
        if not self.closed:
            self._detach()
            self._destroy()

    async def __aenter__(self) -> Self:
        self._event_loop()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        try:
            self.close(5.0 if kind is None else 0.0)
            await self.wait_closed()
        finally:  # also if this is cancelled: what is left is cut
            self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.closed:
            return
        try:
            self.close(5.0 if kind is None else 0.0)
            self._wait_closed(-1.0)
        finally:
            self._finish()

    def __repr__(self) -> str:
        return f"<netio.Context, {'closed' if self.closed else 'open'}>"

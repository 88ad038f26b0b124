"""What the sockets of asyncio and those that block have in common."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ._netio import (Books, Counters, PeerInfo, PeerSnapshot, ReplyBooks, RequestBooks, SocketBase,
                     Status)
from .errors import ClosedError, StatusError
from .events import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._netio import Batch, Message, ToAll
    from .context import Context
    from .events import Event

READABLE, WRITABLE, EVENT, CLOSED = range(4)
OK, AGAIN, NOT_CONNECTED = Status.ok, Status.again, Status.not_connected

_words = {
    Status.too_big: (
        "the message exceeds a limit",
        "see message_bytes_max at both ends, and large_bytes_max at the other",
    ),
    Status.invalid: ("the call makes no sense in this state", ""),
    Status.not_connected: ("no peer with this id is connected", "peers() says which ones are"),
}


def _described(self: Any) -> str:
    names = [name for kind in reversed(type(self).__mro__) for name, value in vars(kind).items()
             if isinstance(value, property)]
    return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


for _record in (Books, Counters, PeerInfo, PeerSnapshot, ReplyBooks, RequestBooks):
    _record.__repr__ = _described


def refused(operation: str, status: Status) -> Exception:
    """The exception for a status that waiting does not help."""
    if status is Status.closed:
        return ClosedError(operation, "the socket is closed")
    cause, advice = _words.get(status, (f"the answer is {status.name}", ""))
    return StatusError(operation, cause, advice, status)


class Socket(SocketBase):
    """Addresses, peers, books, closing: what all sockets have in common."""

    _pattern = ""

    def __init__(self, context: Context, **options: Any) -> None:
        super().__init__(self._pattern, context, **options)
        self._ctx = context
        self._calls: dict[str, Callable[..., None]] = {}

    def close(self, linger_s: float = 5.0) -> None:
        """Begins to close; never blocks.

        Takes no more messages, delivers those that it has taken, and says good-bye, within
        `linger_s` seconds. What was received may still be taken.
        """
        self._begin_close(linger_s)

    def on_event(self, call: Callable[[Event], None] | None) -> None:
        """Calls `call` with each event; then events() has none."""
        self._set_call("event", call)
        self._keep_events(call is not None)

    def _set_call(self, name: str, call: Callable[..., None] | None) -> None:
        if call is None:
            self._calls.pop(name, None)
        else:
            self._calls[name] = call
        self._call_back_to(weakref.ref(self))
        self._tell_again()  # what came before, which may fill the inbox, is for this call

    def _call_back(self) -> None:
        # After a turn. One call that fails does not keep the others from what is theirs.
        failed: Exception | None = None
        for name, take in (("event", self._next_made_event), ("message", self._try_receive),
                           ("batch", self._try_receive_batch),
                           ("request", self._try_receive_request),
                           ("writable", self._took_writable)):
            call = self._calls.get(name)
            while call is not None and (item := take()) is not None:
                try:
                    call(*item) if name == "request" else call(item)
                except Exception as error:  # noqa: BLE001
                    if failed is None:
                        failed = error
                    else:
                        self._tell_unraisable(error)
                except BaseException:  # such as Ctrl-C: what is left is for the next turn
                    self._tell_again()
                    raise
                call = self._calls.get(name)
        if failed is not None:
            raise failed

    def _took_writable(self) -> bool | None:
        return True if self._take(WRITABLE) else None

    def _next_made_event(self) -> Event | None:
        parts = self._next_event()
        return None if parts is None else made(parts)

    def _why(self, otherwise: str, answer: int | Status = AGAIN) -> str:
        """Why a time limit is over: nobody is connected, with what is known of that, or this.

        `answer` is the last one of a call that was tried until then.
        """
        if self.peers_connected == 0:
            return "no peer is connected" + self._known_of_failure()
        return _words[NOT_CONNECTED][0] if answer is NOT_CONNECTED else otherwise

    def _known_of_failure(self) -> str:
        return f" ({self.last_failure})" if self.last_failure else ""

    def __repr__(self) -> str:
        return f"<netio {self._pattern} socket>"


class SendingBase:
    """Calls that send, and never wait."""

    def try_send(self, data: Any, tag: int = 0, *, peer: int = 0) -> Status:
        """Sends a message, or answers why not. On any answer but ok nothing was taken.

        `data` is anything with the buffer protocol, which is copied; or a Message or a Batch, which
        is sent without a copy and empty afterwards. With `peer` (PeerInfo.id) it goes to that one
        or to nobody; a Publish and a Batch cannot do that.
        """
        return self._try_send(data, tag, peer)

    def try_send_to_all(self, data: Any, tag: int = 0) -> ToAll:
        """Sends a message to every peer that is up, or to nobody; ToAll.status says why.

        Of Push and Pair. `data` is anything with the buffer protocol, which is copied.
        """
        return self._try_send_to_all(data, tag)

    def try_send_segments(self, segments: Iterable[Any], tag: int = 0, *, peer: int = 0) -> Status:
        """Sends one message of up to 64 buffers; the receiver sees where each begins."""
        return self._try_send_segments(segments, tag, peer)

    def try_allocate(self, size: int, tag: int = 0) -> Message | Status:
        """A message of `size` bytes to be written and sent without a copy; or why there is none."""
        return self._try_allocate(size, tag)

    def flush(self) -> None:
        """Hands open pages to the wire now."""
        self._flush()

    def on_writable(self, call: Callable[[], None] | None) -> None:
        """Calls `call` when it is worth trying again, after a try_ call answered again."""
        self._set_call("writable", None if call is None else lambda _: call())


class ReceivingBase:
    """Calls that receive, and never wait."""

    def try_receive(self) -> Message | None:
        """The next message, if one is here."""
        return self._try_receive()

    def try_receive_batch(self) -> Batch | None:
        """The messages of the next page, if one is here."""
        return self._try_receive_batch()

    def pause(self) -> None:
        """Reads nothing more for now: senders are held back."""
        self._pause(True)

    def resume(self) -> None:
        """Goes on after pause()."""
        self._pause(False)

    def pause_peer(self, peer: int) -> None:
        """Reads nothing more of this peer (PeerInfo.id), while others go on.

        What had come of it may still be taken. A peer that this side connected to stays paused when
        it is connected again; one that connected to this side is forgotten with its connection.
        """
        self._of_peer("pause a peer", self._pause_peer(peer, True))

    def resume_peer(self, peer: int) -> None:
        """Goes on after pause_peer()."""
        self._of_peer("resume a peer", self._pause_peer(peer, False))

    def _of_peer(self, operation: str, status: Status) -> None:
        if status is not OK:
            raise refused(operation, status)

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._paused()

    def on_message(self, call: Callable[[Message], None] | None) -> None:
        """Calls `call` with each message."""
        self._set_call("message", call)

    def on_batch(self, call: Callable[[Batch], None] | None) -> None:
        """Calls `call` with the messages of each page."""
        self._set_call("batch", call)


class SubscribeBase:
    """The set of tags of a subscriber."""

    def subscribe(self, *tags: int | tuple[int, int] | range) -> None:
        """Adds tags to the set: numbers, (first, last) with both included, or ranges of step 1."""
        self._subscribe(*tags)

    def subscribe_all(self) -> None:
        """Adds all tags."""
        self._subscribe((0, 2**64 - 1))

    def unsubscribe(self, *tags: int | tuple[int, int] | range) -> None:
        """Takes tags from the set."""
        self._unsubscribe(*tags)

    def unsubscribe_all(self) -> None:
        """Takes all tags from the set."""
        self._unsubscribe((0, 2**64 - 1))

    @property
    def subscribed(self) -> list[tuple[int, int]]:
        """The set, as sorted ranges with both ends included."""
        return self._subscribed()

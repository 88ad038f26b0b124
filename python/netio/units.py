"""Event building in asyncio: read-out units, builder units, and the event manager.

An event is a tuple (run, number). docs/event-building.md says what is promised when one of them
dies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import AGAIN, OK, WRITABLE, refused
from ._netio import Counters, Event, Fragment, FragmentStatus, Missing, Status, WhenFull
from .errors import StatusError
from .sockets import AsyncSocket, received

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable
    from typing import Unpack

    from .context import Context
    from .options import BuilderOptions, ManagerOptions, ReadoutOptions

__all__ = ["BuilderUnit", "Event", "EventId", "EventManager", "Fragment", "FragmentStatus",
           "Missing", "ReadoutUnit", "WhenFull", "end_of_run"]

EventId = tuple[int, int]

_named_max = 8  # units


def end_of_run(run: int) -> EventId:
    """The end of a run, which lies in front of the next run."""
    return run, 2**64 - 1


class ReadoutUnit(AsyncSocket):
    """Has a fragment of every event, and sends it to the builder of the event.

    Fragments are held until their events are settled, so nothing is lost while this lives.
    """

    _pattern = "readout"

    def __init__(self, context: Context, **options: Unpack[ReadoutOptions]) -> None:
        super().__init__(context, **options)

    def connect(self, builder: int, *addresses: str) -> None:
        """Begins to connect to the builder of this number, at one of its addresses."""
        self._readout_connect(builder, list(addresses))

    def join(self, manager: str) -> None:
        """Begins to connect to the event manager, in place of connect() (managed=True)."""
        self._readout_join(manager)

    def try_send(self, event: EventId, fragment: Any,
                 status: FragmentStatus = FragmentStatus.good) -> Status:
        """Holds and sends the fragment of this event; `again` if the store is full."""
        return self._readout_try_send(event, fragment, status)

    async def send(self, event: EventId, fragment: Any,
                   status: FragmentStatus = FragmentStatus.good) -> None:
        """Holds and sends the fragment of this event; waits while the store is full.

        Events come in ascending order; one may be left out. Bytes are copied.
        """
        if self._ctx._loop is None:
            self._ctx._event_loop()
        while (answer := self._readout_try_send(event, fragment, status)) is not OK:
            if answer is Status.invalid:
                raise StatusError("send a fragment",
                                  f"event {event} does not lie above those before it",
                                  "a unit sends its events in ascending order", answer)
            if answer is not AGAIN:
                raise refused("send a fragment", answer)
            await self._until(WRITABLE)

    def advance(self, below: EventId) -> None:
        """This unit has nothing more below this event: at the end, advance(end_of_run(run))."""
        self._readout_advance(below)

    @property
    def settled(self) -> tuple[int, int]:
        """The event (run, number) below which nothing is held any more."""
        return self._readout_settled()

    @property
    def fill(self) -> float:
        """How full the store is, from 0 to 1."""
        return self._readout_fill()

    @property
    def builders_connected(self) -> int:
        """How many builders are connected."""
        return self._readout_builders()

    def books(self) -> dict[str, int]:
        """sent = settled + dropped + late + held, of fragments.

        Without an event manager settled is built + incomplete + what a builder that was killed
        had not told of, and late are those that no event has used. With one, built and incomplete
        are 0, and late are only those that were known to be when they were sent.
        """
        return self._readout_books()

    def held_for_builders(self) -> list[dict[str, Any]]:
        """What the store holds for each builder: which one fills it."""
        return self._readout_held()

    async def finish(self, linger_s: float = 60.0) -> dict[str, int]:
        """Waits until all that was sent is settled, or for `linger_s`; then the unit is closed."""
        self.close(linger_s)
        return await self.wait_closed()


class BuilderUnit(AsyncSocket):
    """Receives the fragments of every read-out unit: `async for event in builder`."""

    _pattern = "builder"

    def __init__(self, context: Context, **options: Unpack[BuilderOptions]) -> None:
        super().__init__(context, **options)

    def bind(self, address: str) -> str:
        """Listens for units. Returns the address with the real port or name."""
        return self._builder_bind(address)

    def join(self, manager: str) -> None:
        """Begins to connect to the event manager (managed=True)."""
        self._builder_join(manager)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    def __anext__(self) -> Awaitable[Event]:
        return self._anext_event()

    async def receive(self, timeout: float | None = None) -> Event:
        """The next event. Raises TimeoutError."""
        if timeout is None:
            return await self._next_built()
        return await received(self, timeout, self._next_built(), "no event came in time")

    def _why(self, otherwise: str, answer: int | Status = AGAIN) -> str:
        # Its peers are of several kinds, and one unit that is missing is enough.
        away = [str(number) for number, source in enumerate(self.books()["sources"])
                if not source["connected"]]
        if not away:
            return otherwise
        more = f" and {len(away) - _named_max} more" if len(away) > _named_max else ""
        return (f"{otherwise}; units that are not connected: {', '.join(away[:_named_max])}{more}"
                + self._known_of_failure())

    def books(self) -> dict[str, Any]:
        """Of events and of the fragments of each source."""
        return self._builder_books()

    @property
    def fill(self) -> float:
        """What is kept, as a share of keep_bytes_max, from 0 to 1."""
        return self._builder_fill()

    def counters(self) -> Counters:
        """What the socket of this builder counted."""
        return self._builder_counters()


class EventManager(AsyncSocket):
    """Gives each range of events to a builder unit when all units have produced it."""

    _pattern = "manager"

    def __init__(self, context: Context, **options: Unpack[ManagerOptions]) -> None:
        super().__init__(context, **options)

    def bind(self, address: str) -> str:
        """Listens for units and builders. Returns the address with the real port or name."""
        return self._manager_bind(address)

    def books(self) -> dict[str, Any]:
        """What it has done, and knows at this moment."""
        return self._manager_books()

    async def stop(self, at: EventId) -> None:
        """Builds no event at or above this one; waits until all below is settled."""
        self._manager_stop(at)
        while not self._manager_stopped():
            await self._until(WRITABLE)

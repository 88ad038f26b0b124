"""netio: messages at the speed of the wire, for asyncio and NumPy.

The sockets of this module are those of asyncio; netio.blocking has the same for scripts, with
calls that wait. Names are those of C++; times are seconds, and their names end in _s.
"""

from ._netio import (Acknowledge, Batch, Books, Counters, Distribute, DownReason, DropReason,
                     IdlePolicy, Message, Mode, Outcome, PeerInfo, PeerSnapshot, Policy, ReplyBooks,
                     RequestBooks, Status, ToAll, fabrics_built)
from . import _arrays  # noqa: F401  (adds array(), tags() and sizes())
from .context import Context
from .errors import (AddressError, ClosedError, Error, NotThereYet, RequestError, RequestTimeout,
                     StatusError)
from .requests import Reply, ReplyTo, Request
from .sockets import Pair, Publish, Pull, Push, Subscribe
from .units import (BuilderUnit, Event, EventManager, Fragment, FragmentStatus, Missing,
                    ReadoutUnit, WhenFull, end_of_run)

__all__ = [
    "Acknowledge", "AddressError", "Batch", "Books", "ClosedError", "Context", "Counters",
    "Distribute", "DownReason", "DropReason", "Error", "IdlePolicy", "Message", "Mode", "Outcome",
    "Pair", "PeerInfo", "PeerSnapshot", "Policy", "Publish", "Pull", "Push", "Reply", "ReplyBooks",
    "ReplyTo", "Request", "RequestBooks", "RequestError", "RequestTimeout", "Status", "StatusError",
    "Subscribe", "ToAll", "fabrics_built", "BuilderUnit", "Event", "EventManager", "Fragment",
    "FragmentStatus", "Missing", "NotThereYet", "ReadoutUnit", "WhenFull", "end_of_run",
]

__version__ = "0.1.0"

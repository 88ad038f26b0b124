"""What happens at a socket beside messages, as `Socket.events()` gives it."""

from __future__ import annotations

from typing import NamedTuple

from ._netio import DownReason, DropReason, PeerInfo, PeerSnapshot, Policy

__all__ = ["Begin", "Behind", "BuilderDown", "BuilderUp", "CaughtUp", "Down", "Event", "Gap",
           "PolicyChanged", "Refused", "Stop", "SubscribedTags", "Subscribed", "UnitDown", "UnitUp",
           "UnsubscribedTags", "Up", "Watermark"]


class Up(NamedTuple):
    """A peer is connected and has been greeted."""

    peer: PeerInfo


class Down(NamedTuple):
    """A connection ended, or an attempt failed (peer.was_up is False then)."""

    peer: PeerInfo
    reason: DownReason
    detail: str


class Gap(NamedTuple):
    """Messages of this peer with the numbers `first` to `first + count - 1` will not come."""

    peer: PeerInfo
    first: int
    count: int
    reason: DropReason


class Watermark(NamedTuple):
    """The fill of the socket reached the high watermark, or fell to the low one."""

    high: bool


class Subscribed(NamedTuple):
    """A publisher took the set of tags of this subscriber, or refused it."""

    peer: PeerInfo
    revision: int
    refused: bool
    from_: int
    policy: Policy
    behind_bytes_max: int
    goes_on: bool
    detail: str


class SubscribedTags(NamedTuple):
    """The set of this subscriber gained these ranges of tags (both ends included)."""

    peer: PeerInfo
    ranges: list[tuple[int, int]]


class UnsubscribedTags(NamedTuple):
    """The set of this subscriber lost these ranges of tags."""

    peer: PeerInfo
    ranges: list[tuple[int, int]]


class Behind(NamedTuple):
    """This subscriber begins to be behind."""

    peer: PeerSnapshot


class CaughtUp(NamedTuple):
    """This subscriber is not behind any more."""

    peer: PeerSnapshot


class PolicyChanged(NamedTuple):
    """The policy of this subscriber has changed (peer.demoted)."""

    peer: PeerSnapshot


class UnitUp(NamedTuple):
    """A read-out unit (at a builder or manager) or a builder (at a unit) is connected."""

    number: int
    peer: PeerInfo


class UnitDown(NamedTuple):
    """The connection to it ended, or could not be made."""

    number: int
    peer: PeerInfo
    reason: DownReason
    detail: str


class BuilderUp(NamedTuple):
    """A builder has joined the event manager."""

    number: int
    peer: PeerInfo


class BuilderDown(NamedTuple):
    """The connection of a builder to the event manager ended."""

    number: int
    peer: PeerInfo
    reason: DownReason
    detail: str


class Refused(NamedTuple):
    """Another end cannot work with this one; `why` is for a person."""

    why: str


class Begin(NamedTuple):
    """A manager has greeted this unit, which may begin with this event or above."""

    produced: tuple[int, int]


class Stop(NamedTuple):
    """The manager wants this unit to end in front of this event."""

    at: tuple[int, int]


Event = (Up | Down | Gap | Watermark | Subscribed | SubscribedTags | UnsubscribedTags | Behind
         | CaughtUp | PolicyChanged | UnitUp | UnitDown | BuilderUp | BuilderDown | Refused | Begin
         | Stop)

_types = {
    "up": Up, "down": Down, "gap": Gap, "watermark": Watermark, "subscribed": Subscribed,
    "subscribed_tags": SubscribedTags, "unsubscribed_tags": UnsubscribedTags, "behind": Behind,
    "caught_up": CaughtUp, "policy_changed": PolicyChanged,
    "unit_up": UnitUp, "unit_down": UnitDown, "builder_up": BuilderUp,
    "builder_down": BuilderDown, "refused": Refused, "begin": Begin, "stop": Stop,
}


def made(parts: tuple) -> Event:
    """The event of what the library recorded."""
    return _types[parts[0]](*parts[1:])

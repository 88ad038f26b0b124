"""The options of contexts and sockets, for type checkers. What they mean: docs/guide.md.

A time is a number of seconds, and its name ends in _s. Sizes are in bytes.
"""

from __future__ import annotations

from typing import TypedDict

from ._netio import Acknowledge, Distribute, IdlePolicy, Mode, Policy, WhenFull


class ContextOptions(TypedDict, total=False):
    """Options of a Context."""

    idle: IdlePolicy
    page_bytes: int
    send_pool_bytes: int
    receive_pool_bytes: int
    large_bytes_max: int
    large_kept_bytes_max: int
    cpu: int
    numa_node: int


class SocketOptions(TypedDict, total=False):
    """Options of every socket."""

    name: str
    mode: Mode
    distribute: Distribute
    flush_after_s: float
    flush_when_idle: bool
    message_bytes_max: int
    send_bytes_max: int
    receive_bytes_max: int
    high_watermark: float
    low_watermark: float
    reconnect_after_min_s: float
    reconnect_after_max_s: float
    resume_bytes_max: int
    resume_within_s: float
    handshake_within_s: float
    half_open_max: int
    peers_max: int
    stall_after_s: float
    keep_alive_after_s: float
    heartbeat_after_s: float
    replace_silent_after_s: float
    acknowledge_after_s: float
    acknowledge: Acknowledge


class PublishOptions(SocketOptions, total=False):
    """Options of a Publish."""

    block_allowed: bool
    block_for_max_s: float
    behind_bytes_max: int
    behind_bytes_all_max: int
    ranges_max: int
    ranges_all_max: int
    subscribers_min: int
    subscribers_any_min: int


class SubscribeOptions(SocketOptions, total=False):
    """Options of a Subscribe."""

    policy: Policy
    behind_bytes_max: int
    behind_for_max_s: float


class RequestOptions(SocketOptions, total=False):
    """Options of a Request."""

    pending_max: int


class ReplyOptions(SocketOptions, total=False):
    """Options of a Reply."""

    open_max: int


class PlanOptions(SocketOptions, total=False):
    """Which builder builds an event: the same at all units, builders and managers."""

    sources: int
    builders: int
    range_events: int
    managed: bool


class ReadoutOptions(PlanOptions, total=False):
    """Options of a ReadoutUnit."""

    source: int
    store_bytes_max: int
    when_full: WhenFull


class BuilderOptions(PlanOptions, total=False):
    """Options of a BuilderUnit."""

    builder: int
    deadline_s: float
    meet_within_s: float
    window_bytes: int
    keep_bytes_max: int
    settle_released: bool
    turns: int
    weight: int
    credit: int


class ManagerOptions(PlanOptions, total=False):
    """Options of an EventManager."""

    lease_s: float
    wait_s: float

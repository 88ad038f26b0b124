"""The exceptions of netio. Each says what was tried, why it failed, and what can be done."""

from __future__ import annotations

__all__ = ["AddressError", "ClosedError", "Error", "NotThereYet", "RequestError", "RequestTimeout",
           "StatusError"]


class Error(Exception):
    """What was tried (`operation`), why it failed (`cause`), what to do (`advice`, may be empty)."""

    def __init__(self, operation: str, cause: str, advice: str = "") -> None:
        super().__init__(operation, cause, advice)
        self.operation = operation
        self.cause = cause
        self.advice = advice

    def __str__(self) -> str:
        text = f"{self.operation}: {self.cause}"
        return f"{text}; {self.advice}" if self.advice else text


class AddressError(Error):
    """An address that makes no sense and never will."""


class NotThereYet(Error):
    """bind(): the address makes sense and may be there later. The call may be made again."""


class ClosedError(Error):
    """The socket or the context was closed."""


class StatusError(Error):
    """A call that waiting does not help; `status` says why (too_big, invalid)."""

    def __init__(self, operation: str, cause: str, advice: str = "", status: object = None) -> None:
        super().__init__(operation, cause, advice)
        self.status = status


class RequestError(Error):
    """A request that was not answered; `outcome` says how it ended."""

    def __init__(self, operation: str, cause: str, advice: str = "", outcome: object = None) -> None:
        super().__init__(operation, cause, advice)
        self.outcome = outcome


class RequestTimeout(RequestError, TimeoutError):
    """A request whose time was over before the answer came."""

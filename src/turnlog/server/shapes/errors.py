"""What every failure looks like."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["ErrorBody", "ErrorDetail", "ErrorDocument"]


class ErrorDetail(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One of the things that are wrong with a request."""

    where: str
    """The parameter, or the field of the body."""
    message: str
    at: int | None = None
    """The character at which it is, counted from 0."""


class ErrorBody(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What went wrong."""

    code: str
    """For programs; it does not change."""
    message: str
    """For people."""
    details: tuple[ErrorDetail, ...] = ()
    request_id: str | None = None
    """Under which the server's own log has more; only where the failure is the server's."""


class ErrorDocument(Struct, frozen=True, gc=False, kw_only=True):
    """The one shape of every failure."""

    error: ErrorBody

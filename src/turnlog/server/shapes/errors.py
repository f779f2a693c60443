"""What every failure looks like."""

from __future__ import annotations

from msgspec import Struct


class ErrorDetail(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One problem with a request."""

    where: str
    """The parameter, or the field of the body."""
    message: str
    at: int | None = None
    """The position of the character, counted from 0."""


class ErrorBody(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What went wrong."""

    code: str
    """For programs; it does not change."""
    message: str
    """For people."""
    details: tuple[ErrorDetail, ...] = ()
    request_id: str | None = None
    """The id under which the server's log has more; only for internal errors."""


class ErrorDocument(Struct, frozen=True, gc=False, kw_only=True):
    """The shape of every error response."""

    error: ErrorBody

"""Failures of requests, and the one shape in which they are answered.

    RequestError             a request that is not answered as asked; carries status, code and message
    ├── InvalidRequestError  422: invalid parameters or an invalid body; carries what is wrong where
    ├── NotFoundError        404
    └── NotModifiedError     304: the client has it already; carries the ETag

Handlers raise these, or any `TurnlogError`, whose meaning stands in one table (`security.gate`). Messages never
contain paths of the server. Nothing here needs the web framework: the MCP server raises them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
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


_NO_HEADERS: Mapping[str, str] = {}


class RequestError(Exception):
    """A request that is not answered as asked."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: tuple[ErrorDetail, ...] = (),
        headers: Mapping[str, str] = _NO_HEADERS,
        request_id: str | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers
        self.request_id = request_id
        super().__init__(status, code, message)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


class InvalidRequestError(RequestError):
    """Parameters or a body that make no sense."""

    def __init__(self, message: str, *details: ErrorDetail) -> None:
        super().__init__(422, "invalid_request", message, details=details)


class NotFoundError(RequestError):
    """Something that is not there."""

    def __init__(self, message: str) -> None:
        super().__init__(404, "not_found", message)


class NotModifiedError(RequestError):
    """The client has it already."""

    def __init__(self, etag: str) -> None:
        super().__init__(304, "not_modified", "", headers={"etag": etag})


def encode_failure(failure: RequestError) -> bytes:
    """Return the body of a failure, as JSON; empty for 304."""
    if failure.status == HTTPStatus.NOT_MODIFIED:
        return b""
    body = ErrorBody(
        code=failure.code, message=failure.message, details=failure.details, request_id=failure.request_id
    )
    return msgspec.json.encode(ErrorDocument(error=body))

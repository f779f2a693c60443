"""Every failure has one shape, and it is made here.

    RequestError             a request that is not answered as asked; carries status, code and message
    ├── InvalidRequestError  422: invalid parameters or an invalid body; carries what is wrong where
    ├── NotFoundError        404
    └── NotModifiedError     304: the client has it already; carries the ETag

Handlers raise these, or any `TurnlogError`, whose meaning stands in one table here. Of anything else the client
learns only an id, under which the log has the rest. Messages never contain paths of the server.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from msgspec import Struct

from turnlog.errors import (
    AccountError,
    ArchiveError,
    BusyStoreError,
    CursorError,
    LostStoreError,
    MarkError,
    RestoreError,
    TakenMachineError,
    TurnlogError,
)


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


logger = logging.getLogger("turnlog.server")

_MISSING = re.compile(r"Missing required \w+ parameter '(\w+)'")
_RENAMED = {"call_state": "state"}
"""Parameters that cannot have their own names in a handler, where Litestar gives these another meaning."""
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
    """Return what a failure says, as JSON; nothing for those that say nothing."""
    if failure.status == HTTPStatus.NOT_MODIFIED:
        return b""
    body = ErrorBody(
        code=failure.code, message=failure.message, details=failure.details, request_id=failure.request_id
    )
    return msgspec.json.encode(ErrorDocument(error=body))


def build_failure(error: Exception, request_id: str) -> RequestError:
    """Return what a client may know of an exception; the log gets what it may not."""
    match error:
        case RequestError():
            return error
        case ValidationException():
            return InvalidRequestError("The request is not valid", *_list_details(error))
        case HTTPException() if error.status_code < 500:
            return _translate(error)
        case RecursionError() if "deserializing" in str(error):  # a body of a hundred thousand brackets
            return RequestError(400, "bad_request", "The request cannot be read")
        case BusyStoreError():
            return RequestError(
                503, "busy", "The archive is being written; try again", headers={"retry-after": "1"}
            )
        case LostStoreError():
            logger.error("request %s: %s", request_id, error)
            return RequestError(
                503, "unavailable", "The archive cannot be reached; try again", headers={"retry-after": "2"}
            )
        case TakenMachineError():
            return RequestError(403, "machine_taken", "This machine belongs to another person")
        case RestoreError():
            where = ErrorDetail(where=error.path.encode("utf-8", "replace").decode(), message=error.reason)
            return RequestError(
                409, "in_the_way", "The file may not be restored to its place", details=(where,)
            )
        case ArchiveError():
            logger.error("request %s: %s", request_id, error)
            return RequestError(500, "damaged", "The archive is damaged here", request_id=request_id)
        case CursorError():
            return InvalidRequestError(
                "The cursor is not valid", ErrorDetail(where="cursor", message=str(error))
            )
        case MarkError() | AccountError():
            return InvalidRequestError(str(error))
        case TurnlogError() if isinstance(at := getattr(error, "at", None), int):
            # A query of the search language, which says where it ceases to be one.
            return InvalidRequestError(
                "The query is not valid", ErrorDetail(where="q", message=str(error), at=at)
            )
    logger.error("request %s failed", request_id, exc_info=error)
    return RequestError(
        500, "internal", "Something went wrong on the server; its log has more", request_id=request_id
    )


def _translate(error: HTTPException) -> RequestError:
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.BAD_REQUEST:  # a body that is no JSON, a parameter that is no UTF-8
        return RequestError(400, "bad_request", "The request cannot be read")
    code, message = _KNOWN.get(status, (status.name.lower(), status.phrase))
    allowed = [value for name, value in (error.headers or {}).items() if name.lower() == "allow"]
    headers = {"allow": _add_head(allowed[0])} if allowed else {}
    return RequestError(status.value, code, message, headers=headers)


def _add_head(allowed: str) -> str:
    """Return the methods that are allowed: what can be asked for by GET can be by HEAD."""
    methods = [each.strip() for each in allowed.split(",")]
    return ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))


_KNOWN = {
    HTTPStatus.NOT_FOUND: ("not_found", "There is nothing at this address"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "This method is not allowed here"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("too_large", "The request is too large"),
}


def _list_details(error: ValidationException) -> tuple[ErrorDetail, ...]:
    """Return what Litestar found wrong, without what was given: that may be a secret."""
    missing = _MISSING.match(error.detail)
    if missing is not None:
        return (ErrorDetail(where=_name(missing[1]), message="Expected a value, got none"),)
    found = error.extra if isinstance(error.extra, list) else []
    return tuple(
        ErrorDetail(
            where=_name(each.get("key", each.get("source", "body"))), message=str(each.get("message", ""))
        )
        for each in found
        if isinstance(each, dict)
    )


def _name(parameter: object) -> str:
    return _RENAMED.get(str(parameter), str(parameter))


def _answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    failure = build_failure(error, str(request.scope["state"].get("request_id", "")))
    body = encode_failure(failure)
    return Response(
        body,
        status_code=failure.status,
        headers=dict(failure.headers),
        media_type="application/json" if body else None,
    )


EXCEPTION_HANDLERS: dict[int | type[Exception], Any] = {HTTPException: _answer, Exception: _answer}
"""For Litestar: whatever is raised, one shape."""

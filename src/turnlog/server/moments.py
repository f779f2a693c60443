"""Times that people ask for."""

from __future__ import annotations

from datetime import UTC, datetime

from turnlog.instants import to_microseconds
from turnlog.server.errors import InvalidRequestError
from turnlog.server.shapes.errors import ErrorDetail


def parse_moment(where: str, text: str | None) -> int | None:
    """Return a date or a time in microseconds since 1970; without a zone it is UTC.

    Raises `InvalidRequestError`.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        problem = f"expected a date or a time such as 2026-01-31 or 2026-01-31T12:00:00Z, got {text!r}"
        raise InvalidRequestError("A time is not valid", ErrorDetail(where=where, message=problem)) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return to_microseconds(moment)

"""Which machine may push: the one place that decides it."""

from __future__ import annotations

import re
from typing import Any

from litestar.connection import ASGIConnection

from turnlog.server.errors import InvalidRequestError
from turnlog.server.shapes.errors import ErrorDetail

__all__ = ["check_machine"]

_FORM = re.compile(r"[0-9a-f]{32}")


def check_machine(connection: ASGIConnection[Any, Any, Any, Any], origin: str) -> None:
    """Raise `RequestError` unless whoever asks may push what comes from a machine, and learn what is there.

    Whoever has the server's token may, for every machine.
    """
    if not _FORM.fullmatch(origin):
        problem = ErrorDetail(where="origin", message="Expected 32 hexadecimal digits")
        raise InvalidRequestError("The request is not valid", problem)

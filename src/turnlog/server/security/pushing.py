"""Which machine may push: the one place that decides it.

A machine's token is good for the first machine that used it alone. The guard binds it to the machine that the
request names, and a handler asks here with the name that it was given.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from litestar.connection import ASGIConnection

from turnlog.errors import UploadError
from turnlog.ingest.uploads.protocol import Machine
from turnlog.ingest.uploads.receiver import KnownMachines
from turnlog.server.errors import InvalidRequestError, RequestError
from turnlog.server.security.callers import Caller, CallerKind
from turnlog.server.shapes.errors import ErrorDetail

_NAMELESS = Machine()
_FORM = re.compile(r"[0-9a-f]{32}")
_PUSHED = "pushed_origin"
"""Where a request's state has the machine that its token is good for."""

_Connection = ASGIConnection[Any, Any, Any, Any]


def find_pushed(connection: _Connection) -> str | None:
    """Return the machine that a request says it comes from; None if it says none, or more than one."""
    given = connection.query_params.getall("origin", [])
    return given[0] if len(given) == 1 and _FORM.fullmatch(given[0]) else None


def note_pushed(connection: _Connection, origin: str | None) -> None:
    """Remember which machine the request's token is good for."""
    connection.scope["state"][_PUSHED] = origin


def check_machine(connection: _Connection, caller: Caller, origin: str) -> None:
    """Raise `RequestError` unless whoever asks may push what comes from a machine, and learn what is there.

    Whoever has the server's token may, for every machine. Whose a machine is, is found out when something is
    taken from it.
    """
    if not _FORM.fullmatch(origin):
        problem = ErrorDetail(where="origin", message="Expected 32 hexadecimal digits")
        raise InvalidRequestError("The request is not valid", problem)
    if caller.kind is CallerKind.MACHINE and connection.scope["state"].get(_PUSHED) != origin:
        raise RequestError(403, "another_machine", "This token belongs to another machine")


async def note_machine(machines: KnownMachines, caller: Caller, origin: str, told: Machine = _NAMELESS) -> None:
    """Note that something comes from a machine of the caller's; raises `RequestError` if it is not theirs."""
    try:
        await asyncio.to_thread(machines.note, origin, caller.name, told)
    except UploadError as error:
        raise RequestError(403, error.code, error.reason) from None

"""Bodies, taken at their word.

Litestar takes "false" and 0 for false, as is right for parameters, which are always text. JSON has a false of
its own, and whoever says something else may mean something else: nothing is changed on a guess. So a handler
that changes something takes `data`, by which the schema knows it, and reads `body` again.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from turnlog.server.errors import InvalidRequestError
from turnlog.server.shapes.errors import ErrorDetail

_Body = TypeVar("_Body", bound=Struct)


def decode_body(body: bytes, kind: type[_Body]) -> _Body:
    """Return what a body says; raises `InvalidRequestError` if anything in it is of another type."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        problem = ErrorDetail(where="body", message=str(error))
        raise InvalidRequestError("The request is not valid", problem) from None

"""The JSON between the SDK's values and ours.

The SDK's dicts are spelled almost as the wire is, so both sides meet there. What our types cannot hold must not
vanish on the way: `settle` raises for it, and lets pass only what stays visible, unknown types and new words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, TypeVar

from turnlog.errors import ChangeError
from turnlog.messages import ProblemKind, Unknown, Value, View, encode, view

T = TypeVar("T")

_KEPT = frozenset({ProblemKind.UNKNOWN_TYPE, ProblemKind.UNKNOWN_VALUE})


def to_wire(members: Any) -> bytes:
    """Write a value of the SDK's as JSON, and paths as their text; `ChangeError` for what has no JSON form."""
    try:
        return json.dumps(members, allow_nan=False, default=_text).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ChangeError(f"cannot be written as JSON: {error}") from error


def to_members(value: Value | Unknown) -> Any:
    """Return a value of ours as the dict that the SDK would hold, in the wire's spelling."""
    return json.loads(encode(value))


def read_members(type_: Any, members: Any) -> Any:
    """Return a dict of the SDK's as a value of ours; raises for what the type has no place for."""
    return settle(view(type_, to_wire(members)))


def settle(seen: View[T]) -> T | Unknown:
    """Return the value of a view that holds everything; raise `DecodeError` for what it lacks."""
    for problem in seen.problems:
        if problem.kind not in _KEPT:
            raise problem.error()
    return seen.value


def refuse(names: Iterable[str], where: str) -> None:
    """Raise `ChangeError` if there are any names: they say what the SDK has no place for."""
    listed = ", ".join(f"`{name}`" for name in names)
    if listed:
        raise ChangeError(f"the SDK has no field for {listed} of {where}")


def _text(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")

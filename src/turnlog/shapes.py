"""Shapes, as answers have them, made from values that call most things the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from turnlog.instants import find_moment

Shape = TypeVar("Shape", bound=Struct)
_MISSING = object()


def fill(kind: type[Shape], /, *sources: object, **own: Any) -> Shape:
    """Return a struct with some values of its own; for the others, the first source that has one counts."""
    return kind(**find_values(kind, sources, own))


def find_values(kind: type[Struct], sources: Sequence[object], own: dict[str, Any]) -> dict[str, Any]:
    """Return all values of a struct, by the names of its fields."""
    for name in kind.__struct_fields__:
        if name not in own:
            for source in sources:
                value = getattr(source, name, _MISSING)
                if value is not _MISSING:
                    own[name] = value
                    break
    return own


def fill_dated(kind: type[Shape], source: object, /, **own: Any) -> Shape:
    """Return as `fill` does; `created_at` of the struct is `created_ns` of the source, in nanoseconds."""
    for name in kind.__struct_fields__:
        if name.endswith("_at") and name not in own:
            at_ns = getattr(source, f"{name.removesuffix('_at')}_ns")
            own[name] = None if at_ns is None else find_moment(at_ns // 1000)
    return fill(kind, source, **own)

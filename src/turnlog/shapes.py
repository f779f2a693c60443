"""Shapes, as answers have them, made from values that call most things the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from turnlog.instants import find_moment

Shape = TypeVar("Shape", bound=Struct)


def fill(kind: type[Shape], *sources: object, **own: Any) -> Shape:
    """Return a struct with some values of its own; for the others, the first source that has one counts."""
    names = (name for name in kind.__struct_fields__ if name not in own)
    return kind(**{name: _read(sources, name) for name in names}, **own)


def fill_dated(kind: type[Shape], source: object, **own: Any) -> Shape:
    """Return as `fill` does; `created_at` of the struct is `created_ns` of the source, in nanoseconds."""
    names = [name for name in kind.__struct_fields__ if name.endswith("_at") and name not in own]
    times = {name: getattr(source, f"{name.removesuffix('_at')}_ns") for name in names}
    moments = {name: None if at_ns is None else find_moment(at_ns // 1000) for name, at_ns in times.items()}
    return fill(kind, source, **moments, **own)


def _read(sources: Sequence[object], name: str) -> Any:
    return getattr(next((each for each in sources if hasattr(each, name)), sources[-1]), name)

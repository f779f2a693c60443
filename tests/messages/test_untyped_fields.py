"""Types end only where the table says so, and why."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct

import turnlog.messages
from turnlog.messages import tool_io
from turnlog.messages.base import Value
from untyped_fields import UNTYPED_FIELDS

ALIASES = {"McpInput", "McpObject", "StructuredOutputInput"}


def parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for argument in get_args(annotation):
        yield from parts(argument)


def values() -> set[type[Struct]]:
    found: set[type[Struct]] = set()
    for module in pkgutil.walk_packages(turnlog.messages.__path__, "turnlog.messages."):
        for item in vars(importlib.import_module(module.name)).values():
            if isinstance(item, type) and issubclass(item, Value):
                found.add(item)
    return found


def own_fields(cls: type[Struct]) -> Iterator[msgspec.structs.FieldInfo]:
    inherited = {name for base in cls.__bases__ for name in getattr(base, "__struct_fields__", ())}
    return (info for info in msgspec.structs.fields(cls) if info.name not in inherited)


def test_the_table_names_every_untyped_field_and_no_other() -> None:
    untyped = {
        f"{cls.__name__}.{info.name}"
        for cls in values()
        for info in own_fields(cls)
        if any(part in (Raw, Any, object, dict) for part in parts(info.type))
    }
    assert untyped == set(UNTYPED_FIELDS) - ALIASES
    assert {getattr(tool_io, name) for name in ALIASES} == {dict[str, Raw]}


def test_every_entry_of_the_table_gives_a_reason() -> None:
    assert all(reason for reason in UNTYPED_FIELDS.values())

"""Which type reads which line of an older dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.messages.dialects import Dialect
from turnlog.messages.legacy.base import LegacyLine
from turnlog.messages.legacy.spec_000 import Assistant000, CompactSystem000, System000, User000
from turnlog.messages.legacy.spec_003 import Api003, Document003, StoredType
from turnlog.messages.legacy.spec_004 import (
    Assistant004,
    CompactPrelude004,
    CompactRecap004,
    Human004,
    System004,
    ToolResult004,
    User004,
)


def _by_tag(*classes: type[LegacyLine]) -> Mapping[Any, type[LegacyLine]]:
    return {cls.__struct_config__.tag: cls for cls in classes}


_LINE_TYPES: Mapping[Dialect, Mapping[Any, type[LegacyLine]]] = {
    Dialect.SPEC_000: _by_tag(User000, Assistant000, System000, CompactSystem000),
    Dialect.SPEC_003_EXTRACTED: dict.fromkeys((StoredType.TOOL_USE, StoredType.TOOL_RESULT), Document003),
    Dialect.SPEC_003_DOCUMENT: dict.fromkeys(StoredType, Document003),
    Dialect.SPEC_003_API: dict.fromkeys(StoredType, Api003),
    Dialect.SPEC_004: _by_tag(
        Human004, User004, Assistant004, ToolResult004, System004, CompactPrelude004, CompactRecap004
    ),
}


def find_line_type(dialect: Dialect, type_: str | None) -> type[LegacyLine] | None:
    """Return the type of a dialect's lines of this `type`, or None."""
    return _LINE_TYPES[dialect].get(type_)

"""The older dialects of specs 000, 003 and 004, brought to today's model.

Each dialect has types of its own for what stands in the file, so that it is as strictly typed as today's. They
are lifted to the entries that everything else works with, and lowered again when a line is changed.
"""

from turnlog.messages.legacy.base import LegacyLine
from turnlog.messages.legacy.extended_json import ObjectId, StoredDate, StoredNumber
from turnlog.messages.legacy.lines import find_line_type
from turnlog.messages.legacy.spec_000 import (
    Assistant000,
    AssistantAction,
    CompactSystem000,
    System000,
    SystemNote,
    User000,
)
from turnlog.messages.legacy.spec_003 import Api003, Document003, StoredType, StoredUsage
from turnlog.messages.legacy.spec_004 import (
    Assistant004,
    CompactPrelude004,
    CompactRecap004,
    Human004,
    System004,
    ToolResult004,
    User004,
)

__all__ = [
    "Api003",
    "Assistant000",
    "Assistant004",
    "AssistantAction",
    "CompactPrelude004",
    "CompactRecap004",
    "CompactSystem000",
    "Document003",
    "Human004",
    "LegacyLine",
    "ObjectId",
    "StoredDate",
    "StoredNumber",
    "StoredType",
    "StoredUsage",
    "System000",
    "System004",
    "SystemNote",
    "ToolResult004",
    "User000",
    "User004",
    "find_line_type",
]

"""What a line means: the types of everything that Claude Code writes, and the codec between them and bytes.

`decode` and `encode` are the way in and out. The types live in modules by subject: `entries` (with `envelope`,
`system`, `metadata`, `attachments`, `progress`), `message`, `blocks`, `usage`, `tool_io`, and `legacy` for the
older dialects.
"""

from turnlog.messages.base import (
    UNSET,
    OpenEnum,
    Raw,
    Unknown,
    UnknownBlock,
    UnknownField,
    UnsetType,
    Value,
)
from turnlog.messages.codec import Line, Position, decode, decode_envelope, encode
from turnlog.messages.dialects import Dialect
from turnlog.messages.entries import Entry, UnknownEntry
from turnlog.messages.problems import Problem, ProblemKind
from turnlog.messages.salvage import View, view

__all__ = [
    "UNSET",
    "Dialect",
    "Entry",
    "Line",
    "OpenEnum",
    "Position",
    "Problem",
    "ProblemKind",
    "Raw",
    "Unknown",
    "UnknownBlock",
    "UnknownEntry",
    "UnknownField",
    "UnsetType",
    "Value",
    "View",
    "decode",
    "decode_envelope",
    "encode",
    "view",
]

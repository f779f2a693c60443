"""A message as the rules about threads see it: all but what it says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from turnlog.messages import Dialect, Line
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import StoredType
from turnlog.transcripts.lines.blocks import find_stored_type
from turnlog.transcripts.validation.findings import Spot
from turnlog.transcripts.validation.rules import STORED


class Kind(Enum):
    """What a message is, as far as threads go; the value is what to call it."""

    USER = "a user message"
    ASSISTANT = "an assistant message"
    CALLER = "an assistant message that calls tools"
    TOOL_USE = "a tool use"
    TOOL_RESULT = "a tool result"
    OTHER = "no part of the conversation"


_STORED: Mapping[StoredType, Kind] = MappingProxyType(
    {
        StoredType.USER: Kind.USER,
        StoredType.TOOL_USE: Kind.TOOL_USE,
        StoredType.TOOL_RESULT: Kind.TOOL_RESULT,
        StoredType.SUMMARY: Kind.OTHER,
    }
)


def kind_of(line: Line, calls: bool, answers: bool) -> Kind:
    """Return what the message of a line is, given whether it calls tools, and whether it answers calls."""
    stored = None if line.wire is None else find_stored_type(line)
    if stored is not None and stored in _STORED:
        return _STORED[stored]
    if isinstance(line.entry, AssistantEntry):
        return Kind.CALLER if calls else Kind.ASSISTANT
    if isinstance(line.entry, UserEntry):
        return Kind.TOOL_RESULT if answers else Kind.USER
    return Kind.OTHER


class Node:
    """A message: its names, and its place among the others."""

    __slots__ = (
        "has_tool_child",
        "is_stored",
        "is_tool",
        "kind",
        "ordinal",
        "parent_uuid",
        "session",
        "sidechain",
        "spot",
        "time",
        "uuid",
    )

    def __init__(self, entry: Envelope, kind: Kind, time: datetime | None, spot: Spot) -> None:
        self.spot = spot
        self.kind = kind
        self.time = time
        self.is_stored = spot.dialect is not Dialect.CLAUDE_CODE and spot.dialect in STORED
        """Whether it is one of spec 003's documents."""
        self.is_tool = kind is Kind.TOOL_USE or (kind is Kind.TOOL_RESULT and self.is_stored)
        """Whether it is a message of a call or a result alone (spec 003)."""
        self.uuid = entry.uuid if type(entry.uuid) is str else ""
        self.parent_uuid = entry.parent_uuid if type(entry.parent_uuid) is str else ""
        self.session = entry.session_id if type(entry.session_id) is str else ""
        self.sidechain = entry.is_sidechain
        """As the line has it; anything but true means that it is not in a sidechain."""
        self.has_tool_child = False
        self.ordinal = -1
        """Which of the nodes that can be a parent; negative for those that cannot."""

    def shares_session(self, other: Node) -> bool:
        """Tell whether two messages can be of one session; one that names none can be of any."""
        return self.session == other.session or not self.session or not other.session

"""Parameters that several routes take, each with its limits and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from litestar.params import PathParameter, QueryParameter

from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.categories import Category, Role

__all__ = [
    "FROM_ZERO",
    "LARGEST",
    "RENAMED",
    "Active",
    "After",
    "AgentId",
    "Around",
    "Before",
    "BranchNumber",
    "Categories",
    "Counted",
    "Cursor",
    "Lanes",
    "Limit",
    "NamedSession",
    "NamedSource",
    "Roles",
    "Source",
    "Text",
    "WindowLimit",
    "find_next",
]

LARGEST = 1 << 53
"""The largest number that all who read JSON read alike; the store takes no larger ones than 64 bits."""
FROM_ZERO: dict[str, Any] = {"minimum": 0}
"""Litestar leaves a minimum out of the schema if it is 0."""

NamedSession: TypeAlias = Annotated[
    str,
    PathParameter(
        description="A session: its key, its id, or a beginning of either that no other has, of 4 characters "
        "or more."
    ),
]
NamedSource: TypeAlias = Annotated[
    str, PathParameter(description="A file of the session, as `source` of what is in it.")
]
Counted: TypeAlias = Annotated[
    int, PathParameter(ge=0, le=LARGEST, description="Counted from 0.", schema_extra=FROM_ZERO)
]
Source: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        max_length=200,
        description="The file of the session that is meant, as `source` of a message or an agent; its "
        "transcript if none is given.",
    ),
]
Limit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=500, description="The most to answer at once.")]
Cursor: TypeAlias = Annotated[
    int,
    QueryParameter(
        ge=0, le=LARGEST, description="Where to go on: `next` of the answer before.", schema_extra=FROM_ZERO
    ),
]
Text: TypeAlias = Annotated[str | None, QueryParameter(max_length=500)]

# What windows of a conversation are asked for with.
AgentId: TypeAlias = Annotated[
    str | None, QueryParameter(max_length=200, description="The id of the sub-agent whose messages they are.")
]
Around: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        max_length=200,
        description="The middle of the window: a message's uuid or index, or `end`. A uuid is looked for "
        "in all files of the session, unless one is given.",
    ),
]
Before: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=0,
        le=LARGEST,
        description="Only messages above this index: `before` of a window.",
        schema_extra=FROM_ZERO,
    ),
]
After: TypeAlias = Annotated[
    int | None,
    QueryParameter(ge=-1, le=LARGEST, description="Only messages below this index: `after` of a window."),
]
WindowLimit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200, description="The most messages.")]
Lanes: TypeAlias = Annotated[
    list[Lane] | None,
    QueryParameter(max_items=20, description="What is said, what is done, what sub-agents say."),
]
Roles: TypeAlias = Annotated[
    list[Role] | None, QueryParameter(max_items=20, description="What they are in the conversation.")
]
Categories: TypeAlias = Annotated[
    list[Category] | None, QueryParameter(max_items=20, description="The sort of action or event.")
]
BranchNumber: TypeAlias = Annotated[
    int | None,
    QueryParameter(ge=0, le=LARGEST, description="The number of a branch of the tree.", schema_extra=FROM_ZERO),
]
Active: TypeAlias = Annotated[
    bool | None, QueryParameter(description="Whether they are on the way to the newest message.")
]

RENAMED: dict[str, str] = {"call_state": "state"}
"""Parameters that cannot have their own names in a handler, where Litestar gives these another meaning."""


def find_next(cursor: int, items: Sequence[object], total: int) -> str | None:
    """Return where to go on behind some things; None at the end."""
    end = cursor + len(items)
    return str(end) if items and end < total else None

"""What things are called in the store.

A line is identified by its origin (which machine), source (which file), generation (a file that was rewritten
starts a new one) and byte offset. The path of a file is an attribute: files are moved. A source is named after
its origin and the path at which it was first seen, so whoever syncs first and in whatever order, the names are
the same.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b

from msgspec import Struct

__all__ = ["LOCAL", "Place", "Scope", "SourceKind", "Viewer", "name_source"]


class SourceKind(StrEnum):
    """What a file is for."""

    __hash__ = str.__hash__  # that of enums is written in Python

    TRANSCRIPT = "transcript"
    AGENT = "agent"
    AGENT_META = "agent-meta"
    JOURNAL = "journal"
    """Of a workflow's run."""
    WORKFLOW = "workflow"
    """The record of a workflow's run."""
    TOOL_RESULT = "tool-result"
    META = "meta"
    """Facts about the session, as its title."""
    OTHER = "other"
    CAPTURE = "capture"
    """Lines that tell of a session or an agent once more: its stream, or the shorter of file and mirror."""

    @property
    def has_lines(self) -> bool:
        """Whether it is read line by line; any other file is kept as a whole."""
        return self in _LINES


_LINES = frozenset({SourceKind.TRANSCRIPT, SourceKind.AGENT, SourceKind.JOURNAL, SourceKind.CAPTURE})


class Viewer(Struct, frozen=True, gc=False, kw_only=True):
    """Who looks, where not all of an owner's sessions may be seen: those of which any of this is true."""

    person: str | None = None
    """Sees what is this person's."""
    team: bool = False
    """Sees what is shared with the team."""
    session: str | None = None
    """Sees the session with this key, whosever it is."""


class Scope(Struct, frozen=True, gc=False):
    """Whose data may be seen. Every query takes one, and answers as if there were nothing else."""

    owner: str
    viewer: Viewer | None = None
    """None if all of the owner's data may be seen."""


LOCAL = Scope("local")
"""The one owner of an embedded store."""


class Place(Struct, frozen=True, gc=False, order=True):
    """Where bytes are: of which file, which time round, from where."""

    source: str
    generation: int
    offset: int


def name_source(origin: str, path: str) -> str:
    """Return the name of a file that is first seen at an origin under a path."""
    digest = blake2b(digest_size=16)
    for part in (origin, path):
        data = part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()

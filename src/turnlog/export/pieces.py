"""A conversation as a stream of pieces, which each format writes in its own way.

What is inside something else comes between its beginning and its end, so that agents inside agents need no
recursion, and whoever writes holds one piece at a time.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.lines.categories import Author
from turnlog.transcripts.lines.kinds import Category


class BodyKind(StrEnum):
    """How a text is to be read."""

    CODE = "code"
    DIFF = "diff"
    TERMINAL = "terminal"
    MARKDOWN = "markdown"


class Body(Struct, frozen=True, gc=False):
    """A text that a tool was given or gave back."""

    kind: BodyKind
    text: str
    language: str = ""
    """Of code, as fences call it."""


class Picture(Struct, frozen=True, gc=False):
    """An image; without `data` where its bytes are elsewhere."""

    media_type: str
    data: str
    """In base64."""


class TurnBegins(Struct, frozen=True, gc=False):
    """A turn; it lasts until the next one."""

    number: int
    """From 1."""
    anchor: str


class Said(Struct, frozen=True, gc=False, kw_only=True):
    """Something that somebody said, in Markdown."""

    author: Author
    text: str
    thinking: str = ""
    time: datetime | None = None
    anchor: str
    model: str | None = None
    remark: str = ""
    failed: bool = False
    """Whether it is an error."""
    pictures: tuple[Picture, ...] = ()


class Noted(Struct, frozen=True, gc=False, kw_only=True):
    """Something that the program noted: a compaction, an interruption, a hook, what nobody knows."""

    kind: str
    text: str
    time: datetime | None = None
    anchor: str
    failed: bool = False
    """Whether it is an error."""


class Done(Struct, frozen=True, gc=False, kw_only=True):
    """A tool call with what came of it."""

    name: str
    category: Category
    state: CallState
    topic: str
    given: tuple[Body, ...]
    answered: Body | None
    """None where there is no result, or where it was left out."""
    pictures: tuple[Picture, ...] = ()
    time: datetime | None = None
    anchor: str


class AgentBegins(Struct, frozen=True, gc=False):
    """The conversation of a sub-agent."""

    title: str
    description: str
    state: AgentState
    depth: int


class AgentEnds(Struct, frozen=True, gc=False):
    """The end of what an agent said and did."""

    depth: int


Piece = TurnBegins | Said | Noted | Done | AgentBegins | AgentEnds

"""Tool calls, with what came of them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct

from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.lines.categories import Category

__all__ = ["Call", "CallPage", "CallResult", "Image", "Offloaded"]


class Image(Struct, frozen=True, gc=False, kw_only=True):
    """An image in a message or a result; its bytes are fetched apart."""

    href: str
    """Where its bytes are, on this server."""
    media_type: str


class Offloaded(Struct, frozen=True, gc=False, kw_only=True):
    """A result that Claude Code put into a file of its own."""

    href: str
    """Where its bytes are, on this server."""
    name: str
    """Of the file."""
    size: int
    """In bytes."""


class CallResult(Struct, frozen=True, gc=False, kw_only=True):
    """What a tool answered."""

    text: str
    truncated: bool
    """Whether the text goes on; the raw line has all of it."""
    length: int
    """Of the whole text, in characters."""
    is_error: bool | None
    """None if the line does not say."""
    images: tuple[Image, ...] = ()
    offloaded: Offloaded | None = None
    """Where all of it is, if it was too long for its line."""
    details: Raw | None = None
    """`toolUseResult` as it stands in the line; None if there is none, or if it is too long."""


class Call(Struct, frozen=True, gc=False, kw_only=True):
    """A tool call with what came of it."""

    index: int
    """Which call of its file it is, from 0."""
    source: str
    uuid: str | None
    """`{uuid of the line}_tool_{i}`, as spec 003 calls it; None where bodies were not asked for."""
    id: str | None
    """The id that Claude Code gave it."""
    name: str
    """Of the tool."""
    category: Category
    state: CallState
    """What came of it."""
    title: str
    """What it is about: the command, the file, the pattern; empty where bodies were not asked for."""
    path: str | None
    """The file that it works on."""
    changes_file: bool
    """Whether it changes that file."""
    message: int | None
    """The index of the message that made it."""
    agent_id: str | None
    """The sub-agent that it started."""
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    """From the call to its result; None if it has none yet."""
    input: Raw | None = None
    """What the tool was given, as it stands in the line; None if it is too long, or was not asked for."""
    result: CallResult | None = None
    """None if there is none, or if it was not asked for."""


class CallPage(Struct, frozen=True, gc=False, kw_only=True):
    """Some calls of a session, and where the others begin."""

    items: tuple[Call, ...]
    total: int
    next: str | None
    """Give it as `cursor` to go on; None at the end."""

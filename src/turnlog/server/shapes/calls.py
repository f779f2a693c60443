"""Tool calls, with what came of them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct

from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.lines.kinds import Category


class Image(Struct, frozen=True, gc=False, kw_only=True):
    """An image in a message or a result; its bytes are fetched separately."""

    href: str
    """Where its bytes are, on this server."""
    media_type: str


class Offloaded(Struct, frozen=True, gc=False, kw_only=True):
    """A result that Claude Code wrote to a separate file."""

    href: str
    """Where its bytes are, on this server."""
    name: str
    """The file's name."""
    size: int
    """In bytes."""


class CallResult(Struct, frozen=True, gc=False, kw_only=True):
    """The result of a tool call."""

    text: str
    truncated: bool
    """Whether the text was cut; the raw line has all of it."""
    length: int
    """The length of the whole text, in characters."""
    is_error: bool | None
    """None if the line does not say."""
    images: tuple[Image, ...] = ()
    offloaded: Offloaded | None = None
    """Where the full result is, if it was too long for its line."""
    details: Raw | None = None
    """`toolUseResult` as it is in the line; None if there is none, or if it is too long."""


class Call(Struct, frozen=True, gc=False, kw_only=True):
    """A tool call and its outcome."""

    index: int
    """Its position among the calls of its file, from 0."""
    source: str
    uuid: str | None
    """`{uuid of the line}_tool_{i}`, as spec 003 defines it; None if bodies were not requested."""
    id: str | None
    """The id that Claude Code gave it."""
    name: str
    """The tool's name."""
    category: Category
    state: CallState
    """Its outcome."""
    title: str
    """What it is about: the command, the file, the pattern; empty if bodies were not requested."""
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
    """The input as it is in the line; None if it is too long, or was not requested."""
    result: CallResult | None = None
    """None if there is none, or if it was not requested."""


class CallPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's calls."""

    items: tuple[Call, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""

"""A session as lists have it: what they show, sort and filter by."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["SessionHead", "SessionRow"]


class SessionHead(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """The first message of a transcript that another line follows: by it copies are told."""

    uuid: str
    type: str
    time: int | None
    told_id: str | None
    """The session that the line behind it names."""


class SessionRow(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A session in the lists."""

    session_id: str | None
    title: str | None
    project: str | None
    first_time: int | None
    last_time: int | None
    prompts: int
    answers: int
    calls: int
    agents: int
    lines: int
    problems: int
    input_tokens: int
    output_tokens: int
    cost: str | None
    summary: bytes = b""
    """All of it: `transcripts.Summary` as JSON; lists leave it out."""
    messages: int = 0
    """Of the transcript."""
    errors: int = 0
    """Calls and requests that failed."""
    models: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Of git."""
    series: str | None = None
    """What all sessions have in common that programs started with the same prompt: see `Summary`."""
    first_prompt: str | None = None
    """As far as lists show it."""
    forked_from: str | None = None
    is_floor: bool = False
    """Whether something was used of which the cost does not know, or not all."""
    is_estimate: bool = False
    """Whether the price list lacks some of the terms."""
    head: SessionHead | None = None

"""The action log: every call and every event, from files and from hooks."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from turnlog.transcripts.actions import ActionState
from turnlog.transcripts.lines.kinds import Category


class ActionsOrder(StrEnum):
    """In which order actions come."""

    ORDER = "order"
    """As they happened."""
    SLOWEST = "slowest"


class Action(Struct, frozen=True, gc=False, kw_only=True):
    """A call, a hook event, or another event that a line of a file reports."""

    index: int
    """Its position among the requested actions, from 0."""
    kind: Literal["call", "hook", "event"]
    category: Category
    at: datetime | None
    name: str
    """The name of the tool, the hook event, or the line's type."""
    title: str
    """What it is about."""
    outcome: str
    """The outcome, in a few words; empty if there is nothing to report."""
    state: ActionState
    duration_ms: int | None
    turn: int | None
    """The index of the turn that it belongs to; null before the first prompt."""
    message: int | None
    """The index of the message that it is in or under, in `source`; null if there is none."""
    message_uuid: str | None
    """The uuid of that message."""
    source: str | None
    """The file that it is in; null for hook events that belong to no file."""
    call: int | None
    """The index of the call, in `source`."""
    agent_id: str | None
    """The sub-agent that did it."""


class ActionSpan(Struct, frozen=True, gc=False, kw_only=True, rename={"since": "from", "until": "to"}):
    """What happened in an interval of time."""

    since: datetime
    until: datetime
    """Not any more in it."""
    actions: int
    failed: int


class ActionPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's actions, and an overview of all of them."""

    items: tuple[Action, ...]
    total: int
    """The number of requested actions."""
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    counts: dict[Category, int]
    """How many actions of each category the session has, ignoring filters."""
    names: dict[str, int]
    """How many there are of each name (tools, hook events, line types), ignoring filters."""
    failed: int
    """How many of all actions failed."""
    overview: tuple[ActionSpan, ...]
    """All actions over time, in at most 120 intervals of equal length; empty intervals are left out."""
    revision: int
    """The revision of the session; it increases when its files change."""

"""The action log: every call and every event, from files and from hooks."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from turnlog.transcripts.actions.states import ActionState
from turnlog.transcripts.lines.categories import Category

__all__ = ["Action", "ActionPage", "ActionSpan", "ActionsOrder"]


class ActionsOrder(StrEnum):
    """In which order actions come."""

    ORDER = "order"
    """As they happened."""
    SLOWEST = "slowest"


class Action(Struct, frozen=True, gc=False, kw_only=True):
    """A call, a hook event, or another event that a line of a file tells."""

    index: int
    """Which of the actions that are asked for it is, from 0."""
    kind: Literal["call", "hook", "event"]
    category: Category
    at: datetime | None
    name: str
    """Of the tool, the hook event, or the line's type."""
    title: str
    """What it is about."""
    outcome: str
    """What came of it, in a few words; empty if there is nothing to say."""
    state: ActionState
    duration_ms: int | None
    turn: int | None
    """The index of the turn that it belongs to; null before the first prompt."""
    message: int | None
    """The index of the message that it stands in or under, in `source`; null if there is none."""
    message_uuid: str | None
    """The uuid of that message."""
    source: str | None
    """The file that it is of; null for what hooks tell of no file here."""
    call: int | None
    """The index of the call, in `source`."""
    agent_id: str | None
    """The sub-agent that did it."""


class ActionSpan(Struct, frozen=True, gc=False, kw_only=True, rename={"since": "from", "until": "to"}):
    """What happened in a stretch of time."""

    since: datetime
    until: datetime
    """Not any more in it."""
    actions: int
    failed: int


class ActionPage(Struct, frozen=True, gc=False, kw_only=True):
    """Some actions of a session, where the others begin, and all of them at a glance."""

    items: tuple[Action, ...]
    total: int
    """Of those that are asked for."""
    next: str | None
    """Give it as `cursor` to go on; None at the end."""
    counts: dict[Category, int]
    """How many actions of each category the session has, filters aside."""
    names: dict[str, int]
    """How many there are of each name, filters aside: of tools, hook events, types of lines."""
    failed: int
    """How many of all have failed."""
    overview: tuple[ActionSpan, ...]
    """All actions over time, in at most 120 stretches of the same length; those without any are left out."""
    revision: int
    """Of the session: it rises when something of its files changes."""

"""What a session is made of besides its messages: turns, tree, sidechains, agents, problems."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct

from turnlog.messages import ProblemKind
from turnlog.server.shapes.lists import SessionItem
from turnlog.transcripts.agents.agent import AgentLink
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.lines.kinds import Category


class SessionDetail(Struct, frozen=True, gc=False, kw_only=True):
    """An overview of a session."""

    session: SessionItem
    path: str
    """Where its transcript was last seen."""
    resume: str | None
    """The command that resumes it; None if its id does not look valid."""
    summary: Raw
    """`transcripts.Summary` as JSON."""
    messages: int
    """Messages in the transcript."""


class StripBar(Struct, frozen=True, gc=False, kw_only=True):
    """A call as a bar, or several consecutive calls if there are many."""

    ms: int | None
    """How long it took, or the longest of several; None if unknown."""
    failed: bool
    """Whether it, or one of several, failed."""
    category: Category


class Turn(Struct, frozen=True, gc=False, kw_only=True):
    """A prompt and everything that answers it."""

    index: int
    prompt: int
    """The index of its first message."""
    prompt_uuid: str
    title: str
    """How the prompt begins."""
    messages: int
    calls: int
    agents: int
    files_changed: int
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    failed: int
    """How many of its calls failed."""
    strip: tuple[StripBar, ...]
    """Its calls in order, in at most 60 bars."""
    edited: bool
    """Whether its prompt replaced another one, or was replaced."""


class Turns(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's turns."""

    items: tuple[Turn, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    revision: int


class Branch(Struct, frozen=True, gc=False, kw_only=True):
    """What follows an edited prompt."""

    index: int
    first: int
    """The index of its first message."""
    last: int
    """The index of its last message."""
    parent: int | None
    """The message at which it leaves; None if it follows none."""
    messages: int
    active: bool
    """Whether it leads to the newest message."""


class Tree(Struct, frozen=True, gc=False, kw_only=True):
    """Which message follows which."""

    parents: tuple[int | None, ...]
    """For each message of the window, from `first` on."""
    first: int
    total: int
    branches: tuple[Branch, ...]
    """All branches of the file, at most 10,000."""
    revision: int


class Sidechain(Struct, frozen=True, gc=False, kw_only=True):
    """Operations under the answer that started them; they are loaded when it is opened."""

    message: int
    """The index of the answer."""
    message_uuid: str
    """Its uuid, with which the group is opened."""
    title: str
    """How the answer begins; empty if it only calls tools."""
    operations: int
    """How many calls there are."""
    failed: int
    duration_ms: int | None
    """From the first call to the last result."""
    categories: dict[Category, int]
    """How many calls there are of each category."""


class Sidechains(Struct, frozen=True, gc=False, kw_only=True):
    """A page of groups in a session's sidechain panel."""

    items: tuple[Sidechain, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    revision: int


class Agent(Struct, frozen=True, gc=False, kw_only=True):
    """A sub-agent."""

    index: int
    id: str
    type: str | None
    description: str | None
    state: AgentState
    depth: int
    """1 for those that the session itself started."""
    inline: bool
    """Whether its messages are in the transcript instead of a separate file."""
    background: bool
    """Whether the session continued while it worked."""
    parent_id: str | None
    """The agent that started it."""
    run_id: str | None
    """The workflow that it belongs to."""
    source: str | None
    """The file with its messages, if it has one."""
    call: int | None
    """The index of the call that started it, among those of `call_source`."""
    call_source: str | None
    linked_by: AgentLink | None
    """How that call was found."""


class Agents(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's sub-agents, at any depth."""

    items: tuple[Agent, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    revision: int


class LineProblem(Struct, frozen=True, gc=False, kw_only=True):
    """Something that is wrong or unknown in a line."""

    path: str
    """The path of the file, where it was last seen."""
    source: str
    """The file, as other responses name it."""
    offset: int
    """Where the line begins, in bytes."""
    line: int
    """The line's position in the file, from 0."""
    kind: ProblemKind
    message: str
    """What was expected, what was found, and where."""


class Problems(Struct, frozen=True, gc=False, kw_only=True):
    """What is wrong in the files of a session."""

    items: tuple[LineProblem, ...]
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""

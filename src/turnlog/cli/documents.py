"""What `turnlog show --json` prints: a session as one document.

Times are ISO 8601 in UTC, money is dollars to the last digit, and messages are known by their index among those
of their conversation. Inputs of calls are the JSON that stands in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from turnlog.cli.files import path_text
from turnlog.transcripts.agents.agent import Agent, AgentLink
from turnlog.transcripts.agents.places import build_conversation
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.calls.touched import Touched
from turnlog.transcripts.conversation.compactions import Compaction
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.conversation.tree import Branch, Tree
from turnlog.transcripts.conversation.turns import Turn
from turnlog.transcripts.lines.authors import Author
from turnlog.transcripts.lines.categories import Category, MessageType, Role
from turnlog.transcripts.session import LineProblem, Session
from turnlog.transcripts.summary.fold import Summary
from turnlog.transcripts.usage.fold import Totals

__all__ = [
    "AgentItem",
    "CallItem",
    "MessageItem",
    "ProblemItem",
    "SessionDocument",
    "TreeItem",
    "TurnItem",
    "build_document",
    "build_excerpt_document",
]


class CallItem(Struct, frozen=True, gc=False):
    """A tool call with what came of it."""

    id: str | None
    name: str
    category: Category
    known: bool
    state: CallState
    input: Raw | None
    result: str | None
    is_error: bool | None
    """What the result itself says; null where it says nothing."""
    images: int
    agent_id: str | None


class MessageItem(Struct, frozen=True, gc=False):
    """A message as people read it."""

    index: int
    id: str
    parent: int | None
    branch: int
    rule: Rule
    role: Role
    types: tuple[MessageType, ...]
    category: Category | None
    author: Author
    lane: Lane
    agent_id: str | None
    time: datetime | None
    model: str | None
    text: str
    thinking: str
    command: str | None
    arguments: str | None
    aborted: bool
    offsets: tuple[int, ...]
    """Where its lines stand in the file."""
    calls: tuple[CallItem, ...]


class TurnItem(Struct, frozen=True, gc=False):
    """A prompt and all that answers it."""

    index: int
    prompt: str
    started: datetime | None
    duration_s: float | None
    messages: tuple[int, ...]
    calls: int
    agents: tuple[str, ...]
    files: tuple[Touched, ...]
    totals: Totals
    cost_usd: Decimal


class TreeItem(Struct, frozen=True, gc=False):
    """Which message follows which."""

    roots: tuple[int, ...]
    parents: tuple[int | None, ...]
    forks: dict[int, tuple[int, ...]]
    branches: tuple[Branch, ...]
    active: tuple[int, ...]


class AgentItem(Struct, frozen=True, gc=False):
    """A sub-agent and its conversation."""

    id: str
    type: str | None
    description: str | None
    prompt: str | None
    state: AgentState
    depth: int
    parent_id: str | None
    call_id: str | None
    linked_by: AgentLink | None
    run_id: str | None
    background: bool
    inline: bool
    path: str | None
    messages: tuple[MessageItem, ...]


class ProblemItem(Struct, frozen=True, gc=False):
    """Something that is wrong or unknown in a line."""

    source: str | None
    offset: int | None
    kind: str
    message: str


class SessionDocument(Struct, frozen=True, gc=False):
    """A session. What was not asked for is left out."""

    path: str
    id: str | None
    project: str | None
    title: str | None
    summary: Summary
    messages: tuple[MessageItem, ...] | UnsetType = UNSET
    compactions: tuple[Compaction, ...] | UnsetType = UNSET
    tree: TreeItem | UnsetType = UNSET
    turns: tuple[TurnItem, ...] | UnsetType = UNSET
    agents: tuple[AgentItem, ...] | UnsetType = UNSET
    problems: tuple[ProblemItem, ...] | UnsetType = UNSET


def build_document(
    session: Session, view: Literal["conversation", "tree", "turns", "agents", "raw"]
) -> SessionDocument:
    """Return all of a session, or only its tree, its turns or its agents."""
    everything = view == "conversation"
    summary = session.summary
    return SessionDocument(
        path=path_text(session.path or ""),
        id=summary.id,
        project=summary.project,
        title=None if summary.title is None else summary.title.text,
        summary=summary,
        messages=_list_messages(session.messages, session.tree) if everything else UNSET,
        compactions=session.compactions if everything else UNSET,
        tree=_build_tree(session.tree) if everything or view == "tree" else UNSET,
        turns=tuple(map(_build_turn, session.turns)) if everything or view == "turns" else UNSET,
        agents=tuple(map(_build_agent, session.agents)) if everything or view == "agents" else UNSET,
        problems=tuple(map(_build_problem, session.problems)) if everything else UNSET,
    )


def build_excerpt_document(session: Session, messages: Sequence[Message], tree: Tree) -> SessionDocument:
    """Return a session with nothing but some messages of one of its conversations."""
    summary = session.summary
    return SessionDocument(
        path=path_text(session.path or ""),
        id=summary.id,
        project=summary.project,
        title=None if summary.title is None else summary.title.text,
        summary=summary,
        messages=_list_messages(messages, tree),
    )


def _list_messages(messages: Sequence[Message], tree: Tree) -> tuple[MessageItem, ...]:
    return tuple(_build_message(message, tree) for message in messages)


def _build_message(message: Message, tree: Tree) -> MessageItem:
    return MessageItem(
        index=message.index,
        id=message.id,
        parent=tree.parents[message.index],
        branch=tree.branch_of[message.index],
        rule=message.rule,
        role=message.role,
        types=message.types,
        category=message.category,
        author=message.author,
        lane=message.lane,
        agent_id=message.agent_id,
        time=message.time,
        model=message.model,
        text=message.text,
        thinking=message.thinking,
        command=None if message.prompt is None else message.prompt.command,
        arguments=None if message.prompt is None else message.prompt.arguments,
        aborted=message.aborted,
        offsets=tuple(line.at.offset for line in message.lines if line.at is not None),
        calls=tuple(map(_build_call, message.calls)),
    )


def _build_call(call: Call) -> CallItem:
    result = call.result
    told = None if result is None else result.is_error
    return CallItem(
        id=call.id,
        name=call.name,
        category=call.category,
        known=call.known,
        state=call.state,
        input=call.block.input if isinstance(call.block.input, Raw) else None,
        result=None if result is None else result.text,
        is_error=told if isinstance(told, bool) else None,
        images=0 if result is None else len(result.images),
        agent_id=call.agent_id,
    )


def _build_turn(turn: Turn) -> TurnItem:
    return TurnItem(
        index=turn.index,
        prompt=turn.prompt.text,
        started=turn.started,
        duration_s=None if turn.duration is None else turn.duration.total_seconds(),
        messages=tuple(message.index for message in turn.messages),
        calls=len(turn.calls),
        agents=turn.agents,
        files=turn.files,
        totals=turn.totals,
        cost_usd=turn.cost,
    )


def _build_tree(tree: Tree) -> TreeItem:
    return TreeItem(tree.roots, tree.parents, dict(tree.forks), tree.branches, tree.active)


def _build_agent(agent: Agent) -> AgentItem:
    conversation = build_conversation(agent)
    return AgentItem(
        id=agent.id,
        type=agent.type,
        description=agent.description,
        prompt=agent.prompt,
        state=agent.state,
        depth=agent.depth,
        parent_id=agent.parent_id,
        call_id=None if agent.call is None else agent.call.id,
        linked_by=agent.linked_by,
        run_id=agent.run_id,
        background=agent.background,
        inline=agent.inline,
        path=None if agent.path is None else path_text(agent.path),
        messages=_list_messages(conversation.messages, conversation.tree),
    )


def _build_problem(found: LineProblem) -> ProblemItem:
    return ProblemItem(
        source=None if found.at is None else path_text(found.at.source),
        offset=None if found.at is None else found.at.offset,
        kind=found.problem.kind,
        message=str(found.problem),
    )

"""What `turnlog show --json` prints: a session as one document.

Times are ISO 8601 in UTC, money is dollars to the last digit, and messages are known by their index among those
of their conversation. Inputs of calls are the JSON that stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from turnlog.cli.excerpts import Excerpt
from turnlog.cli.shown import Shown
from turnlog.instants import from_microseconds
from turnlog.transcripts.agents.agent import AgentLink
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.calls.call import Call, Touched
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.conversation.compactions import Compaction
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.files.paths import path_text
from turnlog.transcripts.lines.categories import Author
from turnlog.transcripts.lines.kinds import Category, MessageType, Role
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import (
    MessageTree,
    Thread,
    build_tree,
    find_start,
    list_turn_uses,
    open_agent,
    open_main,
    read_agent_prompt,
    read_prompts,
)
from turnlog.transcripts.records import MessageRecord
from turnlog.transcripts.sources import LineProblem
from turnlog.transcripts.summary.fold import Summary
from turnlog.transcripts.usage.election import Totals
from turnlog.transcripts.usage.pricing import Prices


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
    tree: MessageTree | UnsetType = UNSET
    turns: tuple[TurnItem, ...] | UnsetType = UNSET
    agents: tuple[AgentItem, ...] | UnsetType = UNSET
    problems: tuple[ProblemItem, ...] | UnsetType = UNSET


def build_document(
    session: SessionRecords,
    shown: Shown,
    view: Literal["conversation", "tree", "turns", "agents", "raw"],
    excerpt: Excerpt | None = None,
) -> SessionDocument:
    """Return all of a session, or only its tree, its turns, its agents or an excerpt."""
    everything = view == "conversation" and excerpt is None
    summary, main = shown.read_summary(), open_main(session)
    messages: tuple[MessageItem, ...] | UnsetType = UNSET
    if excerpt is not None:
        messages = _list_messages(excerpt.thread, excerpt.records)
    elif everything:
        messages = _list_messages(main)
    return SessionDocument(
        path=shown.path,
        id=summary.id,
        project=summary.project,
        title=None if summary.title is None else summary.title.text,
        summary=summary,
        messages=messages,
        compactions=main.compactions if everything else UNSET,
        tree=build_tree(main) if everything or view == "tree" else UNSET,
        turns=tuple(_list_turns(session)) if everything or view == "turns" else UNSET,
        agents=tuple(_list_agents(session)) if everything or view == "agents" else UNSET,
        problems=tuple(map(_build_problem, shown.list_problems(session))) if everything else UNSET,
    )


def _list_messages(thread: Thread, records: Sequence[MessageRecord] | None = None) -> tuple[MessageItem, ...]:
    """Return messages, known by their places in their conversation."""
    places = thread.list_places()
    rows = thread.list_records() if records is None else records
    found = tuple(_build_message(message, *places[message.index]) for message in thread.read(rows))
    if thread.rest is None or records is not None:
        return found
    branches = len({item.branch for item in found})
    return (*found, *(_shift(item, len(found), branches) for item in _list_messages(thread.rest)))


def _shift(item: MessageItem, places: int, branches: int) -> MessageItem:
    parent = None if item.parent is None else item.parent + places
    return replace(item, index=item.index + places, parent=parent, branch=item.branch + branches)


def _build_message(message: Message, index: int, parent: int | None, branch: int) -> MessageItem:
    return MessageItem(
        index=index,
        id=message.id,
        parent=parent,
        branch=branch,
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


def _list_turns(session: SessionRecords) -> Iterator[TurnItem]:
    prices = Prices()
    for turn, prompt in zip(list_turn_uses(session), read_prompts(session), strict=True):
        record, bill = turn.record, prices.build_bill(turn.usage)
        yield TurnItem(
            index=record.index,
            prompt=prompt,
            started=None if record.started is None else from_microseconds(record.started),
            duration_s=None if record.duration_ms is None else record.duration_ms / 1000,
            messages=turn.messages,
            calls=record.calls,
            agents=turn.agents,
            files=turn.files,
            totals=bill.totals,
            cost_usd=bill.cost,
        )


def _list_agents(session: SessionRecords) -> Iterator[AgentItem]:
    for agent in session.list_agents():
        started, file = find_start(session, agent), session.find_chapter(agent.file)
        yield AgentItem(
            id=agent.id,
            type=agent.type,
            description=agent.description,
            prompt=read_agent_prompt(session, agent),
            state=AgentState(agent.state),
            depth=agent.depth,
            parent_id=agent.parent_id,
            call_id=None if started is None else started[1].id,
            linked_by=None if agent.linked_by is None else AgentLink(agent.linked_by),
            run_id=agent.run_id,
            background=agent.background,
            inline=agent.inline,
            path=None if agent.file is None or file is None else path_text(file.facts.path),
            messages=_list_messages(open_agent(session, agent)),
        )


def _build_problem(found: LineProblem) -> ProblemItem:
    return ProblemItem(
        source=None if found.at is None else path_text(found.at.source),
        offset=None if found.at is None else found.at.offset,
        kind=found.problem.kind,
        message=str(found.problem),
    )

"""What a session is made of besides its messages: turns, tree, calls, sidechains, agents, problems.

Sidechains are spec 003's second column: what was done, grouped under what was said. `transcripts.build_panel`
has the rule; here it is followed without reading a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Annotated

from litestar import get
from litestar.params import PathParameter
from msgspec import Struct

from turnlog.instants import find_moment
from turnlog.messages import ProblemKind
from turnlog.server import values
from turnlog.server.audit import GivenSession
from turnlog.server.errors import NotFoundError
from turnlog.server.messages import CallBar, CallPage, CallViewer, build_call_bars, view_call
from turnlog.server.requests import Cursor, Limit, Source, find_next, integer, query
from turnlog.server.security.callers import LINKED
from turnlog.server.windows import read_titles
from turnlog.shapes import fill
from turnlog.transcripts.agents import AgentLink
from turnlog.transcripts.conversation.messages import Lane
from turnlog.transcripts.kinds import AgentState, CallState, Category, Role
from turnlog.transcripts.queries.chapters import CallFilter, Chapter
from turnlog.transcripts.segments import AgentRecord, CallRecord, MessageRecord, TurnRecord


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
    call_bars: tuple[CallBar, ...]
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


def _view_turn(
    row: TurnRecord, prompt: MessageRecord, title: str, calls: Sequence[CallRecord], edited: bool
) -> Turn:
    """Return a turn."""
    return fill(
        Turn,
        row,
        prompt_uuid=values.clean_text(prompt.id),
        title=title,
        started_at=find_moment(row.started),
        ended_at=find_moment(row.ended),
        cost_usd=values.dollars(row.cost),
        failed=sum(call.state == CallState.FAILED for call in calls),
        call_bars=build_call_bars(calls),
        edited=edited,
    )


def _is_edited(prompt: MessageRecord, parents: Mapping[int, MessageRecord]) -> bool:
    """Tell whether a prompt opens a branch: then others were typed in the same place."""
    above = None if prompt.parent is None else parents.get(prompt.parent)
    return above is not None and above.branch != prompt.branch


_MOST_BRANCHES = 10_000
_MOST_PROBLEMS = 50
"""Of one line."""


@get("/api/sessions/{id:str}/turns", opt=LINKED, sync_to_thread=True)
def list_turns(
    requested: GivenSession,
    limit: Limit = 200,
    cursor: Cursor = 0,
) -> Turns:
    """List a session's turns: each prompt with what it took to answer it."""
    with requested.open() as (session, opened):
        main, total = opened.main, opened.count_turns()
        rows = [] if main is None else opened.list_turns(cursor, limit)
        prompts = [] if main is None else main.list_at(row.prompt for row in rows)
        titles = {} if main is None else read_titles(main, prompts)
        above = [] if main is None else main.list_at(row.parent for row in prompts if row.parent is not None)
        made = groupby(opened.list_turn_calls(cursor, limit), lambda each: each.turn)
        calls = {turn: [each.call for each in group] for turn, group in made}
    own = {row.index: row for row in prompts}
    parents = {row.index: row for row in above}
    items = tuple(
        _view_turn(
            row,
            own[row.prompt],
            titles[row.prompt],
            calls.get(row.index, ()),
            _is_edited(own[row.prompt], parents),
        )
        for row in rows
        if row.prompt in titles
    )
    return Turns(items=items, total=total, next=find_next(cursor, items, total), revision=session.revision)


@get("/api/sessions/{id:str}/tree", opt=LINKED, sync_to_thread=True)
def get_tree(
    requested: GivenSession,
    source: Source = None,
    first: Annotated[int, integer("The index of the first message to return.")] = 0,
    limit: Annotated[int, integer("The maximum number of messages.", least=1, most=10_000)] = 1000,
) -> Tree:
    """Return which message follows which, starting at one, and all branches."""
    with requested.open() as (session, opened):
        chapter = opened.find_chapter(source)
        parents = () if chapter is None else tuple(row.parent for row in chapter.list_messages(first, limit))
        branches = [] if chapter is None else chapter.list_branches()
        total = 0 if chapter is None else chapter.count_messages
    return Tree(
        parents=parents,
        first=first,
        total=total,
        branches=tuple(fill(Branch, branch) for branch in branches[:_MOST_BRANCHES]),
        revision=session.revision,
    )


@get("/api/sessions/{id:str}/agents", opt=LINKED, sync_to_thread=True)
def list_agents(
    requested: GivenSession,
    limit: Annotated[int, integer("The maximum number of agents.", least=1, most=5000)] = 1000,
    cursor: Cursor = 0,
) -> Agents:
    """List a session's sub-agents, at any depth."""
    with requested.open() as (session, opened):
        rows = opened.list_agents()
    items = tuple(map(_view_agent, rows[cursor : cursor + limit]))
    return Agents(
        items=items, total=len(rows), next=find_next(cursor, items, len(rows)), revision=session.revision
    )


@get("/api/sessions/{id:str}/problems", sync_to_thread=True)
def list_problems(
    requested: GivenSession,
    limit: Annotated[int, integer("The maximum number of lines.", least=1, most=200)] = 100,
    cursor: Cursor = 0,
) -> Problems:
    """List what is wrong or unknown in a session's files, line by line.

    `limit` and `cursor` count lines; each may have several problems.
    """
    with requested.open() as (_, opened):
        files = sorted(opened.files, key=lambda file: file.source)
        every = ((file, line) for file in files for line in file.list_flawed())
        flawed = list(islice(every, cursor, cursor + limit + 1))
        shown = values.limit_by_size(flawed[:limit], lambda each: each[1].length)
        lines = values.read_each((file, [line.number]) for file, line in shown)
        items = tuple(
            LineProblem(
                path=values.clean_text(file.facts.path),
                source=file.source,
                offset=line.offset,
                line=line.number,
                kind=problem.kind,
                message=values.one_line(str(problem)),
            )
            for file, line in shown
            for problem in islice(lines[file][line.number].problems, _MOST_PROBLEMS)
        )
    return Problems(items=items, next=find_next(cursor, shown, cursor + len(flawed)))


def _view_agent(row: AgentRecord) -> Agent:
    return values.fill_clean(
        Agent,
        row,
        description=None if row.description is None else values.one_line(row.description),
        state=AgentState(row.state),
        source=row.file,
        linked_by=None if row.linked_by is None else AgentLink(row.linked_by),
    )


@get("/api/sessions/{id:str}/calls", opt=LINKED, sync_to_thread=True)
def list_calls(
    requested: GivenSession,
    source: Annotated[str | None, query("A file of the session; all files by default.", max_length=200)] = None,
    category: Annotated[list[Category] | None, query("The category of the action.", max_items=20)] = None,
    call_state: Annotated[list[CallState] | None, query("Its outcome.", name="state", max_items=20)] = None,
    name: Annotated[str | None, query("The tool's name.", max_length=200)] = None,
    bodies: Annotated[bool, query("Whether to include inputs and results.")] = False,
    limit: Annotated[int, integer("The maximum number of calls.", least=1, most=200)] = 100,
    cursor: Cursor = 0,
) -> CallPage:
    """List a session's tool calls: the transcript's, then those of each agent's file."""
    session = requested.get_unchanged()
    where = CallFilter(
        categories=None if category is None else tuple(each.value for each in category),
        states=None if call_state is None else tuple(each.value for each in call_state),
        name=name,
    )
    with requested.store.open_session(requested.visible, session.key) as opened:
        found = opened.find_calls(where, source=source, first=cursor, count=limit)
        if bodies:
            items = CallViewer(requested.store, requested.visible, session).list_calls(found.calls)
        else:
            items = tuple(view_call(*each) for each in found.calls)
    return CallPage(items=items, total=found.total, next=find_next(cursor, items, found.total))


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


_HEADS = frozenset({Role.USER.value, Role.SUMMARY.value})
_AGENT, _ASSISTANT, _TOOL_USE = Lane.AGENT.value, Role.ASSISTANT.value, Role.TOOL_USE.value


class _Group(Struct, frozen=True):
    """What was done for one message."""

    head: int
    """The index of that message."""
    calls: list[CallRecord]


@get("/api/sessions/{id:str}/sidechains", opt=LINKED, sync_to_thread=True)
def list_sidechains(
    requested: GivenSession,
    limit: Limit = 200,
    cursor: Cursor = 0,
) -> Sidechains:
    """List a session's tool calls, grouped under the answers that made them.

    The calls of a group are loaded when it is opened.
    """
    with requested.open() as (session, opened):
        main = opened.main
        groups = [] if main is None else _list_groups(main)
        chosen = groups[cursor : cursor + limit]
        heads = [] if main is None else main.list_at(each.head for each in chosen)
        titles = {} if main is None else read_titles(main, heads)
    found = {row.index: row for row in heads}
    items = tuple(_view(each, found[each.head], titles[each.head]) for each in chosen if each.head in titles)
    return Sidechains(
        items=items,
        total=len(groups),
        next=find_next(cursor, items, len(groups)),
        revision=session.revision,
    )


@get("/api/sessions/{id:str}/sidechains/{message_uuid:str}", opt=LINKED, sync_to_thread=True)
def list_sidechain_calls(
    requested: GivenSession,
    message_uuid: Annotated[str, PathParameter(description="`message_uuid` of a group.")],
    limit: Annotated[int, integer("The maximum number of calls.", least=1, most=200)] = 100,
    cursor: Cursor = 0,
) -> CallPage:
    """List the calls of one group, with their inputs and results."""
    with requested.open() as (session, opened):
        main = opened.main
        head = None if main is None else main.find_message(message_uuid)
        groups = [] if main is None or head is None else _list_groups(main)
        group = next((each for each in groups if head is not None and each.head == head.index), None)
        if main is None or group is None:
            raise NotFoundError("There is no such sidechain")
        calls = [(main, call) for call in group.calls[cursor : cursor + limit]]
        items = CallViewer(requested.store, requested.visible, session).list_calls(calls)
    return CallPage(items=items, total=len(group.calls), next=find_next(cursor, items, len(group.calls)))


def _list_groups(main: Chapter) -> list[_Group]:
    """Return the groups of the main conversation, in the order of what they go with."""
    heads: dict[int, int] = {}
    for message in main.list_messages():
        head = _find_head(message, heads) if message.lane != _AGENT else None
        if head is not None:
            heads[message.index] = head
    done: dict[int, list[CallRecord]] = {}
    for call in main.list_calls():
        head = None if call.message is None else heads.get(call.message)
        if head is not None:
            done.setdefault(head, []).append(call)
    return [_Group(head, of_head) for head, of_head in sorted(done.items())]


def _find_head(message: MessageRecord, heads: dict[int, int]) -> int | None:
    if message.role == _ASSISTANT:
        return message.index
    if message.role in _HEADS:
        return None
    above = None if message.parent is None else heads.get(message.parent)
    return message.index if above is None and message.role == _TOOL_USE else above


def _view(group: _Group, head: MessageRecord, title: str) -> Sidechain:
    calls = group.calls
    started = min((call.started for call in calls if call.started is not None), default=None)
    ended = max((call.ended for call in calls if call.ended is not None), default=None)
    return Sidechain(
        message=group.head,
        message_uuid=values.clean_text(head.id),
        title=title,
        operations=len(calls),
        failed=sum(call.state == CallState.FAILED for call in calls),
        duration_ms=values.elapsed_ms(started, ended),
        categories=dict(sorted(Counter(Category(call.category) for call in calls).items())),
    )

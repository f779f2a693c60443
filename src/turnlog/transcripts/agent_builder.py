"""Sub-agents attached to the calls that started them, at any depth, with workflows and late answers.

An agent's lines stand in a file of their own, wherever it lies, or among those of the main conversation. An
agent has at most one call; a call may have several agents, where a try failed and another followed. Agents
without a call are kept: warm-ups of old, side questions, and those whose session lost the call.

Files are not read here, and every step is one look at each agent and each call. `concerns_agents` tells
whether what is new of a conversation has to do with agents: only then they have to be put together anew.

Old files flag the lines of agents that stand among those of the main conversation (`isSidechain`), the stream
names the call that started the agent. Where lines name their agent they belong together; else those do that
follow each other. A prompt that follows the call of an agent begins another one, even inside an agent. Spec
003 flags every call and every result that it stores: those are an agent's only where they follow what one
said.

Many things tell which call started an agent, none always: `AgentLink` lists them, the most reliable first, and
each is asked only about the agents that all before it left open. What names an agent or a call is looked up.
Names and prompts need not be unique, so with those order decides: agents take calls in the order in which they
started. One that is left over where all calls are taken was a further try, and shares the last one's call.

A forked agent's file begins with copies of its parent's lines, the call that started it among them. So of
several conversations that hold a call, one that did not inherit it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import Line
from turnlog.messages.entries import AgentProgress, ProgressEntry, UserEntry
from turnlog.messages.envelope import instant
from turnlog.messages.sidecars import AgentTaskKind, RequestShape
from turnlog.messages.tool_io.agents import AgentInput, SendMessageResult
from turnlog.transcripts.agents import (
    WORKFLOW_TOOL,
    Agent,
    AgentLink,
    AgentSource,
    Part,
    Workflow,
    WorkflowSource,
    build_workflow,
    find_prompt,
    find_run_id,
    list_attempts,
    list_parts,
)
from turnlog.transcripts.calls import Call, Result, TaskNotice
from turnlog.transcripts.conversation.lineage import cut_circles, measure_depths
from turnlog.transcripts.kinds import CALL_STATES, AgentState, CallState, Category, state_of_end
from turnlog.transcripts.lines.content import find_stored_type, has_call, has_result, list_blocks

MAIN = -1
"""The main conversation, as the owner of calls."""
_SEND_MESSAGE = "SendMessage"
TELLING_TOOLS = frozenset({WORKFLOW_TOOL, _SEND_MESSAGE})
"""The tools besides those that start agents whose results tell of some."""

K = TypeVar("K")


class PlacedCall(Struct, frozen=True, gc=False):
    """A call, and the conversation that it stands in."""

    owner: int
    """Which agent's conversation, or `MAIN`."""
    position: int
    """Which of the conversation's calls it is."""
    call: Call


class CallQueue:
    """Calls that cannot be told apart, to be given out in order."""

    def __init__(self) -> None:
        self.holders: list[PlacedCall] = []
        self._next = 0

    def take(self, taken: set[str | int], owner: int) -> PlacedCall | None:
        """Return the next call that is neither taken nor in the conversation of `owner`."""
        while self._next < len(self.holders) and key_of(self.holders[self._next].call) in taken:
            self._next += 1
        for position in range(self._next, len(self.holders)):
            holder = self.holders[position]
            if holder.owner != owner and key_of(holder.call) not in taken:
                return holder
        return None


class CallIndex:
    """All calls, by what tells of their agents; within each, the main conversation comes first."""

    def __init__(self, calls: Mapping[int, Sequence[Call]], lines: Mapping[int, Sequence[Line]]) -> None:
        self._calls = calls
        """By the conversation that they stand in."""
        self._lines = lines
        """By the conversation whose file they are."""

    @cached_property
    def by_id(self) -> dict[str, list[PlacedCall]]:
        """By the call's own id; copies have the same."""
        return _index(self._all(), lambda call: (call.id,))

    @cached_property
    def by_result(self) -> dict[str, list[PlacedCall]]:
        """By the agent that the call's `toolUseResult` names."""
        return _index(self._all(), lambda call: [result.agent_id for result in _results(call)])

    @cached_property
    def by_text(self) -> dict[str, list[PlacedCall]]:
        """By the agent that the text of the call's result names."""
        return _index(self._agent_calls, lambda call: (call.agent_id,))

    @cached_property
    def by_notice(self) -> dict[str, list[PlacedCall]]:
        """By the task of whose end the call was told; an agent's task has the agent's id."""
        return _index(self._all(), lambda call: (call.notice.task_id if call.notice else None,))

    @cached_property
    def by_progress(self) -> dict[str, str]:
        """The id of the call to which an agent's progress belongs, by the agent's id."""
        found: dict[str, str] = {}
        for lines in self._lines.values():
            for line in lines:
                entry = line.entry
                if type(entry) is ProgressEntry and isinstance(entry.data, AgentProgress):
                    agent_id, call_id = entry.data.agent_id, entry.parent_tool_use_id
                    if isinstance(agent_id, str) and isinstance(call_id, str):
                        found.setdefault(agent_id, call_id)
        return found

    @cached_property
    def by_run(self) -> dict[str, list[PlacedCall]]:
        """By the run of a workflow that the call started, and by the background task that the run was."""
        started = [holder for holder in self._all() if holder.call.name == WORKFLOW_TOOL]
        tasks = _index(started, lambda call: [result.task_id for result in _results(call)])
        return tasks | _index(started, lambda call: (find_run_id(call),))

    @cached_property
    def by_resumed(self) -> dict[str, list[PlacedCall]]:
        """By the agent that a message woke up."""
        sent = (holder for holder in self._all() if holder.call.name == _SEND_MESSAGE)
        return _index(sent, lambda call: (_find_resumed(call),))

    @cached_property
    def by_name(self) -> dict[str, CallQueue]:
        """By the name that the agent was to have."""
        named = ((_find_name(holder.call, asked), holder) for holder, asked in self._asked)
        return _queue((name, holder) for name, holder in named if name is not None)

    @cached_property
    def by_prompt(self) -> dict[str, CallQueue]:
        """By what the agent was asked, without the space around it."""
        return _queue(
            (asked.prompt.strip(), holder) for holder, asked in self._asked if isinstance(asked.prompt, str)
        )

    @cached_property
    def by_line(self) -> dict[str, CallQueue]:
        """By the uuid of the line that holds the call."""
        return _queue(
            (place.uuid, holder)
            for holder in self._agent_calls
            for place in (holder.call.place, *holder.call.copies)
            if place.uuid is not None
        )

    @cached_property
    def by_line_and_prompt(self) -> dict[tuple[str, str], CallQueue]:
        """By the uuid of the line that holds the call, and by what the agent was asked."""
        return _queue(
            ((place.uuid, asked.prompt.strip()), holder)
            for holder, asked in self._asked
            for place in (holder.call.place, *holder.call.copies)
            if place.uuid is not None and isinstance(asked.prompt, str)
        )

    @cached_property
    def parents(self) -> dict[str, str]:
        """What each line of the main file follows that is no prompt and no result, by uuid."""
        found: dict[str, str] = {}
        for line in self._lines.get(MAIN, ()):
            uuid, parent = (getattr(line.entry, name, None) for name in ("uuid", "parent_uuid"))
            if isinstance(uuid, str) and isinstance(parent, str) and not isinstance(line.entry, UserEntry):
                found.setdefault(uuid, parent)
        return found

    @cached_property
    def _agent_calls(self) -> list[PlacedCall]:
        return [holder for holder in self._all() if holder.call.category is Category.AGENT]

    @cached_property
    def _asked(self) -> list[tuple[PlacedCall, AgentInput]]:
        views = ((holder, holder.call.view_input().value) for holder in self._agent_calls)
        return [(holder, value) for holder, value in views if isinstance(value, AgentInput)]

    def _all(self) -> Iterator[PlacedCall]:
        for owner, calls in self._calls.items():
            for position, call in enumerate(calls):
                yield PlacedCall(owner, position, call)


def key_of(call: Call) -> str | int:
    """Return by what a call is known: copies of it, too, if it has an id."""
    return id(call) if call.id is None else call.id


def _index(
    holders: Iterable[PlacedCall], keys: Callable[[Call], Iterable[str | None]]
) -> dict[str, list[PlacedCall]]:
    found: dict[str, list[PlacedCall]] = {}
    for holder in holders:
        for key in keys(holder.call):
            if key is not None:
                found.setdefault(key, []).append(holder)
    return found


def _queue(pairs: Iterable[tuple[K, PlacedCall]]) -> dict[K, CallQueue]:
    found: dict[K, CallQueue] = {}
    for key, holder in pairs:
        found.setdefault(key, CallQueue()).holders.append(holder)
    return found


def _results(call: Call) -> tuple[Result, ...]:
    return () if call.result is None else (call.result, *call.other_results)


def _find_name(call: Call, asked: AgentInput) -> str | None:
    if isinstance(asked.name, str):
        return asked.name
    name, at, _ = (call.agent_id or "").partition("@")  # a teammate's is `name@team`
    return name if at else None


def _find_resumed(call: Call) -> str | None:
    seen = call.view_result()
    told = seen.value if seen is not None else None
    resumed = told.resumed_agent_id if isinstance(told, SendMessageResult) else None
    return resumed if isinstance(resumed, str) else None


_Key = tuple[str, str | int]
"""By what lines belong together, and its value."""


class InlineAgent(Struct, frozen=True, gc=False):
    """The lines of one agent among others."""

    id: str
    """What the lines call their agent; else the call that started it, or the first uuid."""
    positions: tuple[int, ...]
    agent_id: str | None = None
    tool_use_id: str | None = None
    """The call that started it, as the stream says."""
    parents: tuple[str, ...] = ()
    """What the first line follows, by uuid: the best first."""


def list_inline_agents(lines: Sequence[Line], callers: Collection[str]) -> list[InlineAgent]:
    """Return the agents among some lines, in order; `callers` are the uuids of lines that call agents."""
    flagged: list[int] = []
    groups: dict[_Key, list[int]] = {}
    for position, line in enumerate(lines):
        flag = getattr(line.entry, "is_sidechain", line)
        if flag is True:
            flagged.append(position)
        elif flag is line and (call := _find_text(line, "parent_tool_use_id")) is not None:  # the stream
            groups.setdefault(("call", call), []).append(position)
    for position, key in zip(flagged, _list_keys(lines, flagged, callers), strict=True):
        groups.setdefault(key, []).append(position)
    inline_agents = [
        _build(lines, key, positions)
        for key, positions in groups.items()
        if not all(_is_stored_tool(lines[at]) for at in positions)  # which proves no agent
    ]
    return sorted(inline_agents, key=lambda inline: inline.positions[0])


def _list_keys(lines: Sequence[Line], flagged: list[int], callers: Collection[str]) -> list[_Key]:
    """Return for each flagged line to which agent it belongs: by name, or by its first line."""
    parents = _list_parents(lines, flagged, callers)
    cut_circles(parents)
    names = (_find_text(lines[position], "agent_id") for position in flagged)
    keys: list[_Key | None] = [None if name is None else ("agent", name) for name in names]
    for start in range(len(flagged)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and keys[at] is None:
            trail.append(at)
            at = parents[at]
        found = None if at is None else keys[at]
        for index in trail:
            keys[index] = found or ("uuid", trail[-1])
    return [key for key in keys if key is not None]


def _list_parents(lines: Sequence[Line], flagged: list[int], callers: Collection[str]) -> list[int | None]:
    by_uuid: dict[str, int] = {}
    parents: list[int | None] = []
    for index, position in enumerate(flagged):
        uuid = _find_text(lines[position], "uuid")
        first = by_uuid.setdefault(uuid, index) if uuid is not None else index
        parents.append(None if first == index else first)  # a copy belongs where the first one does
    for index, position in enumerate(flagged):
        told = _find_text(lines[position], "parent_uuid")
        if parents[index] is None and told is not None:
            entry = lines[position].entry
            is_prompt = isinstance(entry, UserEntry) and not has_result(list_blocks(entry))
            parents[index] = None if told in callers and is_prompt else by_uuid.get(told)
    return parents


def _is_stored_tool(line: Line) -> bool:
    if find_stored_type(line) is None:
        return False
    blocks = list_blocks(line.entry)
    return has_call(blocks) or has_result(blocks)


def _build(lines: Sequence[Line], key: _Key, positions: list[int]) -> InlineAgent:
    kind, name = key
    first = lines[positions[0]]
    named = next((found for at in positions if (found := _find_text(lines[at], "agent_id"))), None)
    uuids = (_find_text(lines[at], "uuid") for at in positions)
    made_up = name if kind == "call" else next((uuid for uuid in uuids if uuid is not None), None)
    links = (_find_text(first, field) for field in ("sidechain_parent_uuid", "parent_uuid"))
    return InlineAgent(
        id=named or str(made_up or f"line-{positions[0]}"),
        positions=tuple(positions),
        agent_id=named,
        tool_use_id=str(name) if kind == "call" else None,
        parents=tuple(link for link in links if link is not None),
    )


def _find_text(line: Line, field: str) -> str | None:
    value = getattr(line.entry, field, None)
    return value if isinstance(value, str) else None


_STEPS = 16
"""How many lines back a call is looked for that an agent's first line may follow."""
_LAST = datetime.max.replace(tzinfo=UTC)


class Candidate:
    """An agent on the way to its call."""

    def __init__(
        self, index: int, source: AgentSource, inline: InlineAgent | None = None, runs: Sequence[str] = ()
    ) -> None:
        self.index = index
        self.source = source
        self.inline = inline
        """Its lines among those of the main conversation, if it has no file of its own."""
        self.runs = runs
        """The run that it worked for, and the background task that the run was."""
        self.linked_by: AgentLink | None = None
        self.holders: Sequence[PlacedCall] = ()
        """The calls that may have started it: copies of one, or one and those that went on with it."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """What the program calls it; of a file, its name first, and then what the lines say."""
        if self.inline is not None:
            return () if self.inline.agent_id is None else (self.inline.agent_id,)
        said = getattr(self.source.lines[0].entry, "agent_id", None) if self.source.lines else None
        names = (self.source.agent_id, *((said,) if isinstance(said, str) else ()))
        return tuple(dict.fromkeys(names))

    @cached_property
    def start(self) -> tuple[bool, int, datetime, int]:
        """What puts agents in the order in which they started: time between files, else the file's order."""
        if self.inline is not None:
            return (False, self.inline.positions[0], _LAST, self.index)
        first = self.source.lines[0].entry if self.source.lines else None
        return (True, 0, instant(getattr(first, "timestamp", None)) or _LAST, self.index)

    @cached_property
    def prompt(self) -> str | None:
        """What it was asked first."""
        return find_prompt(self.source.lines)

    @cached_property
    def name(self) -> str | None:
        """What a teammate is called."""
        told = self.source.meta.name if self.source.meta is not None else None
        said = getattr(self.source.lines[0].entry, "agent_name", None) if self.source.lines else None
        return next((name for name in (told, said) if isinstance(name, str)), None)


class Linker:
    """Joins agents to calls."""

    def __init__(self, index: CallIndex) -> None:
        self._index = index
        self._taken: set[str | int] = set()

    def link(self, candidates: Sequence[Candidate]) -> None:
        """Join each agent by the best that tells of its call; those of which nothing tells stay as they are."""
        left = sorted(candidates, key=lambda agent: agent.start)
        for kind, find in self._ways():
            waiting, left = left, []
            for agent in waiting:
                holders = [holder for holder in find(agent) if holder.owner != agent.index]
                if holders:
                    agent.linked_by, agent.holders = kind, holders
                    self._taken.update(key_of(holder.call) for holder in holders)
                else:
                    left.append(agent)
            if not left:
                return

    def _ways(self) -> tuple[tuple[AgentLink, Callable[[Candidate], Sequence[PlacedCall]]], ...]:
        index = self._index
        return (
            (AgentLink.META, self._find_by_meta),
            (AgentLink.RESULT, lambda agent: _look_up(index.by_result, agent.ids)),
            (AgentLink.TEXT, lambda agent: _look_up(index.by_text, agent.ids)),
            (AgentLink.PROGRESS, self._find_by_progress),
            (AgentLink.NOTICE, lambda agent: _look_up(index.by_notice, agent.ids)),
            (AgentLink.WORKFLOW, lambda agent: _look_up(index.by_run, agent.runs)),
            (AgentLink.NAME, self._find_by_name),
            (AgentLink.PARENT, self._find_by_parent),
            (AgentLink.PROMPT, self._find_by_prompt),
        )

    def _find_by_meta(self, agent: Candidate) -> Sequence[PlacedCall]:
        call_id = agent.source.meta.tool_use_id if agent.source.meta is not None else None
        return _look_up(self._index.by_id, [call_id] if isinstance(call_id, str) else [])

    def _find_by_progress(self, agent: Candidate) -> Sequence[PlacedCall]:
        told = self._index.by_progress
        return _look_up(self._index.by_id, [told[name] for name in agent.ids if name in told])

    def _find_by_name(self, agent: Candidate) -> Sequence[PlacedCall]:
        return () if agent.name is None else self._take(self._index.by_name.get(agent.name), agent)

    def _find_by_parent(self, agent: Candidate) -> Sequence[PlacedCall]:
        if agent.inline is None:
            return ()
        if agent.inline.tool_use_id is not None:
            return self._index.by_id.get(agent.inline.tool_use_id, ())
        for told in agent.inline.parents:
            uuid: str | None = told
            for _ in range(_STEPS):
                if uuid is None:
                    break
                if uuid in self._index.by_line:
                    return self._find_in_line(uuid, agent)
                uuid = self._index.parents.get(uuid)
        return ()

    def _find_in_line(self, uuid: str, agent: Candidate) -> Sequence[PlacedCall]:
        """Return the call of a line that asks what the agent was asked, else the next, else the last."""
        same = self._index.by_line_and_prompt.get((uuid, agent.prompt or ""))
        return self._take(same, agent) or self._share(self._index.by_line[uuid], agent)

    def _find_by_prompt(self, agent: Candidate) -> Sequence[PlacedCall]:
        queue = self._index.by_prompt.get(agent.prompt) if agent.prompt else None
        return () if queue is None else self._share(queue, agent)

    def _take(self, queue: CallQueue | None, agent: Candidate) -> Sequence[PlacedCall]:
        holder = None if queue is None else queue.take(self._taken, agent.index)
        return () if holder is None else (holder,)

    def _share(self, queue: CallQueue, agent: Candidate) -> Sequence[PlacedCall]:
        return self._take(queue, agent) or queue.holders[-1:]


def _look_up(index: Mapping[str, Sequence[PlacedCall]], names: Sequence[str]) -> Sequence[PlacedCall]:
    return next((index[name] for name in names if name in index), ())


class Agents(Struct, frozen=True, gc=False):
    """The agents of a session, those among the main lines first, and the runs of its workflows."""

    agents: tuple[Agent, ...] = ()
    workflows: tuple[Workflow, ...] = ()


def build_agents(
    main: Sequence[Line],
    calls: Sequence[Call],
    sources: Sequence[AgentSource] = (),
    workflows: Sequence[WorkflowSource] = (),
) -> Agents:
    """Return all agents of a session: those among its main lines, whose calls are `calls`, and `sources`."""
    callers = {call.place.uuid or "" for call in calls if call.category is Category.AGENT}
    inline_agents = list_inline_agents(main, callers)
    if not inline_agents and not sources and not workflows:
        return Agents()
    return _Assembly(main, calls, inline_agents, sources, workflows).build()


class _Assembly:
    """All that is known of the agents of one session, put together."""

    def __init__(
        self,
        main: Sequence[Line],
        calls: Sequence[Call],
        inline_agents: Sequence[InlineAgent],
        sources: Sequence[AgentSource],
        workflows: Sequence[WorkflowSource],
    ) -> None:
        self._runs = {source.run_id: source for source in workflows}
        for source in sources:
            if source.run_id is not None:
                self._runs.setdefault(source.run_id, WorkflowSource(source.run_id))
        self._parts = {run_id: list_parts(source) for run_id, source in self._runs.items()}
        self._run_of = {agent_id: run_id for run_id, parts in self._parts.items() for agent_id in parts}
        own, gathered = _gather_agents(main, calls, inline_agents, sources)
        self._agents = [
            Candidate(index, source, inline, self._list_run(source))
            for index, (source, inline) in enumerate(gathered)
        ]
        self._by_name = {agent.source.agent_id: agent.index for agent in reversed(self._agents)}
        self._index = CallIndex(
            {MAIN: own} | {agent.index: agent.source.calls for agent in self._agents},
            {MAIN: main} | {agent.index: agent.source.lines for agent in self._agents if not agent.inline},
        )
        self._inherited: list[int] = []
        """Up to which of its calls each agent has them from its parent."""

    def build(self) -> Agents:
        Linker(self._index).link(self._agents)
        self._inherited = [self._find_inherited(agent) for agent in self._agents]
        holders = [self._choose(agent.holders, agent) for agent in self._agents]
        parents = [self._find_parent(*pair) for pair in zip(self._agents, holders, strict=True)]
        cut_circles(parents)
        children: list[list[str]] = [[] for _ in self._agents]
        for agent, parent in zip(self._agents, parents, strict=True):
            if parent is not None:
                children[parent].append(agent.source.agent_id)
        depths, workflows = measure_depths(parents, range(len(parents))), self._build_workflows()
        built = [
            replace(
                self._build_agent(agent, holder.call if holder is not None else None, workflows),
                parent_id=None if parent is None else self._agents[parent].source.agent_id,
                depth=1 + depths[agent.index],
                children=tuple(started),
            )
            for agent, holder, parent, started in zip(self._agents, holders, parents, children, strict=True)
        ]
        return Agents(tuple(built), tuple(workflows.values()))

    def _list_run(self, source: AgentSource) -> tuple[str, ...]:
        """Return the run of an agent, and the background task that the run was, as far as they are known."""
        run_id = source.run_id or self._run_of.get(source.agent_id)
        return () if run_id is None else (run_id, *self._list_tasks(run_id))

    def _list_tasks(self, run_id: str) -> tuple[str, ...]:
        record = self._runs[run_id].record
        return (record.task_id,) if record is not None and isinstance(record.task_id, str) else ()

    def _find_inherited(self, agent: Candidate) -> int:
        """Return the position of the call that started an agent among its own; -1 if it has no copy of it."""
        call_id = agent.holders[0].call.id if agent.holders and agent.source.calls else None
        held = self._index.by_id.get(call_id, ()) if call_id is not None else ()
        return max((holder.position for holder in held if holder.owner == agent.index), default=-1)

    def _choose(self, holders: Sequence[PlacedCall], agent: Candidate | None = None) -> PlacedCall | None:
        """Return the conversation that made a call, of all that hold it."""
        meta = agent.source.meta if agent is not None else None
        told = meta.parent_agent_id if meta is not None else None
        parent = self._by_name.get(told) if isinstance(told, str) else None

        def doubt(holder: PlacedCall) -> tuple[bool, bool]:
            copied = holder.owner != MAIN and holder.position <= self._inherited[holder.owner]
            return copied, parent is not None and holder.owner != parent

        return min(holders, key=doubt, default=None)

    def _find_parent(self, agent: Candidate, holder: PlacedCall | None) -> int | None:
        if holder is not None:
            return None if holder.owner == MAIN else holder.owner
        told = agent.source.meta.parent_agent_id if agent.source.meta is not None else None
        return self._by_name.get(told) if isinstance(told, str) else None

    def _build_workflows(self) -> dict[str, Workflow]:
        members: dict[str, list[AgentSource]] = {run_id: [] for run_id in sorted(self._runs)}
        for agent in self._agents:
            for run_id in agent.runs[:1]:
                members[run_id].append(agent.source)
        return {run_id: self._build_workflow(run_id, sources) for run_id, sources in members.items()}

    def _build_workflow(self, run_id: str, members: Sequence[AgentSource]) -> Workflow:
        names = (run_id, *self._list_tasks(run_id))
        holder = self._choose(next((held for name in names if (held := self._index.by_run.get(name))), ()))
        call, owner = (None, MAIN) if holder is None else (holder.call, holder.owner)
        parent_id = None if owner == MAIN else self._agents[owner].source.agent_id
        told = [part.phase for part in self._parts[run_id].values()]
        phases = [*told, *(source.meta.workflow_phase for source in members if source.meta is not None)]
        named = [phase for phase in phases if isinstance(phase, str)]
        agent_ids = [source.agent_id for source in members]
        return build_workflow(self._runs[run_id], agent_ids, named, call, parent_id)

    def _build_agent(self, agent: Candidate, call: Call | None, workflows: Mapping[str, Workflow]) -> Agent:
        source = agent.source
        run_id = agent.runs[0] if agent.runs else None
        part = self._parts[run_id].get(source.agent_id) if run_id is not None else None
        notice = self._find_notice(agent, call)
        background = notice is not None or _is_background(agent, call)
        resumed_by = self._list_resumes(agent, call)
        state = _state_of(agent, list_attempts(call, resumed_by))
        if notice is not None:
            state = state_of_end(notice.status)
        elif run_id is not None and (part is not None or agent.linked_by in (None, AgentLink.WORKFLOW)):
            state = (part or Part()).state(workflows[run_id].state)
        return Agent(
            id=source.agent_id,
            lines=source.lines,
            calls=source.calls,
            call=call,
            linked_by=agent.linked_by,
            resumed_by=resumed_by,
            run_id=run_id,
            part=part,
            inline=agent.inline is not None,
            background=background,
            state=state,
            notice=notice,
            meta=source.meta,
            path=source.path,
            inherited=_count_inherited(source, self._inherited[agent.index]),
        )

    def _find_notice(self, agent: Candidate, call: Call | None) -> TaskNotice | None:
        """Return the last news of an agent's end; the tasks of agents have their ids."""
        for name in agent.ids:
            if name in self._index.by_notice:
                return self._index.by_notice[name][-1].call.notice
        if call is None or call.notice is None or agent.linked_by is AgentLink.WORKFLOW:
            return None
        return call.notice if call.notice.task_id is None else None

    def _list_resumes(self, agent: Candidate, call: Call | None) -> tuple[Call, ...]:
        found: dict[str | int, Call] = {}
        for index in (self._index.by_result, self._index.by_text, self._index.by_resumed):
            for holder in (holder for name in agent.ids for holder in index.get(name, ())):
                if holder.owner != agent.index and (call is None or key_of(holder.call) != key_of(call)):
                    found.setdefault(key_of(holder.call), holder.call)
        return tuple(found.values())


def _is_teammate(agent: Candidate, call: Call | None) -> bool:
    meta = agent.source.meta
    if agent.linked_by is AgentLink.NAME or (
        meta is not None and meta.task_kind is AgentTaskKind.IN_PROCESS_TEAMMATE
    ):
        return True
    result = call.result if call is not None else None
    return result is not None and "@" in (result.agent_id or "")


def _is_background(agent: Candidate, call: Call | None) -> bool:
    meta = agent.source.meta
    if meta is not None and isinstance(meta.request_shape, RequestShape):
        return meta.request_shape is RequestShape.BACKGROUND
    if call is None or agent.linked_by is AgentLink.WORKFLOW:
        return False
    detached = call.result is not None and call.result.state is CallState.PLACEHOLDER
    return detached or _is_teammate(agent, call)


def _state_of(agent: Candidate, calls: Sequence[Call]) -> AgentState:
    """Return what its metadata and the last of its calls tell of an agent's end."""
    state = AgentState.UNKNOWN
    call = calls[-1] if calls else None
    if _is_teammate(agent, call):
        state = AgentState.RUNNING  # the result only says that it was started
    elif call is not None:
        told = call.result.agent_id if call.result is not None else None
        if told is None or agent.inline is not None or told in agent.ids:  # else another try ended so
            state = CALL_STATES[call.state]
    stopped = agent.source.meta is not None and agent.source.meta.stopped_by_user is True
    return AgentState.STOPPED if stopped and state in (AgentState.RUNNING, AgentState.UNKNOWN) else state


def _count_inherited(source: AgentSource, position: int) -> int:
    """Return how many lines a forked agent has from its parent: all up to the call that started it."""
    if position < 0:
        return 0
    call = source.calls[position]
    held = {id(place.line) for place in (call.place, *call.copies)}
    return max((index + 1 for index, line in enumerate(source.lines) if id(line) in held), default=0)


def _gather_agents(
    main: Sequence[Line],
    calls: Sequence[Call],
    inline_agents: Sequence[InlineAgent],
    sources: Sequence[AgentSource],
) -> tuple[Sequence[Call], list[tuple[AgentSource, InlineAgent | None]]]:
    """Return the calls of the main conversation alone, and the agents, each with its own lines and calls.

    Lines of an agent that has a file of its own go there, unless it has them already.
    """
    if not inline_agents:
        return calls, [(source, None) for source in sources]
    owner = {id(main[position]): i for i, inline in enumerate(inline_agents) for position in inline.positions}
    shares: dict[int | None, list[Call]] = {}
    for call in calls:
        shares.setdefault(owner.get(id(call.place.line)), []).append(call)
    filed: dict[str | None, int] = {}
    for index, source in enumerate(sources):
        filed.setdefault(source.agent_id, index)
    files = list(sources)
    alone: list[tuple[AgentSource, InlineAgent | None]] = []
    for i, inline in enumerate(inline_agents):
        lines = [main[position] for position in inline.positions]
        target = filed.get(inline.agent_id)
        if target is None:
            alone.append((AgentSource(inline.id, tuple(lines), tuple(shares.get(i, ()))), inline))
        else:
            files[target] = _extend(files[target], lines, shares.get(i, ()))
    return shares.get(None, ()), [*alone, *((source, None) for source in files)]


def _extend(source: AgentSource, lines: Sequence[Line], calls: Sequence[Call]) -> AgentSource:
    uuids = {uuid for line in source.lines if isinstance(uuid := getattr(line.entry, "uuid", None), str)}
    keys = {key_of(call) for call in source.calls}
    return replace(
        source,
        lines=(*source.lines, *(line for line in lines if getattr(line.entry, "uuid", None) not in uuids)),
        calls=(*source.calls, *(call for call in calls if key_of(call) not in keys)),
    )


def concerns_agents(lines: Iterable[Line], calls: Iterable[Call], agents: Agents) -> bool:
    """Tell whether agents may be others than they were, now that these lines and calls came.

    Calls that have changed are among them. In doubt they may.
    """
    if any(map(_is_telling, lines)) or any(agent.inline for agent in agents.agents):
        return True
    if not agents.agents and not agents.workflows:
        return False  # no files of any, and no lines either
    # What tells of an agent may name any call, and one that has not come yet.
    searching = any(agent.call is None for agent in agents.agents)
    started = {agent.call.id for agent in agents.agents if agent.call is not None}
    return any(searching or _concerns_agent(call) or call.id in started for call in calls)


def _is_telling(line: Line) -> bool:
    entry = line.entry
    flag = getattr(entry, "is_sidechain", line)
    if flag is True or (flag is line and isinstance(getattr(entry, "parent_tool_use_id", None), str)):
        return True
    return type(entry) is ProgressEntry and isinstance(entry.data, AgentProgress)


def _concerns_agent(call: Call) -> bool:
    results = () if call.result is None else (call.result, *call.other_results)
    return (
        call.category is Category.AGENT
        or call.name in TELLING_TOOLS
        or call.notice is not None
        or any(result.agent_id is not None for result in results)
    )

"""Sub-agents attached to the calls that started them, at any depth, with workflows and late answers.

An agent's lines stand in a file of their own, wherever it lies, or among those of the main conversation. An
agent has at most one call; a call may have several agents, where a try failed and another followed. Agents
without a call are kept: warm-ups of old, side questions, and those whose session lost the call.

Files are not read here, and every step is one look at each agent and each call. `concerns_agents` tells
whether what is new of a conversation has to do with agents: only then they have to be put together anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import Line
from turnlog.messages.entries import ProgressEntry
from turnlog.messages.progress import AgentProgress
from turnlog.messages.sidecars import AgentTaskKind, RequestShape
from turnlog.transcripts.agents.agent import Agent, AgentLink, AgentSource, list_tries
from turnlog.transcripts.agents.call_index import MAIN, TELLING_TOOLS, CallIndex, Holder, key_of
from turnlog.transcripts.agents.linking import Candidate, Chain, Linker, list_chains
from turnlog.transcripts.agents.workflows import Part, Workflow, WorkflowSource, build_workflow, list_parts
from turnlog.transcripts.calls.call import Call, TaskNotice
from turnlog.transcripts.conversation.lineage import cut_circles
from turnlog.transcripts.kinds import CALL_STATES, AgentState, CallState, Category, state_of_end


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
    chains = list_chains(main, callers)
    if not chains and not sources and not workflows:
        return Agents()
    return _Assembly(main, calls, chains, sources, workflows).build()


class _Assembly:
    """All that is known of the agents of one session, put together."""

    def __init__(
        self,
        main: Sequence[Line],
        calls: Sequence[Call],
        chains: Sequence[Chain],
        sources: Sequence[AgentSource],
        workflows: Sequence[WorkflowSource],
    ) -> None:
        self._runs = {source.run_id: source for source in workflows}
        for source in sources:
            if source.run_id is not None:
                self._runs.setdefault(source.run_id, WorkflowSource(source.run_id))
        self._parts = {run_id: list_parts(source) for run_id, source in self._runs.items()}
        self._run_of = {agent_id: run_id for run_id, parts in self._parts.items() for agent_id in parts}
        own, gathered = _gather_agents(main, calls, chains, sources)
        self._agents = [
            Candidate(index, source, chain, self._list_run(source))
            for index, (source, chain) in enumerate(gathered)
        ]
        self._by_name = {agent.source.agent_id: agent.index for agent in reversed(self._agents)}
        self._index = CallIndex(
            {MAIN: own} | {agent.index: agent.source.calls for agent in self._agents},
            {MAIN: main} | {agent.index: agent.source.lines for agent in self._agents if not agent.chain},
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
        workflows = self._build_workflows()
        built = [
            replace(
                self._build_agent(agent, holder.call if holder is not None else None, workflows),
                parent_id=None if parent is None else self._agents[parent].source.agent_id,
                depth=depth,
                children=tuple(started),
            )
            for agent, holder, parent, depth, started in zip(
                self._agents, holders, parents, _measure(parents), children, strict=True
            )
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

    def _choose(self, holders: Sequence[Holder], agent: Candidate | None = None) -> Holder | None:
        """Return the conversation that made a call, of all that hold it."""
        meta = agent.source.meta if agent is not None else None
        told = meta.parent_agent_id if meta is not None else None
        parent = self._by_name.get(told) if isinstance(told, str) else None

        def doubt(holder: Holder) -> tuple[bool, bool]:
            copied = holder.owner != MAIN and holder.position <= self._inherited[holder.owner]
            return copied, parent is not None and holder.owner != parent

        return min(holders, key=doubt, default=None)

    def _find_parent(self, agent: Candidate, holder: Holder | None) -> int | None:
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
        state = _state_of(agent, list_tries(call, resumed_by))
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
            inline=agent.chain is not None,
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


def _measure(parents: Sequence[int | None]) -> list[int]:
    """Return how deep each agent is; there must be no circles."""
    depths = [0] * len(parents)
    for start in range(len(parents)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and not depths[at]:
            trail.append(at)
            at = parents[at]
        depth = 0 if at is None else depths[at]
        for index in reversed(trail):
            depth += 1
            depths[index] = depth
    return depths


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
        if told is None or agent.chain is not None or told in agent.ids:  # else another try ended so
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
    main: Sequence[Line], calls: Sequence[Call], chains: Sequence[Chain], sources: Sequence[AgentSource]
) -> tuple[Sequence[Call], list[tuple[AgentSource, Chain | None]]]:
    """Return the calls of the main conversation alone, and the agents, each with its own lines and calls.

    Lines of an agent that has a file of its own go there, unless it has them already.
    """
    if not chains:
        return calls, [(source, None) for source in sources]
    owner = {id(main[position]): i for i, chain in enumerate(chains) for position in chain.positions}
    shares: dict[int | None, list[Call]] = {}
    for call in calls:
        shares.setdefault(owner.get(id(call.place.line)), []).append(call)
    filed: dict[str | None, int] = {}
    for index, source in enumerate(sources):
        filed.setdefault(source.agent_id, index)
    files = list(sources)
    alone: list[tuple[AgentSource, Chain | None]] = []
    for i, chain in enumerate(chains):
        lines = [main[position] for position in chain.positions]
        target = filed.get(chain.agent_id)
        if target is None:
            alone.append((AgentSource(chain.id, tuple(lines), tuple(shares.get(i, ()))), chain))
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
    return any(searching or _tells(call) or call.id in started for call in calls)


def _is_telling(line: Line) -> bool:
    entry = line.entry
    flag = getattr(entry, "is_sidechain", line)
    if flag is True or (flag is line and isinstance(getattr(entry, "parent_tool_use_id", None), str)):
        return True
    return type(entry) is ProgressEntry and isinstance(entry.data, AgentProgress)


def _tells(call: Call) -> bool:
    results = () if call.result is None else (call.result, *call.other_results)
    return (
        call.category is Category.AGENT
        or call.name in TELLING_TOOLS
        or call.notice is not None
        or any(result.agent_id is not None for result in results)
    )

"""Which lines of a conversation are an agent's, and by what an agent is joined to the call that started it.

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

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.entries import UserEntry
from turnlog.messages.envelope import instant
from turnlog.transcripts.agents.agent import AgentLink, AgentSource, find_prompt
from turnlog.transcripts.agents.call_index import CallIndex, CallQueue, Holder, key_of
from turnlog.transcripts.conversation.lineage import cut_circles
from turnlog.transcripts.lines.blocks import find_stored_type, is_call, is_result, list_blocks

_Key = tuple[str, str | int]
"""By what lines belong together, and its value."""


class Chain(Struct, frozen=True, gc=False):
    """The lines of one agent among others."""

    id: str
    """What the lines call their agent; else the call that started it, or the first uuid."""
    positions: tuple[int, ...]
    agent_id: str | None = None
    tool_use_id: str | None = None
    """The call that started it, as the stream says."""
    parents: tuple[str, ...] = ()
    """What the first line follows, by uuid: the best first."""


def list_chains(lines: Sequence[Line], callers: Collection[str]) -> list[Chain]:
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
    chains = [_build(lines, key, positions) for key, positions in groups.items() if _speaks(lines, positions)]
    return sorted(chains, key=lambda chain: chain.positions[0])


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
            keys[index] = found or ("chain", trail[-1])
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
            begins = told in callers and _is_prompt(lines[position])
            parents[index] = None if begins else by_uuid.get(told)
    return parents


def _is_prompt(line: Line) -> bool:
    return isinstance(line.entry, UserEntry) and not any(is_result(block) for block in list_blocks(line.entry))


def _speaks(lines: Sequence[Line], positions: list[int]) -> bool:
    """Tell whether there is more than stored calls and results, which prove no agent."""
    return not all(_is_stored_tool(lines[position]) for position in positions)


def _is_stored_tool(line: Line) -> bool:
    if find_stored_type(line) is None:
        return False
    return any(is_call(block) or is_result(block) for block in list_blocks(line.entry))


def _build(lines: Sequence[Line], key: _Key, positions: list[int]) -> Chain:
    kind, name = key
    first = lines[positions[0]]
    named = next((found for at in positions if (found := _find_text(lines[at], "agent_id"))), None)
    uuids = (_find_text(lines[at], "uuid") for at in positions)
    made_up = name if kind == "call" else next((uuid for uuid in uuids if uuid is not None), None)
    links = (_find_text(first, field) for field in ("sidechain_parent_uuid", "parent_uuid"))
    return Chain(
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
        self, index: int, source: AgentSource, chain: Chain | None = None, runs: Sequence[str] = ()
    ) -> None:
        self.index = index
        self.source = source
        self.chain = chain
        """Its lines among those of the main conversation, if it has no file of its own."""
        self.runs = runs
        """The run that it worked for, and the background task that the run was."""
        self.linked_by: AgentLink | None = None
        self.holders: Sequence[Holder] = ()
        """The calls that may have started it: copies of one, or one and those that went on with it."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """What the program calls it; of a file, its name first, and then what the lines say."""
        if self.chain is not None:
            return () if self.chain.agent_id is None else (self.chain.agent_id,)
        said = getattr(self.source.lines[0].entry, "agent_id", None) if self.source.lines else None
        names = (self.source.agent_id, *((said,) if isinstance(said, str) else ()))
        return tuple(dict.fromkeys(names))

    @cached_property
    def start(self) -> tuple[bool, int, datetime, int]:
        """What puts agents in the order in which they started: time between files, else the file's order."""
        if self.chain is not None:
            return (False, self.chain.positions[0], _LAST, self.index)
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

    def _ways(self) -> tuple[tuple[AgentLink, Callable[[Candidate], Sequence[Holder]]], ...]:
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

    def _find_by_meta(self, agent: Candidate) -> Sequence[Holder]:
        call_id = agent.source.meta.tool_use_id if agent.source.meta is not None else None
        return _look_up(self._index.by_id, [call_id] if isinstance(call_id, str) else [])

    def _find_by_progress(self, agent: Candidate) -> Sequence[Holder]:
        told = self._index.by_progress
        return _look_up(self._index.by_id, [told[name] for name in agent.ids if name in told])

    def _find_by_name(self, agent: Candidate) -> Sequence[Holder]:
        return () if agent.name is None else self._take(self._index.by_name.get(agent.name), agent)

    def _find_by_parent(self, agent: Candidate) -> Sequence[Holder]:
        if agent.chain is None:
            return ()
        if agent.chain.tool_use_id is not None:
            return self._index.by_id.get(agent.chain.tool_use_id, ())
        for told in agent.chain.parents:
            uuid: str | None = told
            for _ in range(_STEPS):
                if uuid is None:
                    break
                if uuid in self._index.by_line:
                    return self._find_in_line(uuid, agent)
                uuid = self._index.parents.get(uuid)
        return ()

    def _find_in_line(self, uuid: str, agent: Candidate) -> Sequence[Holder]:
        """Return the call of a line that asks what the agent was asked, else the next, else the last."""
        same = self._index.by_line_and_prompt.get((uuid, agent.prompt or ""))
        return self._take(same, agent) or self._share(self._index.by_line[uuid], agent)

    def _find_by_prompt(self, agent: Candidate) -> Sequence[Holder]:
        queue = self._index.by_prompt.get(agent.prompt) if agent.prompt else None
        return () if queue is None else self._share(queue, agent)

    def _take(self, queue: CallQueue | None, agent: Candidate) -> Sequence[Holder]:
        holder = None if queue is None else queue.take(self._taken, agent.index)
        return () if holder is None else (holder,)

    def _share(self, queue: CallQueue, agent: Candidate) -> Sequence[Holder]:
        return self._take(queue, agent) or queue.holders[-1:]


def _look_up(index: Mapping[str, Sequence[Holder]], names: Sequence[str]) -> Sequence[Holder]:
    return next((index[name] for name in names if name in index), ())

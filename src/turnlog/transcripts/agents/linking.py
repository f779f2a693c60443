"""By what an agent is joined to the call that started it.

Many things tell, none always: `AgentLink` lists them, the most reliable first, and each is asked only about the
agents that all before it left open. What names an agent or a call is looked up. Names and prompts need not be
unique, so with those order decides: agents take calls in the order in which they started. One that is left over
where all calls are taken was a further try, and shares the last one's call.

A forked agent's file begins with copies of its parent's lines, the call that started it among them. So of
several conversations that hold a call, one that did not inherit it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property

from turnlog.messages.envelope import instant
from turnlog.transcripts.agents.agent import AgentLink, AgentSource, find_prompt
from turnlog.transcripts.agents.call_index import CallIndex, CallQueue, Holder, key_of
from turnlog.transcripts.agents.inline import Chain

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

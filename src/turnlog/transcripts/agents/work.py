"""What the agents did that each message of the main conversation started."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from turnlog.messages import Line
from turnlog.transcripts.agents.agent import Agent
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.turns import AgentWork


class WorkList:
    """Lists the work of agents again and again; what was read of lines that stay is read once."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, Path | None], tuple[tuple[Line, ...], int, list[str]]] = {}

    def build(self, agents: Iterable[Agent], find_caller: Callable[[Call], int | None]) -> dict[int, AgentWork]:
        """Return what agents did, by the message that made the call that started them."""
        children: dict[str | None, list[Agent]] = {}
        for agent in agents:
            children.setdefault(agent.parent_id, []).append(agent)
        work: dict[int, tuple[list[str], list[str]]] = {}
        for agent in children.get(None, ()):
            at = None if agent.call is None else find_caller(agent.call)
            if at is not None:
                names, answers = work.setdefault(at, ([], []))
                for one in _list_below(agent, children):
                    names.append(one.id)
                    answers += self._list_answers(one)
        return {at: AgentWork(tuple(names), tuple(answers)) for at, (names, answers) in work.items()}

    def _list_answers(self, agent: Agent) -> list[str]:
        """Return the ids of the answers that an agent got from the model."""
        lines, inherited = agent.lines, agent.inherited
        known = self._answers.get((agent.id, agent.path))
        if known is None or known[0] is not lines or known[1] != inherited:
            ids = (getattr(getattr(line.entry, "message", None), "id", None) for line in lines[inherited:])
            known = lines, inherited, list(dict.fromkeys(each for each in ids if isinstance(each, str)))
            self._answers[agent.id, agent.path] = known
        return known[2]


def _list_below(agent: Agent, children: Mapping[str | None, list[Agent]]) -> list[Agent]:
    """Return an agent and all that it started, at any depth."""
    found = [agent]
    seen = {agent.id}
    for one in found:
        below = [child for child in children.get(one.id, ()) if child.id not in seen]
        seen |= {child.id for child in below}
        found += below
    return found

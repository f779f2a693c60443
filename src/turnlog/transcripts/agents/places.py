"""Where agents stand in a conversation: under the calls that started them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from turnlog.transcripts.agents.agent import Agent
from turnlog.transcripts.agents.workflows import Workflow
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Lane, Message

__all__ = ["AgentPlaces", "build_conversation"]


class AgentPlaces:
    """Which agents a call started. Each agent is given out once: what is left has no call that is shown."""

    def __init__(self, agents: Sequence[Agent], workflows: Iterable[Workflow]) -> None:
        runs = {workflow.run_id: workflow.call for workflow in workflows}
        self._by_call: dict[object, list[Agent]] = {}
        self._left: dict[int, Agent] = {}
        for index, agent in enumerate(agents):
            self._left[index] = agent
            call = agent.call or runs.get(agent.run_id or "")
            if call is not None:
                self._by_call.setdefault(_key(call), []).append(agent)
        self._index = {id(agent): index for index, agent in enumerate(agents)}
        attached = (agent for agents in self._by_call.values() for agent in agents if agent.inline)
        self._inline = {id(line) for agent in attached for line in agent.lines}

    def take_started(self, call: Call) -> Iterator[Agent]:
        """Yield the agents that a call started."""
        for agent in self._by_call.get(_key(call), ()):
            if self._left.pop(self._index[id(agent)], None) is not None:
                yield agent

    def list_main(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages that are not shown under a call."""
        return [
            message
            for message in messages
            if message.lane is not Lane.AGENT or id(message.lines[0]) not in self._inline
        ]

    def take_left(self) -> Iterator[Agent]:
        """Yield the agents that were not given out and stand in no other place."""
        while self._left:
            agent = self._left.pop(next(iter(self._left)))
            if not agent.inline or id(agent.lines[0]) in self._inline:
                yield agent


def build_conversation(agent: Agent) -> Conversation:
    """Return an agent's own conversation, without what it has from its parent."""
    return Conversation(agent.lines[agent.inherited :])


def _key(call: Call) -> object:
    """Return by what a call is known in whichever conversation was built from its line."""
    return call.id or (id(call.place.line), call.place.index)

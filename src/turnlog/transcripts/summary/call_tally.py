"""How many calls there are, what became of them, and which agents they started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState


class CallTally:
    """What calls amount to, as more come and some change."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._states: list[CallState] = []
        self._counts: Counter[CallState] = Counter()
        self._agents: dict[int, str] = {}
        for position, call in enumerate(calls):
            self.put(position, call)

    def __len__(self) -> int:
        return len(self._states)

    @property
    def agents(self) -> list[str]:
        """The agents that calls started, in order."""
        return [agent for _, agent in sorted(self._agents.items())]

    def put(self, position: int, call: Call) -> None:
        """Take the call at a position, which is the next one or one that has changed."""
        if position < len(self._states):
            self._counts[self._states[position]] -= 1
            self._states[position] = call.state
        else:
            self._states.append(call.state)
        self._counts[call.state] += 1
        if call.agent_id is not None:
            self._agents[position] = call.agent_id
        elif self._agents:
            self._agents.pop(position, None)

    def count(self, state: CallState) -> int:
        """Return how many calls are in a state."""
        return self._counts[state]

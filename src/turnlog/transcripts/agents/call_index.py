"""The calls of all conversations of a session, found by what tells of the agents that they started.

Each way to find them is made when it is first asked for: most sessions need one or two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.entries import ProgressEntry, UserEntry
from turnlog.messages.progress import AgentProgress
from turnlog.messages.tool_io import AgentInput, SendMessageResult
from turnlog.transcripts.agents.workflows import WORKFLOW_TOOL, find_run_id
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Result
from turnlog.transcripts.kinds import Category

MAIN = -1
"""The main conversation, as the owner of calls."""
_SEND_MESSAGE = "SendMessage"
TELLING_TOOLS = frozenset({WORKFLOW_TOOL, _SEND_MESSAGE})
"""The tools besides those that start agents whose results tell of some."""

K = TypeVar("K")


class Holder(Struct, frozen=True, gc=False):
    """A call, and the conversation that it stands in."""

    owner: int
    """Which agent's conversation, or `MAIN`."""
    position: int
    """Which of the conversation's calls it is."""
    call: Call


class CallQueue:
    """Calls that cannot be told apart, to be given out in order."""

    def __init__(self) -> None:
        self.holders: list[Holder] = []
        self._next = 0

    def take(self, taken: set[str | int], owner: int) -> Holder | None:
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
    def by_id(self) -> dict[str, list[Holder]]:
        """By the call's own id; copies have the same."""
        return _index(self._all(), lambda call: (call.id,))

    @cached_property
    def by_result(self) -> dict[str, list[Holder]]:
        """By the agent that the call's `toolUseResult` names."""
        return _index(self._all(), lambda call: [result.agent_id for result in _results(call)])

    @cached_property
    def by_text(self) -> dict[str, list[Holder]]:
        """By the agent that the text of the call's result names."""
        return _index(self._agent_calls, lambda call: (call.agent_id,))

    @cached_property
    def by_notice(self) -> dict[str, list[Holder]]:
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
    def by_run(self) -> dict[str, list[Holder]]:
        """By the run of a workflow that the call started, and by the background task that the run was."""
        started = [holder for holder in self._all() if holder.call.name == WORKFLOW_TOOL]
        tasks = _index(started, lambda call: [result.task_id for result in _results(call)])
        return tasks | _index(started, lambda call: (find_run_id(call),))

    @cached_property
    def by_resumed(self) -> dict[str, list[Holder]]:
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
    def _agent_calls(self) -> list[Holder]:
        return [holder for holder in self._all() if holder.call.category is Category.AGENT]

    @cached_property
    def _asked(self) -> list[tuple[Holder, AgentInput]]:
        views = ((holder, holder.call.view_input().value) for holder in self._agent_calls)
        return [(holder, value) for holder, value in views if isinstance(value, AgentInput)]

    def _all(self) -> Iterator[Holder]:
        for owner, calls in self._calls.items():
            for position, call in enumerate(calls):
                yield Holder(owner, position, call)


def key_of(call: Call) -> str | int:
    """Return by what a call is known: copies of it, too, if it has an id."""
    return id(call) if call.id is None else call.id


def _index(holders: Iterable[Holder], keys: Callable[[Call], Iterable[str | None]]) -> dict[str, list[Holder]]:
    found: dict[str, list[Holder]] = {}
    for holder in holders:
        for key in keys(holder.call):
            if key is not None:
                found.setdefault(key, []).append(holder)
    return found


def _queue(pairs: Iterable[tuple[K, Holder]]) -> dict[K, CallQueue]:
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

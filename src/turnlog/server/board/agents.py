"""The sub-agents of a session that work."""

from __future__ import annotations

from collections import defaultdict

from turnlog.server.shapes.board import BoardAgent
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.moments import moment
from turnlog.store.identity import LOCAL
from turnlog.store.interface import Store
from turnlog.transcripts.agents.states import AgentState

__all__ = ["list_running"]

_MOST = 20


def list_running(store: Store, key: str, agents: int) -> tuple[BoardAgent, ...]:
    """Return the agents of a session that were begun and have not ended, at most 20."""
    if not agents:
        return ()
    running = [row for row in store.list_agents(LOCAL, key) if row.state == AgentState.RUNNING][-_MOST:]
    calls: dict[str, list[int]] = defaultdict(list)
    for row in running:
        if row.call is not None and row.call_source is not None:
            calls[row.call_source].append(row.call)
    started = {
        (source, call.index): call.started
        for source, indexes in calls.items()
        for call in store.list_calls_at(LOCAL, key, indexes, source=source)
    }
    return tuple(
        BoardAgent(
            id=sayable(row.id),
            type=say(row.type),
            title=None if row.description is None else head_of(row.description),
            since=moment(started.get((row.call_source or "", -1 if row.call is None else row.call))),
        )
        for row in running
    )

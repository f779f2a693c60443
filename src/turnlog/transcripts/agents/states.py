"""How far agents and workflows came."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from turnlog.transcripts.calls.states import CallState


class AgentState(StrEnum):
    """What is known of an agent's or a workflow's end."""

    RUNNING = "running"
    """No end was told: it may be at work, or went down with its session."""
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """It was interrupted, killed, or never allowed."""
    UNKNOWN = "unknown"
    """Nothing tells."""


CALL_STATES: Mapping[CallState, AgentState] = MappingProxyType(
    {
        CallState.UNRESOLVED: AgentState.RUNNING,
        CallState.PLACEHOLDER: AgentState.RUNNING,
        CallState.RESOLVED: AgentState.DONE,
        CallState.FAILED: AgentState.FAILED,
        CallState.INTERRUPTED: AgentState.STOPPED,
        CallState.REJECTED: AgentState.STOPPED,
    }
)
"""What the state of its call means for an agent."""

_ENDS: Mapping[str, AgentState] = MappingProxyType(
    {
        "completed": AgentState.DONE,
        "done": AgentState.DONE,
        "failed": AgentState.FAILED,
        "error": AgentState.FAILED,
    }
)


def state_of_end(status: str) -> AgentState:
    """Return what the word for an end means; any other than those for success and failure is a stop."""
    return _ENDS.get(status, AgentState.STOPPED)

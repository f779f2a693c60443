"""What an agent does, as hooks tell it: the values of the state machine."""

# ruff: noqa: D102 - the names of the properties say it

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

__all__ = ["AgentPhase", "AgentStatus", "OwnState", "RunningCall", "StateEvent", "Wait", "Why"]


class AgentPhase(StrEnum):
    """What the agent does."""

    AUTONOMOUS = "autonomous"
    NEEDS_YOU = "needs_you"
    IDLE = "idle"
    ENDED = "ended"


class Why(StrEnum):
    """Why the user is needed."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    IDLE = "idle"
    FAILED = "failed"
    TURN_ENDED = "turn_ended"


class Wait(Struct, frozen=True, gc=False, kw_only=True):
    """Somebody who waits for the person in the middle of the work."""

    why: Why
    since_ns: int
    agent_id: str | None = None
    """The sub-agent that waits; None for the main agent."""
    tool_name: str | None = None
    tool_use_id: str | None = None
    server: str | None = None
    """The MCP server that asks."""
    elicitation_id: str | None = None
    detail: str | None = None
    attributed: bool = True
    """Whether it is known for what; a notification does not say."""


class RunningCall(Struct, frozen=True, gc=False, kw_only=True):
    """A call that was begun; `digest` tells its input from those of other calls of the same tool."""

    tool_name: str
    tool_use_id: str | None
    agent_id: str | None
    since_ns: int
    digest: bytes


class OwnState(Struct, frozen=True, gc=False, kw_only=True):
    """What the main agent does, whoever waits in the middle of its work."""

    phase: AgentPhase
    since_ns: int
    why: Why | None = None
    detail: str | None = None
    tidying: bool = False
    """It compacts because the person asked for that."""


class AgentStatus(Struct, frozen=True, kw_only=True):
    """What a session's agent does now, and what that was told from.

    `own`, `waits` and `calls` are what `advance` needs to go on; the rest is what people are shown. While
    somebody waits for the person, it tells of whoever has waited longest.
    """

    phase: AgentPhase
    why: Why | None = None
    """None unless the user is needed."""
    since_ns: int
    """When this phase began, for this reason."""
    tool_name: str | None = None
    """The tool that runs, the last that was begun, or the one that waits for the person."""
    tool_use_id: str | None = None
    detail: str | None = None
    """In a line, what the person is needed for: the command, the question, the error, the last words."""
    agent_id: str | None = None
    """The sub-agent that waits for the person."""
    tool_since_ns: int | None = None
    """When the tool was begun."""
    own: OwnState
    waits: tuple[Wait, ...] = ()
    calls: tuple[RunningCall, ...] = ()


class StateEvent(Protocol):
    """What is needed of an event; a store's `HookDelivery` has it."""

    @property
    def event_name(self) -> str: ...
    @property
    def notification_type(self) -> str | None: ...
    @property
    def tool_name(self) -> str | None: ...
    @property
    def tool_use_id(self) -> str | None: ...
    @property
    def agent_id(self) -> str | None: ...
    @property
    def received_ns(self) -> int: ...
    @property
    def payload(self) -> bytes: ...

"""What a store keeps of hooks: every payload as it came, and the events that spec 002 makes of them."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["HookDelivery", "HookEvent", "HookSession"]


class HookDelivery(Struct, frozen=True, gc=False, kw_only=True):
    """A payload that a hook was given, as it came, with what follows from it."""

    delivery_id: str
    """The same for each attempt to deliver it."""
    received_ns: int
    payload: bytes
    session_id: str = ""
    """Empty if the payload does not say."""
    event_name: str = ""
    """Empty if the payload does not say."""
    notification_type: str | None = None
    tool_name: str | None = None
    label: str | None = None
    """For people."""
    group_name: str | None = None
    """What it says about the agent's state; None if nothing."""
    context: str | None = None
    """What is specific to the event, as JSON."""
    tool_use_id: str | None = None
    """The call that it is about."""
    agent_id: str | None = None
    """The sub-agent in which it happened; None for the main agent."""
    origin: str = ""
    """The machine that it comes from; empty for the one that the store is kept on."""


class HookEvent(Struct, frozen=True, gc=False, kw_only=True):
    """A row of spec 002's table `hook_events` (section 4.1)."""

    id: int
    session_id: str
    timestamp: int
    """Unix epoch seconds."""
    event_name: str
    tool_name: str | None
    label: str
    group_name: str
    context: str | None


class HookSession(Struct, frozen=True, gc=False):
    """A session of which hooks told something lately."""

    session_id: str
    last_ns: int

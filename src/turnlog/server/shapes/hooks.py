"""Hook deliveries and events; the events are spelt as spec 002 spells them (section 4.4)."""

from __future__ import annotations

from typing import Literal

from msgspec import Raw, Struct

from turnlog.transcripts.hooks.table import HookGroup


class HookReceipt(Struct, frozen=True, gc=False, kw_only=True):
    """The result of a delivery, which is on disk."""

    delivery_id: str
    kept: Literal["archive", "aside"]
    """`aside` if it cannot be read as a hook's payload."""


class HookEventItem(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A hook event."""

    timestamp: int
    """In seconds since 1970."""
    event_name: str
    tool_name: str | None
    label: str
    """For people."""
    group: HookGroup
    """What it says about the agent's state; `delivered` is spec 002's, and no event has it yet."""
    context: Raw | None
    """What is specific to the event."""

"""What a hook answers.

Nothing but the value of `async` tells the two forms apart, and no tag can be a boolean: so they are no union
that a decoder could choose from, and `view_output` chooses.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, UnsetType, field
from turnlog.messages.hook_events.specific import HookSpecificOutput
from turnlog.messages.salvage import View, split_object, view


class HookDecision(OpenEnum):
    """A verdict in the older form."""

    APPROVE = "approve"
    BLOCK = "block"


class SyncHookJSONOutput(Camel):
    """A hook's answer."""

    continue_: bool | None | UnsetType = field(name="continue", default=UNSET)
    """False ends the turn."""
    suppress_output: bool | None | UnsetType = UNSET
    stop_reason: str | None | UnsetType = UNSET
    """What the person reads when the turn ends."""
    decision: HookDecision | None | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    """Why it decided so."""
    system_message: str | None | UnsetType = UNSET
    """What the person reads in any case."""
    terminal_sequence: str | None | UnsetType = UNSET
    hook_specific_output: HookSpecificOutput | None | UnsetType = UNSET
    async_: bool | UnsetType = field(name="async", default=UNSET)
    """False, where it is there at all."""


class AsyncHookJSONOutput(Camel):
    """A hook's word that it goes on in the background."""

    async_: bool = field(name="async")
    async_timeout: Number | None | UnsetType = UNSET
    """Milliseconds."""


HookJSONOutput = SyncHookJSONOutput | AsyncHookJSONOutput
"""Either answer; see `view_output`."""


def view_output(raw: Raw | bytes) -> View[HookJSONOutput]:
    """Look at a hook's answer as what it is; never raises."""
    members = split_object(raw) or {}
    detached = bytes(members.get("async", b"")) == b"true"
    return view(AsyncHookJSONOutput if detached else SyncHookJSONOutput, raw)

"""Which of the host's callbacks Claude Code is to call, and when.

A matcher names its callbacks by ids of the host's choice. The functions themselves stay in the host's process,
under the same ids, in `Callbacks.hooks`.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, UnsetType


class HookFailurePolicy(OpenEnum):
    """What follows when a callback fails."""

    CONTINUE = "continue"
    BLOCK = "block"


class HookCallbackMatcher(Camel):
    """The callbacks for the events that match a pattern."""

    matcher: str | None | UnsetType = UNSET
    """A pattern of tool names; absent or null means all."""
    hook_callback_ids: tuple[str, ...] | UnsetType = UNSET
    timeout: Number | None | UnsetType = UNSET
    """In seconds."""
    on_failure: HookFailurePolicy | UnsetType = UNSET

"""What of a query's options lives in the host's process only.

Functions and live objects have no JSON form. They stand beside `QueryOptions` and not within it, so that no
encoder can meet them and no decoder can make one. What they are called with, and what they answer, are the
requests and responses of the control protocol.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from turnlog.messages.base import Value
from turnlog.messages.hook_events import HookInput, HookJSONOutput
from turnlog.messages.options.sessions import SessionStore
from turnlog.messages.permissions import PermissionResult

CanUseTool = Callable[..., Awaitable[PermissionResult]]
"""Asked whether a tool may run; takes the request with the tool's name and input."""

HookCallback = Callable[[HookInput, str | None], Awaitable[HookJSONOutput]]
"""Called for a hook's event; takes the event's input, and the id of the tool use if there is one."""

OnElicitation = Callable[..., Awaitable[Value]]
"""Called when an MCP server asks the user for something."""

OnUserDialog = Callable[..., Awaitable[Value]]
"""Called when a dialog is to be shown."""

SpawnProcess = Callable[[tuple[str, ...], str | None, Mapping[str, str]], object]
"""Starts Claude Code elsewhere; takes the command line, the working directory and the environment."""


class AbortController(Protocol):
    """Tells whether the query is to end; `threading.Event` and `asyncio.Event` do."""

    def is_set(self) -> bool:
        """Tell whether the query is to end."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Callbacks:
    """The functions and live objects of a query; none of them is ever written."""

    abort_controller: AbortController | None = None
    can_use_tool: CanUseTool | None = None
    hooks: Mapping[str, HookCallback] = dataclasses.field(default_factory=dict)
    """By the ids that `HookCallbackMatcher.hook_callback_ids` names."""
    on_elicitation: OnElicitation | None = None
    on_user_dialog: OnUserDialog | None = None
    mcp_instances: Mapping[str, object] = dataclasses.field(default_factory=dict)
    """The servers of transport `sdk`, by their keys in `QueryOptions.mcp_servers`."""
    session_store: SessionStore | None = None
    stderr: Callable[[str], None] | None = None
    spawn_claude_code_process: SpawnProcess | None = None

    def __post_init__(self) -> None:
        # Read-only copies, for two reasons: nothing changes behind our back, and msgspec writes no such
        # mapping, so that even a `Callbacks` with nothing in it is refused.
        object.__setattr__(self, "hooks", MappingProxyType(dict(self.hooks)))
        object.__setattr__(self, "mcp_instances", MappingProxyType(dict(self.mcp_instances)))

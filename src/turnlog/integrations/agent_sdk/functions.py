"""Functions that are called with the SDK's values as functions that are called with ours, and back.

A function of the one side is wrapped for the other, and the wrapper remembers it: there and back gives the same
function, not one wrapped twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import claude_agent_sdk as sdk

from turnlog.integrations.agent_sdk.hooks import (
    hook_input_from_sdk,
    hook_input_to_sdk,
    hook_output_from_sdk,
    hook_output_to_sdk,
)
from turnlog.integrations.agent_sdk.permissions import (
    permission_request_from_sdk,
    permission_request_to_sdk,
    permission_result_from_sdk,
    permission_result_to_sdk,
)
from turnlog.integrations.agent_sdk.wire import settle
from turnlog.messages.control import CanUseToolRequest
from turnlog.messages.hook_events import HookInput, HookJSONOutput
from turnlog.messages.options import CanUseTool, HookCallback
from turnlog.messages.permissions import PermissionResult


@dataclass(frozen=True)
class _HookOfSdk:
    """A hook of the SDK's that takes and gives our types."""

    function: sdk.HookCallback

    async def __call__(self, event: HookInput, tool_use_id: str | None) -> HookJSONOutput:
        answer = await self.function(hook_input_to_sdk(event), tool_use_id, {"signal": None})
        return cast("HookJSONOutput", settle(hook_output_from_sdk(answer)))


@dataclass(frozen=True)
class _HookForSdk:
    """A hook of ours that takes and gives the SDK's dicts."""

    function: HookCallback

    async def __call__(
        self, event: sdk.HookInput, tool_use_id: str | None, _: sdk.HookContext
    ) -> sdk.HookJSONOutput:
        # A newer version may tell more than we know: no reason not to run the hook.
        told = cast("HookInput", hook_input_from_sdk(event).value)
        return hook_output_to_sdk(await self.function(told, tool_use_id))


@dataclass(frozen=True)
class _PermissionOfSdk:
    """A `can_use_tool` of the SDK's that takes and gives our types."""

    function: sdk.CanUseTool

    async def __call__(self, request: CanUseToolRequest) -> PermissionResult:
        return permission_result_from_sdk(await self.function(*permission_request_to_sdk(request)))


@dataclass(frozen=True)
class _PermissionForSdk:
    """A `can_use_tool` of ours that takes and gives the SDK's types."""

    function: CanUseTool

    async def __call__(
        self, tool_name: str, tool_input: dict[str, Any], context: sdk.ToolPermissionContext
    ) -> sdk.PermissionResult:
        request = permission_request_from_sdk(tool_name, tool_input, context)
        return permission_result_to_sdk(await self.function(request))


def hook_from_sdk(function: sdk.HookCallback) -> HookCallback:
    """Return a hook of the SDK's as one that is called with our types."""
    return function.function if isinstance(function, _HookForSdk) else _HookOfSdk(function)


def hook_to_sdk(function: HookCallback) -> sdk.HookCallback:
    """Return a hook as one that the SDK can call."""
    return function.function if isinstance(function, _HookOfSdk) else _HookForSdk(function)


def can_use_tool_from_sdk(function: sdk.CanUseTool) -> CanUseTool:
    """Return a `can_use_tool` of the SDK's as one that is called with a `CanUseToolRequest`."""
    return function.function if isinstance(function, _PermissionForSdk) else _PermissionOfSdk(function)


def can_use_tool_to_sdk(function: CanUseTool) -> sdk.CanUseTool:
    """Return a `can_use_tool` as one that the SDK can call."""
    return function.function if isinstance(function, _PermissionOfSdk) else _PermissionForSdk(function)

"""Which request is answered with what, who sends it, and whether spec 001 knew it.

A reply does not say what it is a reply to, so its payload stays raw until somebody who remembers the request
asks for it: `view_reply` gives it the type that this table names.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from turnlog.messages.base import Raw, Unknown, UnknownTagged, UnsetType, Value
from turnlog.messages.control import (
    asking,
    context_usage,
    costs,
    files,
    hooks_listing,
    reloading,
    servers,
    settings,
    setup,
    steering,
)
from turnlog.messages.control.replies import Reply, UnknownReply
from turnlog.messages.hook_events import HookJSONOutput, view_output
from turnlog.messages.permissions import PermissionResult
from turnlog.messages.problems import Problem, ProblemKind
from turnlog.messages.salvage import View, view


class Sender(Enum):
    """Who sends a request."""

    HOST = "host"
    CLI = "cli"
    BOTH = "both"


class RequestKind(Struct, frozen=True):
    """What is known of a request of one subtype."""

    request: type[Value]
    reply: object = Raw
    """The type of the payload; `Raw` where it is untyped or nothing but a yes."""
    sender: Sender = Sender.HOST
    spec001: bool = False
    """Whether spec 001 lists the subtype."""


REQUESTS: Mapping[str, RequestKind] = MappingProxyType(
    {
        "can_use_tool": RequestKind(asking.CanUseToolRequest, PermissionResult, Sender.CLI, True),
        "hook_callback": RequestKind(asking.HookCallbackRequest, HookJSONOutput, Sender.CLI, True),
        "initialize": RequestKind(setup.InitializeRequest, setup.InitializeReply, spec001=True),
        "interrupt": RequestKind(steering.InterruptRequest, steering.InterruptReply, spec001=True),
        "mcp_message": RequestKind(servers.McpMessageRequest, servers.McpMessageReply, Sender.BOTH, True),
        "mcp_set_servers": RequestKind(servers.McpSetServersRequest, servers.McpSetServersReply, spec001=True),
        "mcp_status": RequestKind(servers.McpStatusRequest, servers.McpStatusReply, spec001=True),
        "rewind_files": RequestKind(files.RewindFilesRequest, files.RewindFilesReply, spec001=True),
        "set_max_thinking_tokens": RequestKind(steering.SetMaxThinkingTokensRequest, spec001=True),
        "set_model": RequestKind(steering.SetModelRequest, spec001=True),
        "set_permission_mode": RequestKind(steering.SetPermissionModeRequest, spec001=True),
        "mcp_reconnect": RequestKind(servers.McpReconnectRequest, spec001=True),
        "mcp_toggle": RequestKind(servers.McpToggleRequest, spec001=True),
        "stop_task": RequestKind(steering.StopTaskRequest),
        "apply_flag_settings": RequestKind(settings.ApplyFlagSettingsRequest),
        "elicitation": RequestKind(asking.ElicitationRequest, asking.ElicitationReply, Sender.CLI),
        "get_settings": RequestKind(settings.GetSettingsRequest),
        "cancel_async_message": RequestKind(steering.CancelAsyncMessageRequest),
        "get_context_usage": RequestKind(context_usage.GetContextUsageRequest, context_usage.ContextUsageReply),
        "reload_plugins": RequestKind(reloading.ReloadPluginsRequest, reloading.ReloadPluginsReply),
        "seed_read_state": RequestKind(files.SeedReadStateRequest),
        "rename_session": RequestKind(steering.RenameSessionRequest),
        "request_user_dialog": RequestKind(asking.UserDialogRequest, asking.UserDialogReply, Sender.CLI),
        "file_suggestions": RequestKind(files.FileSuggestionsRequest),
        "get_binary_version": RequestKind(steering.GetBinaryVersionRequest),
        "get_session_cost": RequestKind(costs.GetSessionCostRequest),
        "mcp_call": RequestKind(servers.McpCallRequest),
        "read_file": RequestKind(files.ReadFileRequest, files.ReadFileReply),
        "set_color": RequestKind(steering.SetColorRequest),
        "background_tasks": RequestKind(steering.BackgroundTasksRequest),
        "get_usage": RequestKind(costs.GetUsageRequest, costs.UsageReply),
        "register_repo_root": RequestKind(files.RegisterRepoRootRequest),
        "reload_skills": RequestKind(reloading.ReloadSkillsRequest, reloading.ReloadSkillsReply),
        "list_models": RequestKind(steering.ListModelsRequest),
        "get_plan": RequestKind(steering.GetPlanRequest),
        "get_workspace_diff": RequestKind(files.GetWorkspaceDiffRequest),
        "update_settings": RequestKind(settings.UpdateSettingsRequest),
        "get_hooks_listing": RequestKind(hooks_listing.GetHooksListingRequest, hooks_listing.HooksListingReply),
        "list_permission_rules": RequestKind(
            settings.ListPermissionRulesRequest, settings.PermissionRulesReply
        ),
        "reload_output_styles": RequestKind(
            reloading.ReloadOutputStylesRequest, reloading.ReloadOutputStylesReply
        ),
        "get_task_output": RequestKind(steering.GetTaskOutputRequest, steering.TaskOutputReply),
        "mcp_read_resource": RequestKind(servers.McpReadResourceRequest, servers.McpReadResourceReply),
        "set_has_subscribers": RequestKind(steering.SetHasSubscribersRequest),
    }
)
"""Every declared request by its subtype."""

_NOTHING = b"{}"


def subtype_of(request: Value | UnknownTagged) -> str | None:
    """Return the subtype of a request, known or not; None if it has none."""
    if isinstance(request, UnknownTagged):
        return request.type
    tag = request.__struct_config__.tag
    return tag if isinstance(tag, str) else None


def view_reply(subtype: str, raw: bytes | Raw | UnsetType) -> View[Reply]:
    """Look at the payload of a granted request as its subtype's type; never raises.

    A payload that is absent reads as an empty object. The value is an `UnknownReply` when the subtype is not
    known or the payload lacks what its type cannot do without.
    """
    data = _NOTHING if isinstance(raw, UnsetType) else bytes(raw)
    unknown = UnknownReply(data, subtype)
    kind = REQUESTS.get(subtype)
    if kind is None:
        problem = Problem(
            ProblemKind.UNKNOWN_TYPE, "the reply to a known request", f"`{subtype}`", (), unknown, data
        )
        return View(unknown, data, (problem,))
    seen: View[Any] = view_output(data) if kind.reply is HookJSONOutput else view(kind.reply, data)
    return View(unknown, data, seen.problems) if type(seen.value) is Unknown else seen

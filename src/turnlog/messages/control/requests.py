"""Every request of the control protocol, told apart by `subtype`.

Names that the SDK's declarations mention without saying what they hold stay unknown on purpose.
"""

from __future__ import annotations

from turnlog.messages.base import Open
from turnlog.messages.control.asking import (
    CanUseToolRequest,
    ElicitationRequest,
    HookCallbackRequest,
    UserDialogRequest,
)
from turnlog.messages.control.base import UnknownControlRequest
from turnlog.messages.control.context_usage import GetContextUsageRequest
from turnlog.messages.control.costs import GetSessionCostRequest, GetUsageRequest
from turnlog.messages.control.files import (
    FileSuggestionsRequest,
    GetWorkspaceDiffRequest,
    ReadFileRequest,
    RegisterRepoRootRequest,
    RewindFilesRequest,
    SeedReadStateRequest,
)
from turnlog.messages.control.hooks_listing import GetHooksListingRequest
from turnlog.messages.control.reloading import (
    ReloadOutputStylesRequest,
    ReloadPluginsRequest,
    ReloadSkillsRequest,
)
from turnlog.messages.control.servers import (
    McpCallRequest,
    McpMessageRequest,
    McpReadResourceRequest,
    McpReconnectRequest,
    McpSetServersRequest,
    McpStatusRequest,
    McpToggleRequest,
)
from turnlog.messages.control.settings import (
    ApplyFlagSettingsRequest,
    GetSettingsRequest,
    ListPermissionRulesRequest,
    UpdateSettingsRequest,
)
from turnlog.messages.control.setup import InitializeRequest
from turnlog.messages.control.steering import (
    BackgroundTasksRequest,
    CancelAsyncMessageRequest,
    GetBinaryVersionRequest,
    GetPlanRequest,
    GetTaskOutputRequest,
    InterruptRequest,
    ListModelsRequest,
    RenameSessionRequest,
    SetColorRequest,
    SetHasSubscribersRequest,
    SetMaxThinkingTokensRequest,
    SetModelRequest,
    SetPermissionModeRequest,
    StopTaskRequest,
)

KnownRequest = (
    CanUseToolRequest
    | HookCallbackRequest
    | InitializeRequest
    | InterruptRequest
    | McpMessageRequest
    | McpSetServersRequest
    | McpStatusRequest
    | RewindFilesRequest
    | SetMaxThinkingTokensRequest
    | SetModelRequest
    | SetPermissionModeRequest
    | McpReconnectRequest
    | McpToggleRequest
    | StopTaskRequest
    | ApplyFlagSettingsRequest
    | ElicitationRequest
    | GetSettingsRequest
    | CancelAsyncMessageRequest
    | GetContextUsageRequest
    | ReloadPluginsRequest
    | SeedReadStateRequest
    | RenameSessionRequest
    | UserDialogRequest
    | FileSuggestionsRequest
    | GetBinaryVersionRequest
    | GetSessionCostRequest
    | McpCallRequest
    | ReadFileRequest
    | SetColorRequest
    | BackgroundTasksRequest
    | GetUsageRequest
    | RegisterRepoRootRequest
    | ReloadSkillsRequest
    | ListModelsRequest
    | GetPlanRequest
    | GetWorkspaceDiffRequest
    | UpdateSettingsRequest
    | GetHooksListingRequest
    | ListPermissionRulesRequest
    | ReloadOutputStylesRequest
    | GetTaskOutputRequest
    | McpReadResourceRequest
    | SetHasSubscribersRequest
)
"""A request of a declared subtype."""

RequestBody = Open[KnownRequest, UnknownControlRequest]
"""A request of any subtype."""

"""The control protocol: requests of either side, and their answers, beside the stream of messages.

`ControlRequest` and `ControlResponse` are the frames, `view_message` decodes them. `REQUESTS` lists every
request with its sender and the type of its reply; `view_reply` gives a reply that type. `ControlPeer` is one
side of the conversation.
"""

from turnlog.messages.control.frames import *
from turnlog.messages.control.requests import *
from turnlog.messages.sdk.messages import (
    ContextCategoryKind,
    DecisionReasonType,
    ExtraUsage,
    FastModeDisabledReason,
    FastModeState,
    LoadedPlugin,
    SessionTotals,
    SlashCommand,
)

__all__ = [
    "AccountInfo", "AgentInfo", "AgentTokens", "ApiProvider", "ApplyFlagSettingsRequest", "AskRule",
    "BackgroundTasksRequest", "BareModeNotice", "Behavior", "BehaviorKey", "BehaviorReport", "Behaviors",
    "CONTROL_TYPES", "CacheImpact", "CamelRequest", "CanUseToolRequest", "CancelAsyncMessageRequest",
    "Cancelled", "CategoryTokens", "CommandTokens", "ContextCategoryId", "ContextCategoryKind", "ContextDetail",
    "ContextUsageReply", "ControlCancelRequest", "ControlFrame", "ControlMessage", "ControlPeer",
    "ControlRequest", "ControlResponse", "DecisionReasonType", "DialogCancelled", "DialogCompleted",
    "EditableHook", "ElicitationReply", "ElicitationRequest", "ErrorBody", "Event", "ExtraUsage",
    "FastModeDisabledReason", "FastModeState", "Fault", "FaultKind", "FileEncoding", "FileSuggestionsRequest",
    "FlatBody", "FlatControlResponse", "GetBinaryVersionRequest", "GetContextUsageRequest",
    "GetHooksListingRequest", "GetPlanRequest", "GetSessionCostRequest", "GetSettingsRequest",
    "GetTaskOutputRequest", "GetUsageRequest", "GetWorkspaceDiffRequest", "GridSquare", "HookCallbackRequest",
    "HookEventSummary", "HooksListingReply", "HooksPolicy", "Ignored", "InitializeReply", "InitializeRequest",
    "InterruptReply", "InterruptRequest", "KeepAlive", "KnownRequest", "LaneInput", "LaneOutput", "LimitWindow",
    "ListModelsRequest", "ListPermissionRulesRequest", "ListedHook", "ListedRule", "LoadedPlugin", "Lost",
    "LspToolChange", "ManifestOrigin", "ManifestOutcome", "McpCallRequest", "McpConnection",
    "McpImplementation", "McpInstructionTokens", "McpMessageReply", "McpMessageRequest", "McpReadResourceReply",
    "McpReadResourceRequest", "McpReconnectRequest", "McpServerStatus", "McpServerTool", "McpSetServersReply",
    "McpSetServersRequest", "McpStatusReply", "McpStatusRequest", "McpToggleRequest", "McpToolHints",
    "McpToolTokens", "MemoryFileTokens", "MessageTokens", "ModelInfo", "ModelLimit", "NamedTokens", "Pending",
    "PermissionRulesReply", "PermissionRulesState", "REQUESTS", "RateLimits", "ReadFileReply",
    "ReadFileRequest", "Recommendation", "RegisterRepoRootRequest", "ReloadOutputStylesReply",
    "ReloadOutputStylesRequest", "ReloadPluginsReply", "ReloadPluginsRequest", "ReloadSkillsReply",
    "ReloadSkillsRequest", "RenameSessionRequest", "Replied", "Reply", "RequestBody", "RequestKind",
    "Requested", "ResponseBody", "RewindFilesReply", "RewindFilesRequest", "RuleDescription", "RuleEditability",
    "RuleSource", "SafeModeNotice", "SdkMcpServerManifest", "SdkMcpServerSettings", "SeedReadStateRequest",
    "Sender", "SessionTotals", "SetColorRequest", "SetHasSubscribersRequest", "SetMaxThinkingTokensRequest",
    "SetModelRequest", "SetPermissionModeRequest", "SettingsParseError", "SettingsTarget", "Share",
    "SkillTokens", "SkillsTokens", "SlashCommand", "SnakeRequest", "StopTaskRequest", "SuccessBody",
    "SuggestedFix", "TaskOutputReply", "ThinkingShown", "TimedOut", "TitleSource", "ToolCallTokens",
    "UnknownControlMessage", "UnknownControlRequest", "UnknownDialogReply", "UnknownReply",
    "UnknownResponseBody", "UpdateSettingsRequest", "UsageReply", "UserDialogReply", "UserDialogRequest",
    "WorkspaceDirectory", "is_flat", "subtype_of", "view_call", "view_hook_input", "view_message", "view_reply",
]  # fmt: skip

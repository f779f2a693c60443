"""Inputs and results of the built-in tools, as types.

`view_input` and `view_result` give a call's input and a result their types; the types go by the tool's name
(`BashInput`, `BashResult`), and the parts that they are made of stand in the modules, one for each kind of
tool. Models leave out what they should send, and older versions wrote less: a type demands only what
identifies it.
"""

from turnlog.messages.tool_io.agents import *
from turnlog.messages.tool_io.files import *
from turnlog.messages.tool_io.planning import *
from turnlog.messages.tool_io.registry import *
from turnlog.messages.tool_io.services import *
from turnlog.messages.tool_io.shell import *

__all__ = [
    "AgentCompletedResult", "AgentEnteredResult", "AgentInput", "AgentLaunchedResult", "AgentOutputInput",
    "AgentQueuedResult", "AgentRemoteResult", "AgentResult", "AgentUntaggedResult", "ArtifactInput",
    "ArtifactListResult", "ArtifactPinResult", "ArtifactPublishResult", "ArtifactReadResult",
    "ArtifactUnwatchResult", "ArtifactWatchResult", "ArtifactWatchesResult", "AskUserQuestionInput",
    "AskUserQuestionResult", "AssetDeleteResult", "AssetListResult", "AssetReadResult", "AssetUploadResult",
    "AssetUploadsResult", "BashInput", "BashOutputInput", "BashOutputResult", "BashResult", "ClaudeDesignInput",
    "ClaudeDesignResult", "ConfigInput", "ConfigResult", "CronCreateInput", "CronCreateResult",
    "CronDeleteInput", "CronDeleteResult", "CronListInput", "CronListResult", "EditInput", "EditResult",
    "EndConversationInput", "EnterPlanModeInput", "EnterPlanModeResult", "EnterWorktreeInput",
    "EnterWorktreeResult", "ExitPlanModeInput", "ExitPlanModeResult", "ExitWorktreeInput", "ExitWorktreeResult",
    "GlobInput", "GlobResult", "GrepInput", "GrepResult", "INPUTS", "KillShellInput", "KillShellResult",
    "LSInput", "LSPInput", "LSPResult", "ListAgentsInput", "ListMcpResourcesInput", "ListMcpResourcesResult",
    "McpContent", "McpInput", "McpItem", "McpItems", "McpObject", "MonitorInput", "MonitorResult",
    "MultiEditInput", "MultiEditResult", "NotebookEditInput", "NotebookEditResult", "NotebookReadInput",
    "OfferChromeSetupInput", "OfferChromeSetupResult", "PowerShellInput", "ProjectDeleteResult",
    "ProjectInfoResult", "ProjectMemoryListResult", "ProjectMemoryReadResult", "ProjectReadResult",
    "ProjectSearchResult", "ProjectWriteResult", "ProjectsInput", "ProjectsResult", "ProposeGoalInput",
    "ProposeGoalResult", "ProposeSkillsInput", "ProposeSkillsResult", "PushNotificationInput",
    "PushNotificationResult", "RESULTS", "ReadImageResult", "ReadInput", "ReadMcpResourceDirInput",
    "ReadMcpResourceDirResult", "ReadMcpResourceInput", "ReadMcpResourceResult", "ReadNotebookResult",
    "ReadNotificationsInput", "ReadNotificationsResult", "ReadPartsResult", "ReadPdfResult", "ReadResult",
    "ReadTextResult", "ReadUnchangedResult", "RefreshMcpToolsInput", "RefreshMcpToolsResult",
    "RemoteTriggerInput", "RemoteTriggerResult", "ReportFindingsInput", "ReportFindingsResult",
    "ScheduleWakeupInput", "ScheduleWakeupResult", "SendFeedbackInput", "SendFeedbackResult",
    "SendMessageInput", "SendMessageResult", "SendUserFileInput", "SendUserFileResult", "SendUserMessageInput",
    "SendUserMessageResult", "ShareOnboardingGuideInput", "ShowOnboardingRolePickerInput",
    "ShowOnboardingRolePickerResult", "SkillInput", "SkillResult", "SlashCommandInput", "StructuredOutputInput",
    "SubagentHandbackInput", "SubagentHandbackResult", "TaskCreateInput", "TaskCreateResult", "TaskGetInput",
    "TaskGetResult", "TaskListInput", "TaskListResult", "TaskOutputInput", "TaskOutputResult", "TaskStopInput",
    "TaskStopResult", "TaskUpdateInput", "TaskUpdateResult", "TeamCreateInput", "TeamCreateResult",
    "TeamDeleteInput", "TeamDeleteResult", "TeammateSpawnedResult", "TodoReadInput", "TodoWriteInput",
    "TodoWriteResult", "ToolInput", "ToolResult", "ToolSearchInput", "ToolSearchResult", "UnknownToolInput",
    "UnknownToolResult", "UnparsedInput", "UnparsedText", "WaitForMcpServersInput", "WebFetchInput",
    "WebFetchResult", "WebSearchInput", "WebSearchResult", "WorkflowInput", "WorkflowResult", "WriteInput",
    "WriteResult", "view_input", "view_result",
]  # fmt: skip

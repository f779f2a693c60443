"""Every attachment in one open union."""

from __future__ import annotations

from turnlog.messages.attachments.base import UnknownAttachment
from turnlog.messages.attachments.context import (
    CompanionIntro,
    CredentialOrg,
    DateAttachment,
    DateChange,
    EnvironmentAttachment,
    LanguageAttachment,
    ModelAttachment,
    OutputStyle,
    OutputStyleInstructions,
    PromptSnapshot,
    RemoteSessionChange,
    SessionContext,
)
from turnlog.messages.attachments.files import (
    AlreadyReadFile,
    BashOutputAudienceNote,
    CompactFileReference,
    DirectoryAttachment,
    EditedTextFile,
    FileAttachment,
    InlinedImagePaths,
    PlanFileReference,
    ReadTruncationNotice,
)
from turnlog.messages.attachments.hooks import (
    AsyncHookResponse,
    HookAdditionalContext,
    HookBlockingError,
    HookCancelled,
    HookDeferredTool,
    HookErrorDuringExecution,
    HookNonBlockingError,
    HookPermissionDecision,
    HookStoppedContinuation,
    HookSuccess,
    HookSystemMessage,
)
from turnlog.messages.attachments.ide import (
    DiagnosticsAttachment,
    OpenedFileInIde,
    SelectedLinesInDiff,
    SelectedLinesInIde,
)
from turnlog.messages.attachments.memory import (
    InstructionsAttachment,
    NestedMemory,
    RelevantMemories,
)
from turnlog.messages.attachments.modes import (
    AutoMode,
    AutoModeExit,
    BatchingReminderSent,
    CriticalSystemReminder,
    PlanMode,
    PlanModeExit,
    PlanModeReentry,
    SilentTurnReminder,
    ThinkingDrop,
    ThinkingStripped,
    TotalTokensReminder,
    UltraEffortEnter,
    UltraEffortExit,
    UltrathinkEffort,
)
from turnlog.messages.attachments.prompts import (
    AgentMention,
    CommandPermissions,
    ForkBriefing,
    QueuedCommand,
    StructuredOutput,
    WorkflowKeywordRequest,
    WorkflowSizeGuidelineChange,
)
from turnlog.messages.attachments.tasks import (
    BudgetUsd,
    GoalStatus,
    MaxTurnsReached,
    TaskReminder,
    TaskStatus,
    TeamContext,
    TodoReminder,
)
from turnlog.messages.attachments.tools import (
    AgentListingDelta,
    DeferredToolsDelta,
    DeferredToolsRecord,
    DynamicSkill,
    InvokedSkills,
    McpInstructionsDelta,
    SkillListing,
)
from turnlog.messages.base import Open

FREE_FORM: dict[str, str] = {
    "AsyncHookResponse.response": "JSON of the hook's own making",
    "DeferredTool.input_schema": "a JSON schema",
    "HookDeferredTool.tool_input": "each tool has a shape of its own; a typed view is made on demand",
    "QueuedCommand.file_attachments": "descriptors of the host's choosing; the SDK declares no shape",
    "SnapshotTool.schema": "a JSON schema",
    "StructuredOutput.data": "whatever shape the caller asked for",
    "TaskItem.metadata": "notes of the model's own choosing",
}
"""The fields that are kept raw on purpose, and why."""

Attachment = Open[
    HookSuccess
    | HookNonBlockingError
    | HookBlockingError
    | HookCancelled
    | HookErrorDuringExecution
    | HookStoppedContinuation
    | HookPermissionDecision
    | HookDeferredTool
    | HookAdditionalContext
    | HookSystemMessage
    | AsyncHookResponse
    | QueuedCommand
    | AgentMention
    | CommandPermissions
    | ForkBriefing
    | StructuredOutput
    | WorkflowKeywordRequest
    | WorkflowSizeGuidelineChange
    | TaskReminder
    | TodoReminder
    | TaskStatus
    | GoalStatus
    | BudgetUsd
    | MaxTurnsReached
    | TeamContext
    | DeferredToolsDelta
    | DeferredToolsRecord
    | McpInstructionsDelta
    | AgentListingDelta
    | SkillListing
    | DynamicSkill
    | InvokedSkills
    | EditedTextFile
    | FileAttachment
    | AlreadyReadFile
    | DirectoryAttachment
    | CompactFileReference
    | PlanFileReference
    | ReadTruncationNotice
    | BashOutputAudienceNote
    | InlinedImagePaths
    | DiagnosticsAttachment
    | SelectedLinesInIde
    | SelectedLinesInDiff
    | OpenedFileInIde
    | InstructionsAttachment
    | NestedMemory
    | RelevantMemories
    | EnvironmentAttachment
    | SessionContext
    | ModelAttachment
    | DateAttachment
    | DateChange
    | PromptSnapshot
    | OutputStyle
    | OutputStyleInstructions
    | LanguageAttachment
    | RemoteSessionChange
    | CredentialOrg
    | CompanionIntro
    | PlanMode
    | PlanModeExit
    | PlanModeReentry
    | AutoMode
    | AutoModeExit
    | UltrathinkEffort
    | UltraEffortEnter
    | UltraEffortExit
    | TotalTokensReminder
    | SilentTurnReminder
    | BatchingReminderSent
    | CriticalSystemReminder
    | ThinkingStripped
    | ThinkingDrop,
    UnknownAttachment,
]

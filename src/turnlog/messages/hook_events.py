"""Hook events: what hooks are told, and what they answer.

A hook is told of an event by one JSON object. Its `hook_event_name` tells the events apart; the rest of what
`BaseHookInput` declares comes with any of them, and no version sends all of it. Inputs and responses of tools
stay raw until `view_tool_input` and `view_tool_response` give them the types of their tool.

Nothing but the value of `async` tells the two forms of an answer apart, and no tag can be a boolean: so they
are no union that a decoder could choose from, and `view_output` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import UNSET, Raw, UnsetType, field

from turnlog.messages.base import Camel, Number, Open, OpenEnum, Snake, TypeEnum, UnknownTagged
from turnlog.messages.blocks import ContentBlock, ToolUseBlock
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.permissions import PermissionBehavior, PermissionResult, PermissionUpdate
from turnlog.messages.salvage import Problem, ProblemKind, View, split_object, view
from turnlog.messages.system import CompactTrigger
from turnlog.messages.tool_io.registry import ToolInput, ToolResult, UnknownToolResult, view_input, view_result

__all__ = [
    "AssistantMessageError", "AsyncHookJSONOutput", "BackgroundTaskSummary", "BaseHookInput", "CacheTtl",
    "ConfigChangeHookInput", "ConfigChangeSource", "CwdChangedHookInput", "CwdChangedHookSpecificOutput",
    "DirectoryAddedHookInput", "DirectoryAddedSource", "ElicitationAction", "ElicitationHookInput",
    "ElicitationHookSpecificOutput", "ElicitationMode", "ElicitationOutput", "ElicitationResultHookInput",
    "ElicitationResultHookSpecificOutput", "ExitReason", "FileChange", "FileChangedHookInput",
    "FileChangedHookSpecificOutput", "HOOK_EVENTS", "HookDecision", "HookEffort", "HookEventName", "HookInput",
    "HookJSONOutput", "HookPermissionDecision", "HookSpecificOutput", "InstructionsLoadReason",
    "InstructionsLoadedHookInput", "InstructionsMemoryType", "McpServerProvenance", "MessageDisplayHookInput",
    "MessageDisplayHookSpecificOutput", "NotificationHookInput", "NotificationHookSpecificOutput",
    "NotificationType", "PermissionDeniedHookInput", "PermissionDeniedHookSpecificOutput",
    "PermissionRequestHookInput", "PermissionRequestHookSpecificOutput", "PostCompactHookInput",
    "PostModelSwitchHookInput", "PostModelSwitchHookSpecificOutput", "PostModelSwitchSource",
    "PostToolBatchHookInput", "PostToolBatchHookSpecificOutput", "PostToolBatchToolCall",
    "PostToolUseFailureHookInput", "PostToolUseFailureHookSpecificOutput", "PostToolUseHookInput",
    "PostToolUseHookSpecificOutput", "PreCompactHookInput", "PreModelSwitchHookInput",
    "PreModelSwitchHookSpecificOutput", "PreModelSwitchSource", "PreToolUseHookInput",
    "PreToolUseHookSpecificOutput", "PricingSource", "PromptExpansionType", "PromptSource",
    "SessionCronSummary", "SessionEndHookInput", "SessionStartHookInput", "SessionStartHookSpecificOutput",
    "SessionStartSource", "SetupHookInput", "SetupHookSpecificOutput", "SetupTrigger", "StopFailureHookInput",
    "StopHookInput", "StopHookSpecificOutput", "SubagentStartHookInput", "SubagentStartHookSpecificOutput",
    "SubagentStopHookInput", "SubagentStopHookSpecificOutput", "SyncHookJSONOutput", "TaskCompletedHookInput",
    "TaskCreatedHookInput", "TeammateIdleHookInput", "ToolHookInput", "UnknownHookEvent",
    "UnknownHookSpecificOutput", "UserPromptExpansionHookInput", "UserPromptExpansionHookSpecificOutput",
    "UserPromptSubmitHookInput", "UserPromptSubmitHookSpecificOutput", "WorktreeCreateHookInput",
    "WorktreeCreateHookSpecificOutput", "WorktreeRemoveHookInput", "view_output", "view_tool_input",
    "view_tool_response",
]  # fmt: skip


class HookEventName(TypeEnum):
    """What a hook can be told of."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    NOTIFICATION = "Notification"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    STOP = "Stop"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    PRE_COMPACT = "PreCompact"
    PERMISSION_REQUEST = "PermissionRequest"
    SETUP = "Setup"
    TEAMMATE_IDLE = "TeammateIdle"
    TASK_COMPLETED = "TaskCompleted"
    CONFIG_CHANGE = "ConfigChange"
    WORKTREE_CREATE = "WorktreeCreate"
    WORKTREE_REMOVE = "WorktreeRemove"
    ELICITATION = "Elicitation"
    ELICITATION_RESULT = "ElicitationResult"
    INSTRUCTIONS_LOADED = "InstructionsLoaded"
    STOP_FAILURE = "StopFailure"
    POST_COMPACT = "PostCompact"
    PERMISSION_DENIED = "PermissionDenied"
    TASK_CREATED = "TaskCreated"
    CWD_CHANGED = "CwdChanged"
    FILE_CHANGED = "FileChanged"
    POST_TOOL_BATCH = "PostToolBatch"
    USER_PROMPT_EXPANSION = "UserPromptExpansion"
    MESSAGE_DISPLAY = "MessageDisplay"
    DIRECTORY_ADDED = "DirectoryAdded"
    PRE_MODEL_SWITCH = "PreModelSwitch"
    POST_MODEL_SWITCH = "PostModelSwitch"


class HookEffort(Snake):
    """How hard the model was to think in this turn."""

    level: str | UnsetType = UNSET
    """`low`, `medium`, `high`, `xhigh` or `max`; the SDK declares any string."""


class BaseHookInput(Snake, tag_field="hook_event_name"):
    """The fields that any hook event may carry, in the order in which they are written."""

    hook_event_name: ClassVar[str]
    session_id: str | UnsetType = UNSET
    transcript_path: str | None | UnsetType = UNSET
    cwd: str | None | UnsetType = UNSET
    scratchpad_dir: str | None | UnsetType = UNSET
    prompt_id: str | None | UnsetType = UNSET
    """What all events of one prompt have in common."""
    permission_mode: PermissionMode | None | UnsetType = UNSET
    agent_id: str | None | UnsetType = UNSET
    """The sub-agent in which it happened; absent in the main thread."""
    agent_type: str | None | UnsetType = UNSET
    """The agent's name, which may be empty; a main thread may have one too."""
    effort: HookEffort | None | UnsetType = UNSET

    @property
    def type(self) -> str:
        """The event's name, as unknown events have it, too."""
        return self.hook_event_name


class UnknownHookEvent(UnknownTagged):
    """An event that nobody declared; `type` is its name."""

    @property
    def hook_event_name(self) -> str | None:
        """The same, as known events have it."""
        return self.type


class McpServerProvenance(Snake):
    """Which server a tool belongs to, and where that server was configured: trust the source, not the name."""

    name: str | UnsetType = UNSET
    source: str | UnsetType = UNSET


class ToolHookInput(BaseHookInput):
    """The fields of any event about one tool call."""

    tool_name: str
    tool_input: Raw | UnsetType = UNSET
    mcp_server: McpServerProvenance | None | UnsetType = UNSET


class _NamedCall(ToolHookInput):
    """An event about a call that has an id; older versions leave it out."""

    tool_use_id: str | None | UnsetType = UNSET


class PreToolUseHookInput(_NamedCall, tag="PreToolUse"):
    """A tool is about to run."""


class PostToolUseHookInput(_NamedCall, tag="PostToolUse"):
    """A tool has run."""

    tool_response: Raw | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET
    """Without the time that prompts and hooks took."""


class PostToolUseFailureHookInput(_NamedCall, tag="PostToolUseFailure"):
    """A tool has failed."""

    error: str | UnsetType = UNSET
    is_interrupt: bool | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET


class PermissionDeniedHookInput(_NamedCall, tag="PermissionDenied"):
    """A tool may not run."""

    reason: str | UnsetType = UNSET


class PermissionRequestHookInput(ToolHookInput, tag="PermissionRequest"):
    """The person is about to be asked whether a tool may run."""

    permission_suggestions: tuple[PermissionUpdate, ...] | None | UnsetType = UNSET
    """What "always allow" would change."""


class PostToolBatchToolCall(Snake):
    """One of the calls that ran side by side."""

    tool_name: str
    tool_input: Raw | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    tool_response: Raw | UnsetType = UNSET


class PostToolBatchHookInput(BaseHookInput, tag="PostToolBatch"):
    """All calls of one answer are done."""

    tool_calls: tuple[PostToolBatchToolCall, ...] | UnsetType = UNSET


class NotificationType(OpenEnum):
    """What a notice is about."""

    PERMISSION_PROMPT = "permission_prompt"
    IDLE_PROMPT = "idle_prompt"
    ELICITATION_DIALOG = "elicitation_dialog"
    AUTH_SUCCESS = "auth_success"


class PromptSource(OpenEnum):
    """Who sent a prompt."""

    USER = "user"
    SDK = "sdk"
    SYSTEM = "system"
    LOOP_WAKEUP = "loop_wakeup"
    SCHEDULE_WAKEUP = "schedule_wakeup"
    POLL_EVENT = "poll_event"


class PromptExpansionType(OpenEnum):
    """What was written out into a prompt."""

    SLASH_COMMAND = "slash_command"
    MCP_PROMPT = "mcp_prompt"


class ElicitationMode(OpenEnum):
    """How a server asks: with a form, or on a web page."""

    FORM = "form"
    URL = "url"


class ElicitationAction(OpenEnum):
    """What became of a server's question."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class NotificationHookInput(BaseHookInput, tag="Notification"):
    """The person is told something."""

    message: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    notification_type: NotificationType | None | UnsetType = UNSET
    """Absent in older versions."""


class UserPromptSubmitHookInput(BaseHookInput, tag="UserPromptSubmit"):
    """A prompt was sent."""

    prompt: str | UnsetType = UNSET
    source: PromptSource | None | UnsetType = UNSET
    session_title: str | None | UnsetType = UNSET


class UserPromptExpansionHookInput(BaseHookInput, tag="UserPromptExpansion"):
    """A command was written out into a prompt."""

    expansion_type: PromptExpansionType | UnsetType = UNSET
    command_name: str | UnsetType = UNSET
    command_args: str | None | UnsetType = UNSET
    command_source: str | None | UnsetType = UNSET
    prompt: str | UnsetType = UNSET


class MessageDisplayHookInput(BaseHookInput, tag="MessageDisplay"):
    """Lines of an answer are about to be shown."""

    turn_id: str | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    """The message's own uuid, not the API's id."""
    index: int | UnsetType = UNSET
    """Counts the pieces of one message."""
    final: bool | UnsetType = UNSET
    delta: str | UnsetType = UNSET


class _Elicitation(BaseHookInput):
    """Which server asks, and how."""

    mcp_server_name: str | UnsetType = UNSET
    mode: ElicitationMode | None | UnsetType = UNSET
    elicitation_id: str | None | UnsetType = UNSET


class ElicitationHookInput(_Elicitation, tag="Elicitation"):
    """A server asks the person something."""

    message: str | UnsetType = UNSET
    url: str | None | UnsetType = UNSET
    requested_schema: Raw | UnsetType = UNSET


class ElicitationResultHookInput(_Elicitation, tag="ElicitationResult"):
    """The person has answered a server."""

    action: ElicitationAction | UnsetType = UNSET
    content: Raw | UnsetType = UNSET


class SessionStartSource(OpenEnum):
    """How a session came to start."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"


class ExitReason(OpenEnum):
    """Why a session ended."""

    CLEAR = "clear"
    LOGOUT = "logout"
    PROMPT_INPUT_EXIT = "prompt_input_exit"
    OTHER = "other"
    BYPASS_PERMISSIONS_DISABLED = "bypass_permissions_disabled"
    RESUME = "resume"


class SetupTrigger(OpenEnum):
    """What a setup is for."""

    INIT = "init"
    MAINTENANCE = "maintenance"


class PreModelSwitchSource(OpenEnum):
    """Who asks for another model."""

    COMMAND = "command"
    PICKER = "picker"
    SDK = "sdk"


class PostModelSwitchSource(OpenEnum):
    """Who changed the model; not all of them ask before."""

    COMMAND = "command"
    PICKER = "picker"
    SDK = "sdk"
    AUTO = "auto"
    RESUME = "resume"


class CacheTtl(OpenEnum):
    """How long the prompt cache lives."""

    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"


class PricingSource(OpenEnum):
    """Where the price of an estimate was looked up."""

    CONFIGURED = "configured"
    CATALOG = "catalog"
    DEFAULT = "default"


class SessionStartHookInput(BaseHookInput, tag="SessionStart"):
    """A session has begun, or goes on."""

    source: SessionStartSource | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    session_title: str | None | UnsetType = UNSET
    seconds_since_last_response: Number | None | UnsetType = UNSET
    context_tokens: int | None | UnsetType = UNSET
    prompt_cache_likely_expired: bool | None | UnsetType = UNSET
    estimated_cache_write_usd: Number | None | UnsetType = UNSET


class SessionEndHookInput(BaseHookInput, tag="SessionEnd"):
    """A session is over."""

    reason: ExitReason | UnsetType = UNSET


class SetupHookInput(BaseHookInput, tag="Setup"):
    """The program runs only to prepare or to tidy up."""

    trigger: SetupTrigger | UnsetType = UNSET


class PreCompactHookInput(BaseHookInput, tag="PreCompact"):
    """The context is about to be compacted."""

    trigger: CompactTrigger | UnsetType = UNSET
    custom_instructions: str | None | UnsetType = UNSET
    """What the person wrote behind `/compact`."""


class PostCompactHookInput(BaseHookInput, tag="PostCompact"):
    """The context was compacted."""

    trigger: CompactTrigger | UnsetType = UNSET
    compact_summary: str | None | UnsetType = UNSET


class _ModelSwitch(BaseHookInput):
    """From which model to which, and what it costs."""

    from_model: str | UnsetType = UNSET
    to_model: str | UnsetType = UNSET
    requested_model: str | None | UnsetType = UNSET
    context_tokens: int | None | UnsetType = UNSET
    prompt_cache_warm: bool | None | UnsetType = UNSET
    cache_ttl: CacheTtl | None | UnsetType = UNSET
    estimated_cache_write_usd: Number | None | UnsetType = UNSET
    pricing: PricingSource | None | UnsetType = UNSET


class PreModelSwitchHookInput(_ModelSwitch, tag="PreModelSwitch"):
    """Another model is about to take over."""

    source: PreModelSwitchSource | UnsetType = UNSET


class PostModelSwitchHookInput(_ModelSwitch, tag="PostModelSwitch"):
    """Another model has taken over."""

    source: PostModelSwitchSource | UnsetType = UNSET


class AssistantMessageError(OpenEnum):
    """Why the API gave no answer."""

    AUTHENTICATION_FAILED = "authentication_failed"
    BILLING_ERROR = "billing_error"
    RATE_LIMIT = "rate_limit"
    INVALID_REQUEST = "invalid_request"
    SERVER_ERROR = "server_error"
    UNKNOWN_ERROR = "unknown"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    OAUTH_ORG_NOT_ALLOWED = "oauth_org_not_allowed"
    MODEL_NOT_FOUND = "model_not_found"
    OVERLOADED = "overloaded"
    ACCOUNT_ON_HOLD = "account_on_hold"
    VERIFICATION_REQUIRED = "verification_required"
    CLOUD_CREDENTIAL_ERROR = "cloud_credential_error"


class BackgroundTaskSummary(Snake):
    """Work that still goes on in the background."""

    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    """`shell`, `subagent` and the like."""
    status: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    command: str | None | UnsetType = UNSET
    agent_type: str | None | UnsetType = UNSET
    server: str | None | UnsetType = UNSET
    tool: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET


class SessionCronSummary(Snake):
    """A prompt that will come by itself."""

    id: str | UnsetType = UNSET
    schedule: str | UnsetType = UNSET
    recurring: bool | None | UnsetType = UNSET
    prompt: str | None | UnsetType = UNSET


class _Stop(BaseHookInput):
    """An agent is about to stop."""

    stop_hook_active: bool | UnsetType = UNSET
    """It only went on because a hook like this one had told it to."""
    last_assistant_message: str | None | UnsetType = UNSET
    background_tasks: tuple[BackgroundTaskSummary, ...] | None | UnsetType = UNSET
    session_crons: tuple[SessionCronSummary, ...] | None | UnsetType = UNSET


class StopHookInput(_Stop, tag="Stop"):
    """The main agent is about to stop."""


class StopFailureHookInput(BaseHookInput, tag="StopFailure"):
    """A turn ended because the API gave no answer."""

    error: AssistantMessageError | UnsetType = UNSET
    error_details: str | None | UnsetType = UNSET
    last_assistant_message: str | None | UnsetType = UNSET


class SubagentStartHookInput(BaseHookInput, tag="SubagentStart"):
    """A sub-agent begins; `agent_id` and `agent_type` say which."""


class SubagentStopHookInput(_Stop, tag="SubagentStop"):
    """A sub-agent is about to stop; older versions do not say which."""

    agent_transcript_path: str | None | UnsetType = UNSET


class TeammateIdleHookInput(BaseHookInput, tag="TeammateIdle"):
    """A member of a team has nothing to do."""

    teammate_name: str | UnsetType = UNSET
    team_name: str | None | UnsetType = UNSET


class _TaskEvent(BaseHookInput):
    """An item of the task list, and whose it is."""

    task_id: str | UnsetType = UNSET
    task_subject: str | UnsetType = UNSET
    task_description: str | None | UnsetType = UNSET
    teammate_name: str | None | UnsetType = UNSET
    team_name: str | None | UnsetType = UNSET


class TaskCreatedHookInput(_TaskEvent, tag="TaskCreated"):
    """A task joins the list."""


class TaskCompletedHookInput(_TaskEvent, tag="TaskCompleted"):
    """A task of the list is done."""


class ConfigChangeSource(OpenEnum):
    """Which settings changed."""

    USER_SETTINGS = "user_settings"
    PROJECT_SETTINGS = "project_settings"
    LOCAL_SETTINGS = "local_settings"
    POLICY_SETTINGS = "policy_settings"
    SKILLS = "skills"


class InstructionsMemoryType(OpenEnum):
    """Whose instructions they are."""

    USER = "User"
    PROJECT = "Project"
    LOCAL = "Local"
    MANAGED = "Managed"


class InstructionsLoadReason(OpenEnum):
    """Why instructions were read."""

    SESSION_START = "session_start"
    NESTED_TRAVERSAL = "nested_traversal"
    PATH_GLOB_MATCH = "path_glob_match"
    INCLUDE = "include"
    COMPACT = "compact"


class FileChange(OpenEnum):
    """What happened to a file."""

    CHANGE = "change"
    ADD = "add"
    UNLINK = "unlink"


class DirectoryAddedSource(OpenEnum):
    """Who added a directory."""

    SLASH_COMMAND = "slash_command"
    REGISTER_REPO_ROOT = "register_repo_root"


class ConfigChangeHookInput(BaseHookInput, tag="ConfigChange"):
    """Settings changed while the session ran."""

    source: ConfigChangeSource | UnsetType = UNSET
    file_path: str | None | UnsetType = UNSET


class InstructionsLoadedHookInput(BaseHookInput, tag="InstructionsLoaded"):
    """A file of instructions was read."""

    file_path: str | UnsetType = UNSET
    memory_type: InstructionsMemoryType | UnsetType = UNSET
    load_reason: InstructionsLoadReason | UnsetType = UNSET
    globs: tuple[str, ...] | None | UnsetType = UNSET
    """The patterns of files that the instructions are for."""
    trigger_file_path: str | None | UnsetType = UNSET
    parent_file_path: str | None | UnsetType = UNSET
    """The file that includes this one."""


class WorktreeCreateHookInput(BaseHookInput, tag="WorktreeCreate"):
    """A worktree is to be made."""

    name: str | UnsetType = UNSET


class WorktreeRemoveHookInput(BaseHookInput, tag="WorktreeRemove"):
    """A worktree is to be removed."""

    worktree_path: str | UnsetType = UNSET


class CwdChangedHookInput(BaseHookInput, tag="CwdChanged"):
    """The working directory is another."""

    old_cwd: str | UnsetType = UNSET
    new_cwd: str | UnsetType = UNSET


class FileChangedHookInput(BaseHookInput, tag="FileChanged"):
    """A watched file is another."""

    file_path: str | UnsetType = UNSET
    event: FileChange | UnsetType = UNSET


class DirectoryAddedHookInput(BaseHookInput, tag="DirectoryAdded"):
    """There is one more directory in which to work."""

    directory: str | UnsetType = UNSET
    source: DirectoryAddedSource | UnsetType = UNSET


HookInput = Open[
    PreToolUseHookInput
    | PostToolUseHookInput
    | PostToolUseFailureHookInput
    | NotificationHookInput
    | UserPromptSubmitHookInput
    | SessionStartHookInput
    | SessionEndHookInput
    | StopHookInput
    | SubagentStartHookInput
    | SubagentStopHookInput
    | PreCompactHookInput
    | PermissionRequestHookInput
    | SetupHookInput
    | TeammateIdleHookInput
    | TaskCompletedHookInput
    | ConfigChangeHookInput
    | WorktreeCreateHookInput
    | WorktreeRemoveHookInput
    | ElicitationHookInput
    | ElicitationResultHookInput
    | InstructionsLoadedHookInput
    | StopFailureHookInput
    | PostCompactHookInput
    | PermissionDeniedHookInput
    | TaskCreatedHookInput
    | CwdChangedHookInput
    | FileChangedHookInput
    | PostToolBatchHookInput
    | UserPromptExpansionHookInput
    | MessageDisplayHookInput
    | DirectoryAddedHookInput
    | PreModelSwitchHookInput
    | PostModelSwitchHookInput,
    UnknownHookEvent,
]
"""What a hook is told, told apart by `hook_event_name`."""

HOOK_EVENTS: Mapping[str, type[BaseHookInput]] = {
    "PreToolUse": PreToolUseHookInput,
    "PostToolUse": PostToolUseHookInput,
    "PostToolUseFailure": PostToolUseFailureHookInput,
    "Notification": NotificationHookInput,
    "UserPromptSubmit": UserPromptSubmitHookInput,
    "SessionStart": SessionStartHookInput,
    "SessionEnd": SessionEndHookInput,
    "Stop": StopHookInput,
    "SubagentStart": SubagentStartHookInput,
    "SubagentStop": SubagentStopHookInput,
    "PreCompact": PreCompactHookInput,
    "PermissionRequest": PermissionRequestHookInput,
    "Setup": SetupHookInput,
    "TeammateIdle": TeammateIdleHookInput,
    "TaskCompleted": TaskCompletedHookInput,
    "ConfigChange": ConfigChangeHookInput,
    "WorktreeCreate": WorktreeCreateHookInput,
    "WorktreeRemove": WorktreeRemoveHookInput,
    "Elicitation": ElicitationHookInput,
    "ElicitationResult": ElicitationResultHookInput,
    "InstructionsLoaded": InstructionsLoadedHookInput,
    "StopFailure": StopFailureHookInput,
    "PostCompact": PostCompactHookInput,
    "PermissionDenied": PermissionDeniedHookInput,
    "TaskCreated": TaskCreatedHookInput,
    "CwdChanged": CwdChangedHookInput,
    "FileChanged": FileChangedHookInput,
    "PostToolBatch": PostToolBatchHookInput,
    "UserPromptExpansion": UserPromptExpansionHookInput,
    "MessageDisplay": MessageDisplayHookInput,
    "DirectoryAdded": DirectoryAddedHookInput,
    "PreModelSwitch": PreModelSwitchHookInput,
    "PostModelSwitch": PostModelSwitchHookInput,
}
"""The type of each event by its name."""


class HookPermissionDecision(OpenEnum):
    """A hook's verdict on a tool call: yes, no, let the person decide, or later."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    DEFER = "defer"


class _Specific(Camel, tag_field="hookEventName"):
    """An answer to one kind of event."""

    hook_event_name: ClassVar[str]


class _Context(_Specific):
    """An answer that can tell the model something."""

    additional_context: str | None | UnsetType = UNSET


class _Watch(_Specific):
    """An answer that says which paths to watch from now on."""

    watch_paths: tuple[str, ...] | None | UnsetType = UNSET


class PreToolUseHookSpecificOutput(_Context, tag="PreToolUse"):
    """Whether a tool may run, and with what input."""

    permission_decision: HookPermissionDecision | None | UnsetType = UNSET
    permission_decision_reason: str | None | UnsetType = UNSET
    updated_input: Raw | UnsetType = UNSET


class PostToolUseHookSpecificOutput(_Context, tag="PostToolUse"):
    """What to make of a tool's response."""

    classifier_context: str | None | UnsetType = UNSET
    """What the classifier of the automatic mode is told."""
    updated_tool_output: Raw | UnsetType = UNSET
    updated_mcp_tool_output: Raw | UnsetType = field(name="updatedMCPToolOutput", default=UNSET)
    """The older form, for tools of MCP servers only."""


class PostToolUseFailureHookSpecificOutput(_Context, tag="PostToolUseFailure"):
    """What to say of a failure."""


class PostToolBatchHookSpecificOutput(_Context, tag="PostToolBatch"):
    """What to say of all calls together."""


class PermissionRequestHookSpecificOutput(_Specific, tag="PermissionRequest"):
    """The answer in the person's place."""

    decision: PermissionResult | UnsetType = UNSET


class PermissionDeniedHookSpecificOutput(_Specific, tag="PermissionDenied"):
    """Whether the model may try again."""

    retry: bool | None | UnsetType = UNSET


class UserPromptSubmitHookSpecificOutput(_Context, tag="UserPromptSubmit"):
    """What to add to a prompt."""

    session_title: str | None | UnsetType = UNSET
    suppress_original_prompt: bool | None | UnsetType = UNSET
    """Leave the prompt out of the text that says it was blocked."""


class UserPromptExpansionHookSpecificOutput(_Context, tag="UserPromptExpansion"):
    """What to add to an expanded command."""

    suppress_original_prompt: bool | None | UnsetType = UNSET


class SessionStartHookSpecificOutput(_Context, tag="SessionStart"):
    """What a session starts with."""

    initial_user_message: str | None | UnsetType = UNSET
    session_title: str | None | UnsetType = UNSET
    watch_paths: tuple[str, ...] | None | UnsetType = UNSET
    reload_skills: bool | None | UnsetType = UNSET


class SetupHookSpecificOutput(_Context, tag="Setup"):
    """What to say of a setup."""


class StopHookSpecificOutput(_Context, tag="Stop"):
    """What to say at the end of a turn."""


class SubagentStartHookSpecificOutput(_Context, tag="SubagentStart"):
    """What to tell a sub-agent."""


class SubagentStopHookSpecificOutput(_Context, tag="SubagentStop"):
    """What to say at a sub-agent's end."""


class NotificationHookSpecificOutput(_Context, tag="Notification"):
    """What to say of a notice."""


class PreModelSwitchHookSpecificOutput(_Specific, tag="PreModelSwitch"):
    """Whether the model may change; here nothing can be put off."""

    permission_decision: PermissionBehavior | None | UnsetType = UNSET
    permission_decision_reason: str | None | UnsetType = UNSET


class PostModelSwitchHookSpecificOutput(_Context, tag="PostModelSwitch"):
    """What to tell the new model."""


class ElicitationOutput(_Specific):
    """An answer to a server, in the person's place."""

    action: ElicitationAction | None | UnsetType = UNSET
    content: Raw | UnsetType = UNSET


class ElicitationHookSpecificOutput(ElicitationOutput, tag="Elicitation"):
    """The answer that spares the person the question."""


class ElicitationResultHookSpecificOutput(ElicitationOutput, tag="ElicitationResult"):
    """The answer that replaces the person's."""


class CwdChangedHookSpecificOutput(_Watch, tag="CwdChanged"):
    """What to watch in the new directory."""


class FileChangedHookSpecificOutput(_Watch, tag="FileChanged"):
    """What to watch after a change."""


class WorktreeCreateHookSpecificOutput(_Specific, tag="WorktreeCreate"):
    """Where the worktree was made."""

    worktree_path: str | UnsetType = UNSET


class MessageDisplayHookSpecificOutput(_Specific, tag="MessageDisplay"):
    """What to show instead."""

    display_content: str | None | UnsetType = UNSET


class UnknownHookSpecificOutput(UnknownTagged):
    """An answer to an event that has none, or that nobody declared; `type` is the event's name."""


HookSpecificOutput = Open[
    PreToolUseHookSpecificOutput
    | PostToolUseHookSpecificOutput
    | PostToolUseFailureHookSpecificOutput
    | PostToolBatchHookSpecificOutput
    | PermissionRequestHookSpecificOutput
    | PermissionDeniedHookSpecificOutput
    | UserPromptSubmitHookSpecificOutput
    | UserPromptExpansionHookSpecificOutput
    | SessionStartHookSpecificOutput
    | SetupHookSpecificOutput
    | StopHookSpecificOutput
    | SubagentStartHookSpecificOutput
    | SubagentStopHookSpecificOutput
    | NotificationHookSpecificOutput
    | PreModelSwitchHookSpecificOutput
    | PostModelSwitchHookSpecificOutput
    | ElicitationHookSpecificOutput
    | ElicitationResultHookSpecificOutput
    | CwdChangedHookSpecificOutput
    | FileChangedHookSpecificOutput
    | WorktreeCreateHookSpecificOutput
    | MessageDisplayHookSpecificOutput,
    UnknownHookSpecificOutput,
]
"""Any answer to one kind of event, told apart by `hookEventName`."""


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


def view_tool_input(event: ToolHookInput | PostToolBatchToolCall) -> View[ToolInput]:
    """Look at a call's input as its tool's type; never raises."""
    return view_input(ToolUseBlock(name=event.tool_name, input=event.tool_input))


def view_tool_response(event: PostToolUseHookInput | PostToolBatchToolCall) -> View[ToolResult]:
    """Look at a call's response as its tool's type; never raises.

    One call of a batch may say what the model saw instead: text, or content blocks.
    """
    if event.tool_response is UNSET:
        unknown = UnknownToolResult(b"", event.tool_name)
        problem = Problem(ProblemKind.MISSING_FIELD, "a response", "nothing", (), unknown)
        return View(unknown, b"", (problem,))
    seen = view_result(event.tool_name, event.tool_response)
    if seen.problems and isinstance(event, PostToolBatchToolCall) and seen.raw.lstrip()[:1] == b"[":
        return view(tuple[ContentBlock, ...], seen.raw)
    return seen

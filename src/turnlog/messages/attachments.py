"""Attachments: what the program put beside the conversation, for the model, the person or itself.

Each has a line of its own in a session file and is told apart by its `type`; new types keep coming, so the
union is open. They stand here by subject: what hooks did, what arrived while the model was working, tasks and
limits, tools and skills as they come and go, files, the editor, instructions and memories, the environment and
the prompt, and last how the model is to work just now.
"""

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Number, Open, Raw, Snake, UnknownTagged, UnsetType, field
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.message import MessageOrigin
from turnlog.messages.tool_io.files import ReadResult

__all__ = [
    "AgentListingDelta", "AgentMention", "AlreadyReadFile", "AsyncHookResponse", "Attachment", "AttachmentBase",
    "AutoMode", "AutoModeExit", "BashOutputAudienceNote", "BatchingReminderSent", "BlockingError", "BudgetUsd",
    "ClientChange", "CommandPermissions", "CompactFileReference", "CompanionIntro", "CredentialOrg",
    "CriticalSystemReminder", "DateAttachment", "DateChange", "DeferredTool", "DeferredToolsDelta",
    "DeferredToolsRecord", "Diagnostic", "DiagnosticPosition", "DiagnosticRange", "DiagnosticsAttachment",
    "DirectoryAttachment", "DroppedThinking", "DynamicSkill", "EditedTextFile", "EnvironmentAttachment",
    "EnvironmentChange", "EnvironmentSnapshot", "FailedMcpServer", "FileAttachment", "FileDiagnostics",
    "ForkBriefing", "GoalStatus", "HOOK_ATTACHMENTS", "HookAdditionalContext", "HookBlockingError",
    "HookCancelled", "HookDeferredTool", "HookErrorDuringExecution", "HookNonBlockingError",
    "HookPermissionDecision", "HookStoppedContinuation", "HookSuccess", "HookSystemMessage",
    "InlinedImagePaths", "InstructionFile", "InstructionsAttachment", "InvokedSkill", "InvokedSkills",
    "LanguageAttachment", "MaxTurnsReached", "McpInstructionsDelta", "MemoryFile", "ModelAttachment",
    "ModelIdentity", "NestedMemory", "OpenedFileInIde", "OutputStyle", "OutputStyleInstructions",
    "OutputStylePrompt", "PlanFileReference", "PlanMode", "PlanModeExit", "PlanModeReentry", "PromptSnapshot",
    "QueuedCommand", "ReadNotes", "ReadTruncationNotice", "RelevantMemories", "RelevantMemory",
    "RemoteSessionChange", "RetractedTool", "SHOWN_ATTACHMENTS", "SavedCopyFraming", "SelectedLinesInDiff",
    "SelectedLinesInIde", "SessionContext", "SessionFacts", "SilentTurnReminder", "SkillListing",
    "SnapshotTool", "StructuredOutput", "TaskItem", "TaskReminder", "TaskShell", "TaskStatus", "TaskUsage",
    "TeamContext", "ThinkingDrop", "ThinkingPosition", "ThinkingStripped", "TodoReminder", "ToolInputCopy",
    "TotalTokensReminder", "UltraEffortEnter", "UltraEffortExit", "UltrathinkEffort", "UnknownAttachment",
    "WorkflowKeywordRequest", "WorkflowSizeGuidelineChange",
]  # fmt: skip


class AttachmentBase(Camel, tag_field="type"):
    """Something the program put beside the conversation, told apart by its type."""

    type: ClassVar[str]


class UnknownAttachment(UnknownTagged):
    """An attachment, or a part of one, of an unknown type."""


class _Hook(AttachmentBase):
    """Which hook it was, and what set it off."""

    hook_name: str | UnsetType = UNSET
    hook_event: str | UnsetType = UNSET


class _HookCall(_Hook):
    """One call of a hook."""

    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)
    """The tool call it was about, or an id of its own where there was none."""


class _TimedCall(_HookCall):
    """One call of a hook's command."""

    command: str | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET


class _FinishedCall(_TimedCall):
    """One call of a hook's command that ran to its end."""

    stdout: str | None | UnsetType = UNSET
    stderr: str | None | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET


class HookSuccess(_FinishedCall, tag="hook_success"):
    """A hook that went well."""

    content: str | None | UnsetType = UNSET
    """The part of its output that the model may see."""


class HookNonBlockingError(_FinishedCall, tag="hook_non_blocking_error"):
    """A hook that failed without stopping anything."""


class BlockingError(Camel):
    """Why a hook blocked, and which command said so."""

    blocking_error: str | UnsetType = UNSET
    command: str | None | UnsetType = UNSET


class HookBlockingError(_TimedCall, tag="hook_blocking_error"):
    """A hook that refused what was about to happen."""

    blocking_error: BlockingError | UnsetType = UNSET


class HookCancelled(_TimedCall, tag="hook_cancelled"):
    """A hook that was stopped before it finished."""

    timed_out: bool | UnsetType = UNSET
    timeout_ms: Number | None | UnsetType = UNSET


class HookErrorDuringExecution(_TimedCall, tag="hook_error_during_execution"):
    """A hook that could not be run."""

    content: str | None | UnsetType = UNSET


class HookStoppedContinuation(_HookCall, tag="hook_stopped_continuation"):
    """A hook that ended the turn."""

    message: str | None | UnsetType = UNSET


class HookPermissionDecision(_HookCall, tag="hook_permission_decision"):
    """A hook's verdict on a tool call."""

    decision: str | UnsetType = UNSET


class HookDeferredTool(_HookCall, tag="hook_deferred_tool"):
    """A tool call that a hook put off."""

    tool_name: str | UnsetType = UNSET
    tool_input: Raw | UnsetType = UNSET
    permission_mode: str | None | UnsetType = UNSET


class HookAdditionalContext(_HookCall, tag="hook_additional_context"):
    """What a hook told the model."""

    content: str | tuple[str, ...] | None | UnsetType = UNSET


class HookSystemMessage(_HookCall, tag="hook_system_message"):
    """What a hook told the person."""

    content: str | tuple[str, ...] | None | UnsetType = UNSET


class AsyncHookResponse(_Hook, tag="async_hook_response"):
    """The late answer of a hook that ran in the background."""

    process_id: str | UnsetType = UNSET
    response: Raw | UnsetType = UNSET
    stdout: str | None | UnsetType = UNSET
    stderr: str | None | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET


HOOK_ATTACHMENTS: tuple[type[AttachmentBase], ...] = (
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


class TaskUsage(Camel):
    """What a finished background task used."""

    total_tokens: Number | None | UnsetType = UNSET
    tool_uses: int | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET


class QueuedCommand(AttachmentBase, tag="queued_command"):
    """A message that waited in the queue and was delivered within a turn."""

    prompt: str | tuple[ContentBlock, ...] | UnsetType = UNSET
    command_mode: str | None | UnsetType = UNSET
    """`prompt`, `task-notification` and the like."""
    origin: MessageOrigin | str | None | UnsetType = UNSET
    timestamp: str | None | UnsetType = UNSET
    """When it was put into the queue."""
    source_uuid: str | None | UnsetType = field(name="source_uuid", default=UNSET)
    delivery_id: str | None | UnsetType = field(name="delivery_id", default=UNSET)
    reminder_id: str | None | UnsetType = UNSET
    is_meta: bool | UnsetType = UNSET
    human_turn: bool | UnsetType = UNSET
    image_paste_ids: tuple[int | str, ...] | None | UnsetType = UNSET
    file_attachments: Raw | UnsetType = UNSET
    usage: TaskUsage | None | UnsetType = UNSET


class AgentMention(AttachmentBase, tag="agent_mention"):
    """An agent that the prompt named."""

    agent_type: str | UnsetType = UNSET


class CommandPermissions(AttachmentBase, tag="command_permissions"):
    """What a slash command or a skill allows while it runs."""

    allowed_tools: tuple[str, ...] | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET


class ForkBriefing(AttachmentBase, tag="fork_briefing"):
    """What a forked agent was told about its task."""

    text: str | UnsetType = UNSET


class StructuredOutput(AttachmentBase, tag="structured_output"):
    """The final answer in the shape that the caller asked for."""

    data: Raw | UnsetType = UNSET


class WorkflowKeywordRequest(AttachmentBase, tag="workflow_keyword_request"):
    """A prompt that asked for a workflow by its keyword."""


class WorkflowSizeGuidelineChange(AttachmentBase, tag="workflow_size_guideline_change"):
    """A change of the rule on how large a workflow may be."""


class TaskItem(Camel):
    """An item of the task list, or of the older to-do list, which has `content` in place of `subject`."""

    id: str | UnsetType = UNSET
    subject: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    content: str | UnsetType = UNSET
    active_form: str | None | UnsetType = UNSET
    status: str | UnsetType = UNSET
    owner: str | None | UnsetType = UNSET
    blocks: tuple[str, ...] | None | UnsetType = UNSET
    blocked_by: tuple[str, ...] | None | UnsetType = UNSET
    metadata: Raw | UnsetType = UNSET


class _ListReminder(AttachmentBase):
    """A reminder of a list that has not been touched for a while."""

    content: str | tuple[TaskItem, ...] | None | UnsetType = UNSET
    item_count: int | UnsetType = UNSET


class TaskReminder(_ListReminder, tag="task_reminder"):
    """A reminder of the task list."""


class TodoReminder(_ListReminder, tag="todo_reminder"):
    """A reminder of the to-do list."""


class TaskShell(Camel):
    """The command behind a background task."""

    command: str | UnsetType = UNSET
    kind: str | None | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET


class TaskStatus(AttachmentBase, tag="task_status"):
    """How a background task is getting on."""

    task_id: str | UnsetType = UNSET
    task_type: str | None | UnsetType = UNSET
    status: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    delta_summary: str | None | UnsetType = UNSET
    """What is new since the last time."""
    output_file_path: str | None | UnsetType = UNSET
    shell: TaskShell | None | UnsetType = UNSET


class GoalStatus(AttachmentBase, tag="goal_status"):
    """Whether the goal that was set has been reached."""

    condition: str | UnsetType = UNSET
    met: bool | UnsetType = UNSET
    sentinel: bool | UnsetType = UNSET
    failed: bool | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    iterations: int | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET
    tokens: Number | None | UnsetType = UNSET


class BudgetUsd(AttachmentBase, tag="budget_usd"):
    """What is left of the money."""

    used: Number | UnsetType = UNSET
    total: Number | UnsetType = UNSET
    remaining: Number | UnsetType = UNSET


class MaxTurnsReached(AttachmentBase, tag="max_turns_reached"):
    """The end of a run that took as many turns as it may."""

    max_turns: int | UnsetType = UNSET
    turn_count: int | UnsetType = UNSET


class TeamContext(AttachmentBase, tag="team_context"):
    """An agent's place in its team."""

    agent_id: str | UnsetType = UNSET
    agent_name: str | UnsetType = UNSET
    team_name: str | UnsetType = UNSET
    team_config_path: str | None | UnsetType = UNSET
    task_list_path: str | None | UnsetType = UNSET
    has_task_list_tools: bool | UnsetType = UNSET


class FailedMcpServer(Camel):
    """A server that could not be reached."""

    name: str | UnsetType = UNSET
    error: str | None | UnsetType = UNSET
    error_code: str | int | None | UnsetType = UNSET


class RetractedTool(Camel):
    """A tool that was taken back."""

    name: str | UnsetType = UNSET
    cause: str | None | UnsetType = UNSET


class DeferredToolsDelta(AttachmentBase, tag="deferred_tools_delta"):
    """The change in which tools can be loaded on demand."""

    added_names: tuple[str, ...] | UnsetType = UNSET
    added_lines: tuple[str, ...] | UnsetType = UNSET
    removed_names: tuple[str, ...] | UnsetType = UNSET
    readded_names: tuple[str, ...] | UnsetType = UNSET
    pending_mcp_servers: tuple[str, ...] | UnsetType = UNSET
    needs_auth_mcp_servers: tuple[str, ...] | UnsetType = UNSET
    failed_mcp_servers: tuple[FailedMcpServer, ...] | UnsetType = UNSET
    wire_hidden_names: tuple[str, ...] | UnsetType = UNSET
    surfaced_names: tuple[str, ...] | UnsetType = UNSET
    restored_names: tuple[str, ...] | UnsetType = UNSET
    retracted_tools: tuple[RetractedTool, ...] | UnsetType = UNSET


class DeferredTool(Snake):
    """The definition of a tool that is loaded on demand."""

    name: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    input_schema: Raw | UnsetType = UNSET
    defer_loading: bool | UnsetType = UNSET
    eager_input_streaming: bool | UnsetType = UNSET


class ToolInputCopy(Camel):
    """A tool call's input, kept as it was sent."""

    id: str | UnsetType = UNSET
    copy: str | None | UnsetType = UNSET


class DeferredToolsRecord(AttachmentBase, tag="deferred_tools_record"):
    """The definitions of the tools that are loaded on demand; the model does not see this."""

    entries: tuple[DeferredTool, ...] | UnsetType = UNSET
    tool_input_copies: tuple[ToolInputCopy, ...] | UnsetType = UNSET
    name_only_announcements: tuple[str, ...] | UnsetType = UNSET
    """The uuids of the attachments that announced names only."""
    stripped_references: tuple[str, ...] | UnsetType = UNSET
    """A tool call's id and a tool's name, with a line break between them."""


class McpInstructionsDelta(AttachmentBase, tag="mcp_instructions_delta"):
    """The change in what MCP servers tell the model about themselves."""

    added_names: tuple[str, ...] | UnsetType = UNSET
    added_blocks: tuple[str, ...] | UnsetType = UNSET
    removed_names: tuple[str, ...] | UnsetType = UNSET


class AgentListingDelta(AttachmentBase, tag="agent_listing_delta"):
    """The change in which agents can be started."""

    added_types: tuple[str, ...] | UnsetType = UNSET
    added_lines: tuple[str, ...] | UnsetType = UNSET
    removed_types: tuple[str, ...] | UnsetType = UNSET
    built_in_types: tuple[str, ...] | UnsetType = UNSET
    built_in_plugin_types: tuple[str, ...] | UnsetType = UNSET
    is_initial: bool | UnsetType = UNSET
    show_concurrency_note: bool | UnsetType = UNSET


class SkillListing(AttachmentBase, tag="skill_listing"):
    """The skills that the model may use."""

    content: str | UnsetType = UNSET
    skill_count: int | UnsetType = UNSET
    is_initial: bool | UnsetType = UNSET
    names: tuple[str, ...] | UnsetType = UNSET
    digests: tuple[str, ...] | UnsetType = UNSET


class DynamicSkill(AttachmentBase, tag="dynamic_skill"):
    """Skills that were found in a directory on the way."""

    skill_dir: str | UnsetType = UNSET
    skill_names: tuple[str, ...] | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class InvokedSkill(Camel):
    """A skill that was used before."""

    name: str | UnsetType = UNSET
    path: str | None | UnsetType = UNSET
    content: str | None | UnsetType = UNSET


class InvokedSkills(AttachmentBase, tag="invoked_skills"):
    """The skills in use, told again after a compaction."""

    skills: tuple[InvokedSkill, ...] | UnsetType = UNSET


class _NamedFile(AttachmentBase):
    """A file by its full path, and by the path that is shown."""

    filename: str | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class EditedTextFile(_NamedFile, tag="edited_text_file"):
    """A file that somebody changed after the model had read it."""

    snippet: str | None | UnsetType = UNSET


class ReadNotes(Camel):
    """What was remarked when a file was read."""

    memory_note: str | None | UnsetType = UNSET


class SavedCopyFraming(Camel):
    """How a copy of a file was kept."""

    enveloped: bool | UnsetType = UNSET


class _ReadFile(_NamedFile):
    """A file and what was read from it: what the Read tool would answer."""

    content: str | ReadResult | None | UnsetType = UNSET
    read_notes: ReadNotes | None | UnsetType = UNSET


class FileAttachment(_ReadFile, tag="file"):
    """A file that the prompt named, with its content."""

    saved_copy_framing: SavedCopyFraming | None | UnsetType = UNSET


class AlreadyReadFile(_ReadFile, tag="already_read_file"):
    """A file that the prompt named and the model knows already."""


class DirectoryAttachment(AttachmentBase, tag="directory"):
    """A directory that the prompt named, with its listing."""

    path: str | UnsetType = UNSET
    content: str | None | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class CompactFileReference(_NamedFile, tag="compact_file_reference"):
    """A file that was read before a compaction and is only named after it."""


class PlanFileReference(AttachmentBase, tag="plan_file_reference"):
    """The plan, told again after a compaction."""

    plan_file_path: str | UnsetType = UNSET
    plan_content: str | None | UnsetType = UNSET


class ReadTruncationNotice(AttachmentBase, tag="read_truncation_notice"):
    """A note that a file was read only in part."""

    banner: str | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)


class BashOutputAudienceNote(AttachmentBase, tag="bash_output_audience_note"):
    """A mark that a command's output got a note on who can see it."""

    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)


class InlinedImagePaths(AttachmentBase, tag="inlined_image_paths"):
    """The paths of the pictures that stand in the prompt."""

    paths: tuple[str, ...] | UnsetType = UNSET


class DiagnosticPosition(Camel):
    """A place in a file, counted from zero."""

    line: int | UnsetType = UNSET
    character: int | UnsetType = UNSET


class DiagnosticRange(Camel):
    """From where to where a remark applies."""

    start: DiagnosticPosition | UnsetType = UNSET
    end: DiagnosticPosition | UnsetType = UNSET


class Diagnostic(Camel):
    """One remark of a language server."""

    message: str | UnsetType = UNSET
    severity: str | int | None | UnsetType = UNSET
    range: DiagnosticRange | None | UnsetType = UNSET
    source: str | None | UnsetType = UNSET
    code: str | int | None | UnsetType = UNSET


class FileDiagnostics(Camel):
    """The remarks on one file."""

    uri: str | UnsetType = UNSET
    diagnostics: tuple[Diagnostic, ...] | UnsetType = UNSET


class DiagnosticsAttachment(AttachmentBase, tag="diagnostics"):
    """New remarks of the language servers."""

    files: tuple[FileDiagnostics, ...] | UnsetType = UNSET
    is_new: bool | UnsetType = UNSET


class SelectedLinesInIde(AttachmentBase, tag="selected_lines_in_ide"):
    """What is selected in the editor."""

    ide_name: str | None | UnsetType = UNSET
    line_start: int | UnsetType = UNSET
    line_end: int | UnsetType = UNSET
    filename: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class SelectedLinesInDiff(AttachmentBase, tag="selected_lines_in_diff"):
    """What is selected in a view of changes."""

    line_count: int | UnsetType = UNSET
    content: str | UnsetType = UNSET
    file_path: str | None | UnsetType = UNSET


class OpenedFileInIde(AttachmentBase, tag="opened_file_in_ide"):
    """The file that is open in the editor."""

    filename: str | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class InstructionFile(Camel):
    """A file of instructions, and whose they are."""

    path: str | UnsetType = UNSET
    type: str | None | UnsetType = UNSET
    """`Project`, `User` and the like."""
    content: str | None | UnsetType = UNSET


class InstructionsAttachment(AttachmentBase, tag="instructions"):
    """The files of instructions in force."""

    files: tuple[InstructionFile, ...] | UnsetType = UNSET
    changed: bool | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    removed: tuple[str, ...] | None | UnsetType = UNSET


class MemoryFile(InstructionFile):
    """A file of instructions that applies to a part of the project."""

    globs: tuple[str, ...] | None | UnsetType = UNSET
    """The paths to which it applies."""
    raw_content: str | None | UnsetType = UNSET
    parent: str | None | UnsetType = UNSET
    """The file that includes it."""
    content_differs_from_disk: bool | UnsetType = UNSET


class NestedMemory(AttachmentBase, tag="nested_memory"):
    """Instructions that came into force because a file below them was touched."""

    path: str | UnsetType = UNSET
    content: MemoryFile | None | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class RelevantMemory(Camel):
    """A memory that fits the prompt."""

    path: str | UnsetType = UNSET
    content: str | None | UnsetType = UNSET
    mtime_ms: Number | None | UnsetType = UNSET


class RelevantMemories(AttachmentBase, tag="relevant_memories"):
    """The memories that fit the prompt."""

    memories: tuple[RelevantMemory, ...] | UnsetType = UNSET


class EnvironmentSnapshot(Camel):
    """The machine and the directories at one moment."""

    working_directory: str | None | UnsetType = UNSET
    is_worktree: bool | UnsetType = UNSET
    is_git_repo: bool | UnsetType = UNSET
    additional_working_directories: tuple[str, ...] | None | UnsetType = UNSET
    platform: str | None | UnsetType = UNSET
    shell: str | None | UnsetType = UNSET
    os_version: str | None | UnsetType = UNSET
    scratchpad_directory: str | None | UnsetType = UNSET


class EnvironmentChange(Camel):
    """A part of the environment that is not what it was."""

    field_name: str | UnsetType = field(name="field", default=UNSET)
    previous: str | bool | None | UnsetType = field(name="from", default=UNSET)
    added: tuple[str, ...] | None | UnsetType = UNSET
    removed: tuple[str, ...] | None | UnsetType = UNSET


class EnvironmentAttachment(AttachmentBase, tag="environment"):
    """The machine and the directories that the model works with."""

    snapshot: EnvironmentSnapshot | UnsetType = UNSET
    changes: tuple[EnvironmentChange, ...] | None | UnsetType = UNSET


class SessionFacts(Camel):
    """What is known about the person and the repository; private."""

    user_email: str | None | UnsetType = UNSET
    git_status: str | None | UnsetType = UNSET


class SessionContext(AttachmentBase, tag="session_context"):
    """What the model is told about the person and the repository."""

    context: SessionFacts | None | UnsetType = UNSET
    changed: bool | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET


class ModelIdentity(Camel):
    """A model's names and the end of its knowledge."""

    model_id: str | UnsetType = UNSET
    marketing_name: str | None | UnsetType = UNSET
    knowledge_cutoff: str | None | UnsetType = UNSET


class ModelAttachment(AttachmentBase, tag="model"):
    """What the model is told about itself."""

    identity: ModelIdentity | None | UnsetType = UNSET
    text: str | None | UnsetType = UNSET


class DateAttachment(AttachmentBase, tag="date"):
    """Today's date."""

    date: str | UnsetType = UNSET
    changed: bool | UnsetType = UNSET


class DateChange(AttachmentBase, tag="date_change"):
    """A new day, as older versions told it."""

    new_date: str | UnsetType = UNSET


class SnapshotTool(Camel):
    """A tool as it was offered to the model."""

    name: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    schema: Raw | UnsetType = UNSET


class PromptSnapshot(AttachmentBase, tag="prompt_snapshot"):
    """The system prompt and the tools of a request; large, and not shown to the model."""

    system_prompt: tuple[str, ...] | UnsetType = UNSET
    tools: tuple[SnapshotTool, ...] | None | UnsetType = UNSET
    cli_prefix: str | None | UnsetType = UNSET
    host_prompt: str | None | UnsetType = UNSET
    context_rendering: str | None | UnsetType = UNSET
    reminder_fold: bool | UnsetType = UNSET
    echo_wire_tool_inputs: bool | UnsetType = UNSET
    system_turns: bool | UnsetType = UNSET
    tool_change_header: bool | UnsetType = UNSET
    inline_tools: bool | UnsetType = UNSET
    kept_reminders: bool | UnsetType = UNSET


class OutputStyle(AttachmentBase, tag="output_style"):
    """A reminder of the style in which to answer."""

    style: str | UnsetType = UNSET
    turn_reminder: str | None | UnsetType = UNSET


class OutputStylePrompt(Camel):
    """A style's name and rules."""

    name: str | UnsetType = UNSET
    prompt: str | None | UnsetType = UNSET


class OutputStyleInstructions(AttachmentBase, tag="output_style_instructions"):
    """The rules of the style in which to answer."""

    style: OutputStylePrompt | None | UnsetType = UNSET


class LanguageAttachment(AttachmentBase, tag="language"):
    """The language in which to answer."""

    language: str | None | UnsetType = UNSET


class RemoteSessionChange(AttachmentBase, tag="remote_session_change"):
    """Where the session can be seen from elsewhere, and how to sign commits and pull requests."""

    url: str | None | UnsetType = UNSET
    commit: str | None | UnsetType = UNSET
    pr: str | None | UnsetType = UNSET
    send_user_file_hint: bool | UnsetType = UNSET
    managed_commit: bool | UnsetType = UNSET
    managed_pr: bool | UnsetType = UNSET


class CredentialOrg(AttachmentBase, tag="credential_org"):
    """The organization that the session is charged to; private."""

    organization_uuid: str | None | UnsetType = UNSET


class CompanionIntro(AttachmentBase, tag="companion_intro"):
    """The pet beside the prompt introduces itself."""

    name: str | UnsetType = UNSET
    species: str | None | UnsetType = UNSET


class _PlanFile(AttachmentBase):
    """Where the plan is, and whether it has been written."""

    plan_file_path: str | None | UnsetType = UNSET
    plan_exists: bool | UnsetType = UNSET


class PlanMode(_PlanFile, tag="plan_mode"):
    """Plan mode is on."""

    reminder_type: str | None | UnsetType = UNSET
    """`full` or `sparse`."""
    is_sub_agent: bool | UnsetType = UNSET
    custom_instructions: str | None | UnsetType = UNSET


class PlanModeExit(_PlanFile, tag="plan_mode_exit"):
    """Plan mode is over."""


class PlanModeReentry(_PlanFile, tag="plan_mode_reentry"):
    """Plan mode is on again."""


class _AutoSteering(AttachmentBase):
    """How the model is steered while nobody is asked."""

    reminder_type: str | None | UnsetType = UNSET
    auto_mode_consent_flow: bool | UnsetType = UNSET
    bash_first: bool | UnsetType = UNSET
    bash_first_steer: str | None | UnsetType = UNSET
    steer_only: bool | UnsetType = UNSET
    bypass: bool | UnsetType = UNSET


class AutoMode(_AutoSteering, tag="auto_mode"):
    """Auto mode is on."""


class AutoModeExit(_AutoSteering, tag="auto_mode_exit"):
    """Auto mode is over."""


class UltrathinkEffort(AttachmentBase, tag="ultrathink_effort"):
    """More effort for one prompt, asked for by its keyword."""

    level: str | UnsetType = UNSET


class UltraEffortEnter(AttachmentBase, tag="ultra_effort_enter"):
    """The highest effort is on."""


class UltraEffortExit(AttachmentBase, tag="ultra_effort_exit"):
    """The highest effort is over."""


class _TextReminder(AttachmentBase):
    """A reminder in so many words."""

    text: str | UnsetType = UNSET


class TotalTokensReminder(_TextReminder, tag="total_tokens_reminder"):
    """A reminder of how many tokens are left."""


class SilentTurnReminder(_TextReminder, tag="silent_turn_reminder"):
    """A reminder to tell the person something."""


class BatchingReminderSent(_TextReminder, tag="batching_reminder_sent"):
    """A reminder to make several calls at once."""

    model: str | None | UnsetType = UNSET
    clear_at: str | None | UnsetType = UNSET


class CriticalSystemReminder(AttachmentBase, tag="critical_system_reminder"):
    """A reminder that the agent's definition asks for."""

    content: str | UnsetType = UNSET


class ThinkingStripped(AttachmentBase, tag="thinking_stripped"):
    """A mark that thinking was left out of a request."""

    scope: str | None | UnsetType = UNSET


class ThinkingPosition(Camel):
    """A block's place in a request."""

    message_index: int | UnsetType = UNSET
    block_index: int | UnsetType = UNSET


class DroppedThinking(Camel):
    """Which thinking is missing, and why."""

    block_count: int | UnsetType = UNSET
    turn_count: int | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    first: ThinkingPosition | None | UnsetType = UNSET
    last: ThinkingPosition | None | UnsetType = UNSET
    reason_counts: dict[str, int] | None | UnsetType = UNSET


class ClientChange(Camel):
    """What the program itself had changed since the last request."""

    kinds: str | None | UnsetType = UNSET
    first_changed_message_index: int | None | UnsetType = UNSET
    """-1 where nothing changed."""
    baseline: str | None | UnsetType = UNSET
    call_number: int | None | UnsetType = UNSET


class ThinkingDrop(AttachmentBase, tag="thinking_drop"):
    """A report that the API ignored thinking of earlier turns."""

    request_id: str | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    query_source: str | None | UnsetType = UNSET
    thinking_blocks_sent: int | UnsetType = UNSET
    thinking_turns_sent: int | UnsetType = UNSET
    newly_dropped: DroppedThinking | None | UnsetType = UNSET
    block_hashes: tuple[str, ...] | UnsetType = UNSET
    first_report_for_thread_in_process: bool | UnsetType = UNSET
    client_change: ClientChange | None | UnsetType = UNSET


SHOWN_ATTACHMENTS: tuple[type[AttachmentBase], ...] = (
    FileAttachment,
    DirectoryAttachment,
    SelectedLinesInIde,
    SelectedLinesInDiff,
    AgentMention,
    StructuredOutput,
    GoalStatus,
    TaskStatus,
    MaxTurnsReached,
)
"""Those that people see, besides what hooks said; all others are for the model alone."""

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

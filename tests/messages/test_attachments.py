from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from golden import walk
from turnlog.messages import attachments
from turnlog.messages.attachments import Attachment, QueuedCommand, UnknownAttachment
from turnlog.messages.base import UNSET, Value
from turnlog.messages.blocks import ImageBlock, TextBlock
from turnlog.messages.message import MessageOrigin, OriginKind

SAMPLES = (Path(__file__).parents[1] / "data" / "attachments.jsonl").read_bytes().splitlines()
DECODER = msgspec.json.Decoder(Attachment)

CLASSES: dict[str, type[Value]] = {
    "hook_success": attachments.HookSuccess,
    "hook_non_blocking_error": attachments.HookNonBlockingError,
    "hook_blocking_error": attachments.HookBlockingError,
    "hook_cancelled": attachments.HookCancelled,
    "hook_error_during_execution": attachments.HookErrorDuringExecution,
    "hook_stopped_continuation": attachments.HookStoppedContinuation,
    "hook_permission_decision": attachments.HookPermissionDecision,
    "hook_deferred_tool": attachments.HookDeferredTool,
    "hook_additional_context": attachments.HookAdditionalContext,
    "hook_system_message": attachments.HookSystemMessage,
    "async_hook_response": attachments.AsyncHookResponse,
    "queued_command": attachments.QueuedCommand,
    "agent_mention": attachments.AgentMention,
    "command_permissions": attachments.CommandPermissions,
    "fork_briefing": attachments.ForkBriefing,
    "structured_output": attachments.StructuredOutput,
    "workflow_keyword_request": attachments.WorkflowKeywordRequest,
    "workflow_size_guideline_change": attachments.WorkflowSizeGuidelineChange,
    "task_reminder": attachments.TaskReminder,
    "todo_reminder": attachments.TodoReminder,
    "task_status": attachments.TaskStatus,
    "goal_status": attachments.GoalStatus,
    "budget_usd": attachments.BudgetUsd,
    "max_turns_reached": attachments.MaxTurnsReached,
    "team_context": attachments.TeamContext,
    "deferred_tools_delta": attachments.DeferredToolsDelta,
    "deferred_tools_record": attachments.DeferredToolsRecord,
    "mcp_instructions_delta": attachments.McpInstructionsDelta,
    "agent_listing_delta": attachments.AgentListingDelta,
    "skill_listing": attachments.SkillListing,
    "dynamic_skill": attachments.DynamicSkill,
    "invoked_skills": attachments.InvokedSkills,
    "edited_text_file": attachments.EditedTextFile,
    "file": attachments.FileAttachment,
    "already_read_file": attachments.AlreadyReadFile,
    "directory": attachments.DirectoryAttachment,
    "compact_file_reference": attachments.CompactFileReference,
    "plan_file_reference": attachments.PlanFileReference,
    "read_truncation_notice": attachments.ReadTruncationNotice,
    "bash_output_audience_note": attachments.BashOutputAudienceNote,
    "inlined_image_paths": attachments.InlinedImagePaths,
    "diagnostics": attachments.DiagnosticsAttachment,
    "selected_lines_in_ide": attachments.SelectedLinesInIde,
    "selected_lines_in_diff": attachments.SelectedLinesInDiff,
    "opened_file_in_ide": attachments.OpenedFileInIde,
    "instructions": attachments.InstructionsAttachment,
    "nested_memory": attachments.NestedMemory,
    "relevant_memories": attachments.RelevantMemories,
    "environment": attachments.EnvironmentAttachment,
    "session_context": attachments.SessionContext,
    "model": attachments.ModelAttachment,
    "date": attachments.DateAttachment,
    "date_change": attachments.DateChange,
    "prompt_snapshot": attachments.PromptSnapshot,
    "output_style": attachments.OutputStyle,
    "output_style_instructions": attachments.OutputStyleInstructions,
    "language": attachments.LanguageAttachment,
    "remote_session_change": attachments.RemoteSessionChange,
    "credential_org": attachments.CredentialOrg,
    "companion_intro": attachments.CompanionIntro,
    "plan_mode": attachments.PlanMode,
    "plan_mode_exit": attachments.PlanModeExit,
    "plan_mode_reentry": attachments.PlanModeReentry,
    "auto_mode": attachments.AutoMode,
    "auto_mode_exit": attachments.AutoModeExit,
    "ultrathink_effort": attachments.UltrathinkEffort,
    "ultra_effort_enter": attachments.UltraEffortEnter,
    "ultra_effort_exit": attachments.UltraEffortExit,
    "total_tokens_reminder": attachments.TotalTokensReminder,
    "silent_turn_reminder": attachments.SilentTurnReminder,
    "batching_reminder_sent": attachments.BatchingReminderSent,
    "critical_system_reminder": attachments.CriticalSystemReminder,
    "thinking_stripped": attachments.ThinkingStripped,
    "thinking_drop": attachments.ThinkingDrop,
}

REPORTED_ONLY = [
    "mcp_resource",
    "pdf_reference",
    "edited_image_file",
    "lsp_diagnostics",
    "teammate_mailbox",
    "teammate_shutdown_batch",
    "skill_discovery",
    "skill_mention",
    "token_usage",
    "output_token_usage",
    "verify_plan_reminder",
    "agent_pending_messages",
    "sandbox_instructions",
    "session_settings",
    "async_hook_response_batch",
    "account_memory_recall",
    "memory_update",
    "dir_sync_notice",
    "poll_events",
    "secondary_reminder",
    "unknown_command_fallback",
]


def type_of(sample: bytes) -> str:
    return str(json.loads(sample)["type"])


def fields_set_in_samples() -> dict[str, set[type]]:
    """Map `Class.field` to the types of the values that the samples give it."""
    found: dict[str, set[type]] = {}
    for value in walk(tuple(DECODER.decode(sample) for sample in SAMPLES)):
        for name in value.__struct_fields__:
            held = getattr(value, name)
            if held is not UNSET:
                found.setdefault(f"{type(value).__name__}.{name}", set()).add(type(held))
    return found


def declared_fields() -> set[str]:
    public: list[Any] = [getattr(attachments, name) for name in attachments.__all__]
    classes: list[type[Value]] = [MessageOrigin]
    classes += [each for each in public if isinstance(each, type) and issubclass(each, Value)]
    return {f"{each.__name__}.{name}" for each in classes for name in each.__struct_fields__}


@pytest.mark.parametrize("sample", SAMPLES, ids=type_of)
def test_a_sample_decodes_to_its_class_and_encodes_to_the_same_json(sample: bytes) -> None:
    attachment = DECODER.decode(sample)

    assert type(attachment) is CLASSES[type_of(sample)]
    assert json.loads(msgspec.json.encode(attachment)) == json.loads(sample)


def test_every_type_has_a_sample() -> None:
    assert {type_of(sample) for sample in SAMPLES} == set(CLASSES)


def test_the_samples_set_every_declared_field() -> None:
    assert declared_fields() - set(fields_set_in_samples()) == set()


def test_the_union_holds_exactly_the_known_types() -> None:
    members, _ = get_args(Attachment)

    assert {member.__struct_config__.tag: member for member in get_args(members)} == CLASSES


def test_the_union_is_open_to_unknown_attachments() -> None:
    _, meta = get_args(Attachment)

    assert meta.extra == {"unknown": UnknownAttachment}


@pytest.mark.parametrize("name", REPORTED_ONLY)
def test_a_type_that_nobody_has_seen_stays_unknown(name: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="Invalid value"):
        DECODER.decode(json.dumps({"type": name}))


def test_an_undeclared_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `colour`"):
        DECODER.decode(b'{"type":"date","date":"2026-03-01","colour":"red"}')


def test_a_field_that_is_absent_differs_from_one_that_is_null() -> None:
    assert DECODER.decode(b'{"type":"task_status"}').delta_summary is UNSET
    assert DECODER.decode(b'{"type":"task_status","deltaSummary":null}').delta_summary is None


def test_a_queued_prompt_is_text_or_blocks() -> None:
    text, blocks = (DECODER.decode(sample) for sample in SAMPLES if type_of(sample) == "queued_command")

    assert isinstance(text, QueuedCommand)
    assert text.prompt == "also look at the tests"
    assert isinstance(blocks, QueuedCommand)
    assert isinstance(blocks.prompt, tuple)
    assert [type(block) for block in blocks.prompt] == [TextBlock, ImageBlock]


def test_an_origin_is_an_object_or_a_bare_kind() -> None:
    told, bare = (DECODER.decode(sample) for sample in SAMPLES if type_of(sample) == "queued_command")

    assert isinstance(told.origin, MessageOrigin)
    assert told.origin.kind is OriginKind.PEER
    assert told.origin.sender == "agent-1"
    assert bare.origin == "human"

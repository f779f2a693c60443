from __future__ import annotations

from typing import get_args

import pytest

import golden
import turnlog
from turnlog import UNSET, ProblemKind, UnknownEntry, UnknownTypeError
from turnlog.messages import metadata
from turnlog.messages.base import Raw
from turnlog.messages.blocks import TextBlock
from turnlog.messages.entries import MetadataEntry
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.metadata import FileBackup, FileSnapshot, QueueAction, QueueOperation

TYPES: dict[str, type] = {
    "summary": metadata.Summary,
    "custom-title": metadata.CustomTitle,
    "ai-title": metadata.AiTitle,
    "agent-name": metadata.AgentName,
    "agent-color": metadata.AgentColor,
    "agent-setting": metadata.AgentSetting,
    "tag": metadata.Tag,
    "mode": metadata.Mode,
    "permission-mode": metadata.PermissionModeChange,
    "last-prompt": metadata.LastPrompt,
    "pr-link": metadata.PrLink,
    "bridge-session": metadata.BridgeSession,
    "worktree-state": metadata.WorktreeState,
    "relocated": metadata.Relocated,
    "continued-in": metadata.ContinuedIn,
    "fork-context-ref": metadata.ForkContextRef,
    "cost-state": metadata.CostState,
    "file-history-snapshot": metadata.FileHistorySnapshot,
    "file-history-delta": metadata.FileHistoryDelta,
    "queue-operation": metadata.QueueOperation,
    "content-replacement": metadata.ContentReplacement,
    "saved_hook_context": metadata.SavedHookContext,
    "turn_end": metadata.TurnEnd,
    "frame-link": metadata.FrameLink,
    "artifact-autoreact-ledger": metadata.ArtifactAutoreactLedger,
    "artifact-comment-monitor": metadata.ArtifactCommentMonitor,
    "atis-latch": metadata.AtisLatch,
    "api-request": metadata.ApiRequest,
    "api-request-shape": metadata.ApiRequestShape,
    "api-request-blob": metadata.ApiRequestBlob,
    "tools-used": metadata.ToolsUsed,
    "telemetry-latch": metadata.TelemetryLatch,
    "history-suppression": metadata.HistorySuppression,
    "dev-mods": metadata.DevMods,
    "launched": metadata.JournalLaunched,
    "started": metadata.JournalStarted,
    "result": metadata.JournalResult,
    "failed": metadata.JournalFailed,
}

REPORTED_ONLY = [
    "attribution-snapshot",
    "speculation-accept",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "marble-origami-reset",
    "task-summary",
    "ended-by-model",
    "isolation-latch",
]


def test_the_union_holds_exactly_the_known_types() -> None:
    assert {cls.__struct_config__.tag: cls for cls in get_args(MetadataEntry)} == TYPES


def test_every_type_is_reached_by_a_golden_line() -> None:
    assert set(TYPES.values()) - {type(value) for value in golden.values()} == set()


def test_every_field_of_metadata_is_set_by_a_golden_line() -> None:
    declared = golden.fields_declared(metadata)
    assert declared - golden.fields_set(golden.values()) == set()


def test_titles_and_names_are_read() -> None:
    summary = golden.entry("meta-summary", metadata.Summary)

    assert (summary.summary, summary.leaf_uuid, summary.session_id) == ("Steeping green tea", "u-777", UNSET)
    assert golden.entry("meta-custom-title", metadata.CustomTitle).custom_title == "Tea"
    assert golden.entry("meta-ai-title", metadata.AiTitle).ai_title == "Make green tea"
    assert golden.entry("meta-agent-name", metadata.AgentName).agent_name == "brewer"
    assert golden.entry("meta-agent-color", metadata.AgentColor).agent_color == "green"


def test_modes_and_tags_are_read() -> None:
    assert [mode.mode for mode in golden.entries("meta-mode", metadata.Mode)] == ["normal", "coordinator"]
    assert [tag.tag for tag in golden.entries("meta-tag", metadata.Tag)] == ["kitchen", ""]
    change = golden.entry("meta-permission-mode", metadata.PermissionModeChange)
    assert change.permission_mode is PermissionMode.ACCEPT_EDITS


def test_a_last_prompt_may_name_only_its_leaf() -> None:
    told, bare = golden.entries("meta-last-prompt", metadata.LastPrompt)

    assert (told.last_prompt, told.leaf_uuid, told.explicit) == ("How long?", "u-777", True)
    assert (bare.last_prompt, bare.leaf_uuid, bare.explicit) == (UNSET, None, UNSET)


def test_a_kept_request_names_its_shape_and_its_messages() -> None:
    first, next_ = golden.entries("meta-api-request", metadata.ApiRequest)
    shape = golden.entry("meta-api-request-shape", metadata.ApiRequestShape)
    message, _ = golden.entries("meta-api-request-blob", metadata.ApiRequestBlob)

    assert first.shape_hash == shape.shape_hash
    assert first.tail == (message.hash,)
    assert (next_.base, next_.keep) == (first.id, 1)


def test_a_worktree_is_entered_and_left() -> None:
    entered, left = golden.entries("meta-worktree-state", metadata.WorktreeState)

    assert isinstance(entered.worktree_session, metadata.WorktreeSession)
    assert entered.worktree_session.worktree_path == "/home/ada/tea-wt"
    assert entered.worktree_session.original_head_commit == "abc123"
    assert left.worktree_session is None


def test_a_forked_agent_names_where_its_context_stands() -> None:
    fork = golden.entry("meta-fork-context-ref", metadata.ForkContextRef)

    assert (fork.parent_session_id, fork.parent_last_uuid, fork.context_length) == ("s-0", "u-500", 31)
    assert fork.agent_id == "a0b1c2d"


def test_a_cost_state_has_totals_and_models() -> None:
    state = golden.entry("meta-cost-state", metadata.CostState)

    assert (state.total_cost_usd, state.total_api_duration) == (0.30, 5200)
    assert state.total_api_duration_without_retries == 5100.5
    assert isinstance(state.model_usage, dict)
    opus = state.model_usage["claude-opus-4-1"]
    assert (opus.cost_usd, opus.thinking_tokens, opus.web_search_requests) == (0.29, 50, 1)


def test_a_checkpoint_lists_its_files() -> None:
    checkpoint = golden.entry("meta-file-history-snapshot", metadata.FileHistorySnapshot)

    assert checkpoint.message_id == "u-001"
    assert isinstance(checkpoint.snapshot, FileSnapshot)
    backups = checkpoint.snapshot.tracked_file_backups
    assert isinstance(backups, dict)
    kept, new, bare = backups.values()
    assert isinstance(kept, FileBackup)
    assert kept.backup_file_name == "0123456789abcdef@v1"
    assert isinstance(new, FileBackup)
    assert new.backup_file_name is None
    assert bare == "fedcba9876543210@v1"


def test_a_checkpoint_grows_by_one_file() -> None:
    delta = golden.entry("meta-file-history-delta", metadata.FileHistoryDelta)

    assert (delta.snapshot_message_id, delta.tracking_path) == ("u-001", "tea.md")
    assert isinstance(delta.backup, FileBackup)
    assert delta.backup.version == 2


def test_the_queue_is_told_operation_by_operation() -> None:
    enqueued, dequeued, removed, _, blocks = golden.entries("meta-queue-operation", QueueOperation)

    assert (enqueued.operation, enqueued.content) == (QueueAction.ENQUEUE, "and milk")
    assert (enqueued.command_uuid, enqueued.delivery_id) == ("c-1", "d-1")
    assert dequeued.content is UNSET
    assert (removed.operation, removed.reason) == (QueueAction.REMOVE, "delivered")
    assert blocks.content == (TextBlock(text="a picture"),)


def test_every_known_queue_operation_is_reached() -> None:
    operations = golden.entries("meta-queue-operation", QueueOperation)

    assert {line.operation for line in operations} == set(QueueAction)


def test_a_shortened_result_is_found_by_its_call() -> None:
    line = golden.entry("meta-content-replacement", metadata.ContentReplacement)

    assert line.replacements == (
        metadata.Replacement(kind="tool-result", tool_use_id="toolu_01", replacement="<persisted-output>"),
    )


def test_the_context_of_a_hook_is_a_list_or_text() -> None:
    listed, text = golden.entries("meta-saved-hook-context", metadata.SavedHookContext)

    assert (listed.content, listed.tool_use_id) == (("be brief",), "SessionStart")
    assert text.content == "be brief"


def test_the_journal_of_a_workflow_is_read() -> None:
    started = golden.entry("journal-started", metadata.JournalStarted)
    answered, _ = golden.entries("journal-result", metadata.JournalResult)
    failed = golden.entry("journal-failed", metadata.JournalFailed)

    assert (started.key, started.agent_id, started.label, started.phase) == ("k-1", "a0b1c2d", "brew", None)
    assert isinstance(answered.result, Raw)
    assert bytes(answered.result) == b'{"cups":2}'
    assert isinstance(failed.error, Raw)
    assert bytes(failed.error) == b'"no water"'


@pytest.mark.parametrize("name", REPORTED_ONLY)
def test_a_type_that_nobody_has_seen_stays_visible(name: str) -> None:
    line = b'{"type":"%s","timestamp":"2026-03-01T10:00:00Z","sessionId":"s-1"}' % name.encode()
    decoded = turnlog.decode(line)
    [problem] = decoded.problems

    assert isinstance(decoded.entry, UnknownEntry)
    assert (decoded.entry.type, decoded.entry.session_id) == (name, "s-1")
    assert (problem.kind, problem.path, problem.offset) == (ProblemKind.UNKNOWN_TYPE, "$.type", 8)
    assert turnlog.encode(decoded) == line
    with pytest.raises(UnknownTypeError):
        turnlog.decode(line, strict=True)


def test_a_new_queue_operation_stays_readable() -> None:
    decoded = turnlog.decode(b'{"type":"queue-operation","operation":"shuffle"}')
    [problem] = decoded.problems

    assert isinstance(decoded.entry, QueueOperation)
    assert decoded.entry.operation == "shuffle"
    assert not decoded.entry.operation.known
    assert problem.kind is ProblemKind.UNKNOWN_VALUE

from __future__ import annotations

from typing import get_args

import pytest

import golden
import turnlog
from turnlog import UNSET, ProblemKind, UnknownEntry, UnknownTypeError
from turnlog.messages import system
from turnlog.messages.base import Raw
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.system import SystemNotice, SystemSubtype

SUBTYPES: dict[str, type] = {
    "turn_duration": system.TurnDuration,
    "stop_hook_summary": system.StopHookSummary,
    "compact_boundary": system.CompactBoundary,
    "microcompact_boundary": system.MicrocompactBoundary,
    "api_error": system.ApiErrorNotice,
    "local_command": system.LocalCommand,
    "away_summary": system.AwaySummary,
    "informational": system.Informational,
    "bridge_status": system.BridgeStatus,
    "scheduled_task_fire": system.ScheduledTaskFire,
    "agents_killed": system.AgentsKilled,
    "model_refusal_fallback": system.ModelRefusalFallback,
    "model_refusal_no_fallback": system.ModelRefusalNoFallback,
    "model_consent_fallback": system.ModelConsentFallback,
    "model_fallback": system.ModelFallback,
    "permission_retry": system.PermissionRetry,
    "post_tool_hook_feedback": system.PostToolHookFeedback,
}


def test_the_union_holds_exactly_the_known_subtypes() -> None:
    assert {cls.__struct_config__.tag: cls for cls in get_args(SystemSubtype)} == SUBTYPES


def test_every_subtype_is_reached_by_a_golden_line() -> None:
    assert set(SUBTYPES.values()) - {type(value) for value in golden.values()} == set()


def test_every_field_of_system_lines_is_set_by_a_golden_line() -> None:
    assert golden.fields_declared(system) - golden.fields_set(golden.values()) == set()


@pytest.mark.parametrize("subtype", SUBTYPES)
def test_the_bare_subtype_is_enough(subtype: str) -> None:
    line = b'{"type":"system","subtype":"%s"}' % subtype.encode()
    decoded = turnlog.decode(line)

    assert type(decoded.entry) is SUBTYPES[subtype]
    assert decoded.problems == ()


def test_every_known_level_is_a_member() -> None:
    rare = golden.entries("system-levels-rare", system.Informational)
    levels = [line.level for line in golden.entries("system-levels", system.Informational) + rare]

    assert levels == list(system.Level)


def test_a_line_without_subtype_is_a_notice() -> None:
    said, hooked = golden.entries("system-notice", SystemNotice)

    assert (said.content, said.tool_use_id, said.level) == ("Running hooks", "toolu_01", system.Level.WARNING)
    assert (said.permission_mode, said.source_tool_use_id) == (PermissionMode.PLAN, "toolu_00")
    assert said.prevent_continuation is False
    assert hooked.hook_infos == (system.HookInfo(command="check.sh", duration_ms=12),)
    assert hooked.content is UNSET


def test_a_turn_ends_with_its_duration_and_its_hooks() -> None:
    turn = golden.entry("system-turn-duration", system.TurnDuration)
    hooks = golden.entry("system-stop-hook-summary", system.StopHookSummary)

    assert (turn.duration_ms, turn.message_count, turn.pending_background_agent_count) == (12034, 9, 1)
    assert (hooks.hook_count, hooks.prevented_continuation) == (2, True)
    assert hooks.hook_errors == ("lint.sh failed",)
    assert isinstance(hooks.hook_infos, tuple)
    assert hooks.hook_infos[0].prompt_text == "is it hot?"


def test_a_compact_boundary_says_what_was_dropped_and_kept() -> None:
    told, bare = golden.entries("system-compact-boundary", system.CompactBoundary)

    assert told.parent_uuid is None
    assert told.logical_parent_uuid == "u-050"
    assert isinstance(told.compact_metadata, system.CompactMetadata)
    assert told.compact_metadata.trigger is system.CompactTrigger.AUTO
    assert (told.compact_metadata.pre_tokens, told.compact_metadata.post_tokens) == (150000, 9000)
    assert told.compact_metadata.preserved_messages == system.PreservedMessages(
        anchor_uuid="u-2", uuids=("u-1",), all_uuids=("u-1", "u-3")
    )
    assert isinstance(bare.compact_metadata, system.CompactMetadata)
    assert bare.compact_metadata.preserved_segment is None


def test_a_microcompaction_names_the_results_it_cleared() -> None:
    boundary = golden.entry("system-microcompact-boundary", system.MicrocompactBoundary)

    assert isinstance(boundary.microcompact_metadata, system.MicrocompactMetadata)
    assert boundary.microcompact_metadata.compacted_tool_ids == ("toolu_01",)
    assert boundary.microcompact_metadata.cleared_attachment_uuids == ("u-9",)


def test_an_api_error_is_told_in_the_form_of_old() -> None:
    notice = golden.entry("system-api-error-old", system.ApiErrorNotice)

    assert isinstance(notice.error, system.ApiErrorDetail)
    assert (notice.error.status, notice.error.request_id_old) == (529, "req_1")
    assert isinstance(notice.error.headers, dict)
    assert bytes(notice.error.headers["retry-after"]) == b'"3"'
    assert isinstance(notice.error.error, Raw)
    assert isinstance(notice.cause, system.ApiErrorDetail)
    assert notice.cause.cause == system.ApiErrorDetail(message="reset")
    assert (notice.retry_in_ms, notice.retry_attempt, notice.max_retries) == (512.3, 1, 10)


def test_an_api_error_is_told_in_todays_form_or_as_text() -> None:
    told, text = golden.entries("system-api-error-new", system.ApiErrorNotice)

    assert isinstance(told.error, system.ApiErrorDetail)
    assert told.error.connection == system.ApiErrorConnection(
        code="ECONNRESET", message="reset", is_ssl_error=False
    )
    assert told.error.no_response == system.ApiErrorNoResponse(waited_ms=60000, retry_wait_ms=500)
    assert told.error.request_id == "req_2"
    assert (text.error, text.cause) == ("broken pipe", None)


def test_a_local_command_may_name_what_ran() -> None:
    named, output = golden.entries("system-local-command", system.LocalCommand)

    assert named.command_run == system.CommandRun(command="clear", args="")
    assert output.command_run is UNSET


def test_a_change_of_model_says_from_which_to_which() -> None:
    refused = golden.entry("system-model-refusal-fallback", system.ModelRefusalFallback)
    alone = golden.entry("system-model-refusal-no-fallback", system.ModelRefusalNoFallback)
    chosen = golden.entry("system-model-consent-fallback", system.ModelConsentFallback)

    assert (refused.original_model, refused.fallback_model) == ("claude-opus-4-1", "claude-sonnet-4-5")
    assert refused.retracted_message_uuids == ("u-3",)
    assert alone.fallback_model is None
    assert (chosen.choice, chosen.persisted_as_default) == ("switch", False)


def test_a_scheduled_prompt_says_when_and_what() -> None:
    fired = golden.entry("system-scheduled-task-fire", system.ScheduledTaskFire)

    assert (fired.cron, fired.prompt, fired.no_op_streak) == ("0 9 * * *", "water the plants", 2)


@pytest.mark.parametrize("subtype", ["memory_saved", "api_metrics", "thinking", "snip_boundary"])
def test_a_subtype_that_nobody_has_seen_stays_visible(subtype: str) -> None:
    line = b'{"type":"system","subtype":"%s","uuid":"u-1","sessionId":"s-1"}' % subtype.encode()
    decoded = turnlog.decode(line)
    [problem] = decoded.problems

    assert isinstance(decoded.entry, UnknownEntry)
    assert (decoded.entry.type, decoded.entry.subtype, decoded.entry.uuid) == ("system", subtype, "u-1")
    assert (problem.kind, problem.path) == (ProblemKind.UNKNOWN_TYPE, "$.subtype")
    assert turnlog.encode(decoded) == line
    with pytest.raises(UnknownTypeError, match=rf"`{subtype}` - at \$\.subtype"):
        turnlog.decode(line, strict=True)

"""Lines and deliveries that tell of the same hook event are told once."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from turnlog.transcripts.actions import (
    HookLine,
    HookRun,
    describe_event,
    merge_runs,
    read_event,
    read_hook_line,
)
from turnlog.transcripts.hooks import NEAR, HookMention, match_lines
from turnlog.transcripts.segment_builder import time_of

SECOND = 1_000_000


def read(**fields: Any) -> HookLine | None:
    return read_hook_line(turnlog.decode(json.dumps(fields)).entry)


def attachment(kind: str, **fields: Any) -> HookLine | None:
    given = {"type": kind, "hookName": "PreToolUse:Bash", "hookEvent": "PreToolUse", "toolUseID": "toolu_1"}
    return read(type="attachment", uuid="u", timestamp="2026-01-01T00:00:00Z", attachment=given | fields)


def test_each_way_in_which_lines_tell_of_hooks_is_read() -> None:
    data = {"type": "hook_progress", "hookEvent": "Stop", "hookName": "Stop", "command": "./bell.sh"}
    assert read(type="progress", uuid="u", data=data, toolUseID="own", parentToolUseID="own") == HookLine(
        "Stop", "own", (HookRun(name="Stop", kind="hook_progress", command="./bell.sh"),)
    )
    found = attachment("hook_success", command="./a", stdout="out", exitCode=0, durationMs=12.6)
    run = HookRun(
        name="PreToolUse:Bash",
        kind="hook_success",
        command="./a",
        outcome="ok",
        exit_code=0,
        duration_ms=12,
        output="out",
    )
    assert found == HookLine("PreToolUse", "toolu_1", (run,))
    infos = [{"command": "./a", "durationMs": 5}, {"command": "./b", "durationMs": 9}]
    summary = read(
        type="system", subtype="stop_hook_summary", hookInfos=infos, hookErrors=["no"], toolUseID="own"
    )
    assert summary is not None
    assert (summary.event, summary.duration_ms, summary.outcome) == ("Stop", 9, "failed")
    assert [run.command for run in summary.runs] == ["./a", "./b", None]
    saved = read(type="saved_hook_context", content=["one", "two"], hookEvent="SessionStart")
    assert saved is not None
    assert (saved.event, saved.runs[0].output) == ("SessionStart", "one\ntwo")
    assert read(type="user", uuid="u", message={"role": "user", "content": "hi"}) is None


@pytest.mark.parametrize(
    ("kind", "fields", "outcome", "output", "state"),
    [
        ("hook_success", {"content": "said", "stdout": "raw"}, "ok", "said", "ok"),
        ("hook_non_blocking_error", {"stderr": "oh", "exitCode": 1}, "failed", "oh", "failed"),
        ("hook_blocking_error", {"blockingError": {"blockingError": "no"}}, "blocked", "no", "failed"),
        ("hook_cancelled", {"timedOut": True}, "cancelled", None, "rejected"),
        ("hook_error_during_execution", {"content": "gone"}, "failed", "gone", "failed"),
        ("hook_stopped_continuation", {"message": "enough"}, "stopped", "enough", "rejected"),
        ("hook_permission_decision", {"decision": "deny"}, "deny", None, "rejected"),
        ("hook_permission_decision", {"decision": "allow"}, "allow", None, "ok"),
        ("hook_deferred_tool", {"toolName": "Bash"}, "deferred", None, "rejected"),
        ("hook_additional_context", {"content": ["a", "b"]}, "context", "a\nb", "note"),
        ("hook_system_message", {"content": "hear"}, "told", "hear", "note"),
        ("async_hook_response", {"stdout": "late", "exitCode": 3}, "failed", "late", "failed"),
    ],
)
def test_every_attachment_says_what_came_of_a_hook(
    kind: str, fields: dict[str, Any], outcome: str, output: str | None, state: str
) -> None:
    found = attachment(kind, **fields)
    assert found is not None
    assert (found.outcome, found.runs[0].output) == (outcome, output)
    given = {"type": kind, "hookName": "PreToolUse:Bash", "hookEvent": "PreToolUse", "toolUseID": "t"} | fields
    event = read_event(turnlog.decode(json.dumps({"type": "attachment", "uuid": "u", "attachment": given})))
    assert event is not None
    assert (event.state, event.hook, event.category) == (state, "PreToolUse", "hook")


def test_a_line_belongs_to_the_delivery_about_the_same_call() -> None:
    deliveries = [
        HookMention("PreToolUse", "toolu_1", 0, "a"),
        HookMention("PreToolUse", "toolu_2", 5 * SECOND, "b"),
        HookMention("PostToolUse", "toolu_2", 6 * SECOND, "c"),
        HookMention("PreToolUse", "toolu_2", 90 * SECOND, "d"),  # asked again
    ]
    lines = [
        HookMention("PreToolUse", "toolu_1", 500 * SECOND),  # however late
        HookMention("PreToolUse", "toolu_2", 7 * SECOND),
        HookMention("PreToolUse", "toolu_2", 80 * SECOND),
        HookMention("PreToolUse", "toolu_3", 0),  # nobody delivered it, and no other stands in for it
        HookMention("PostToolUse", "toolu_1", 6 * SECOND),
        HookMention("PreToolUse", "toolu_1", None),
    ]
    assert match_lines(lines, deliveries) == {0: 0, 1: 1, 2: 3, 5: 0}


def test_a_line_about_no_call_belongs_to_the_nearest_delivery_that_is_near() -> None:
    deliveries = [
        HookMention("Stop", None, 0, "a"),
        HookMention("Stop", None, 8 * SECOND, "b"),
        HookMention("Stop", "toolu_1", 3, "c"),
    ]
    lines = [
        HookMention("Stop", "own", 3 * SECOND),
        HookMention("Stop", None, 5 * SECOND),
        HookMention("Stop", None, 4 * SECOND),  # as far from both
        HookMention("Stop", None, 8 * SECOND + NEAR),
        HookMention("Stop", None, 8 * SECOND + NEAR + 1),
        HookMention("SessionStart", None, 0),
        HookMention("Stop", None, None),
    ]
    assert match_lines(lines, deliveries) == {0: 0, 1: 1, 2: 0, 3: 1}


_told = st.builds(
    HookMention,
    st.sampled_from(["Stop", "PreToolUse"]),
    st.sampled_from([None, "t1", "t2"]),
    st.none() | st.integers(0, 4 * NEAR),
    st.text("ab", max_size=2),
)


@given(
    lines=st.lists(_told, max_size=6),
    deliveries=st.lists(_told, max_size=6, unique_by=lambda each: each.id),
    data=st.data(),
)
def test_the_order_in_which_lines_and_deliveries_are_given_does_not_matter(
    lines: list[HookMention], deliveries: list[HookMention], data: st.DataObject
) -> None:
    def name(lines: list[HookMention], deliveries: list[HookMention]) -> list[tuple[str, str]]:
        found = match_lines(lines, deliveries)
        return sorted((repr(lines[line]), deliveries[delivery].id) for line, delivery in found.items())

    shuffled = data.draw(st.permutations(lines)), data.draw(st.permutations(deliveries))
    assert name(*shuffled) == name(lines, deliveries)


def test_lines_of_one_command_are_told_as_one() -> None:
    started = HookRun(name="PreToolUse:Bash", kind="hook_progress", command="./a")
    ended = HookRun(
        name="PreToolUse:Bash", kind="hook_success", command="./a", outcome="ok", exit_code=0, duration_ms=7
    )
    context = HookRun(name="PreToolUse:Bash", kind="hook_additional_context", outcome="context", output="know")
    for runs in permutations((started, ended)):
        assert merge_runs(runs) == [ended]
    [merged] = merge_runs((started, ended, context))
    assert (merged.command, merged.outcome, merged.duration_ms, merged.output) == ("./a", "ok", 7, "know")
    twice = merge_runs((started, started, ended))
    assert [(run.command, run.outcome) for run in twice] == [("./a", "ok"), ("./a", None)]
    other = HookRun(name="PreToolUse:Bash", kind="hook_success", command="./b", outcome="ok", output="hm")
    assert [run.command for run in merge_runs((ended, other, context))] == ["./a", "./b"]
    assert merge_runs(()) == []


def test_events_are_lines_that_are_neither_said_nor_called() -> None:
    def name(line: bytes) -> tuple[str, str, str] | None:
        event = read_event(turnlog.decode(line))
        return None if event is None else (event.category.value, event.name, event.state.value)

    assert name(b'{"type":"user","message":{"role":"user","content":"hi"}}') is None
    assert name(b'{"type":"user","isMeta":true,"message":{"role":"user","content":"hi"}}') is None
    assert name(b'{"type":"assistant","message":{"role":"assistant","content":[]}}') is None
    failed = (
        b'{"type":"assistant","isApiErrorMessage":true,"message":{"role":"assistant","content":"API Error"}}'
    )
    assert name(failed) == ("error", "error", "failed")
    assert name(b'{"type":"summary","summary":"all","leafUuid":"u"}') is None
    assert name(b'{"type":"queue-operation","operation":"enqueue"}') == ("queue", "enqueue", "note")
    assert name(b'{"type":"file-history-snapshot","messageId":"u"}') == (
        "snapshot",
        "file-history-snapshot",
        "note",
    )
    assert name(b'{"type":"system","subtype":"api_error"}') == ("error", "api_error", "failed")
    assert name(b'{"type":"system","subtype":"turn_duration","durationMs":5}') == (
        "system",
        "turn_duration",
        "note",
    )
    assert name(b'{"type":"something-new","uuid":"u"}') == ("system", "something-new", "note")
    progress = b'{"type":"progress","uuid":"u","data":{"type":"%s"}}'
    assert name(progress % b"agent_progress") == ("agent", "agent_progress", "note")
    assert name(progress % b"bash_progress") is None
    assert name(progress % b"hook_progress") == ("hook_progress", "hook_progress", "note")
    assert name(b'{"type":"attachment","uuid":"u","attachment":{"type":"todo_reminder"}}') == (
        "system",
        "todo_reminder",
        "note",
    )


def test_events_are_told_in_a_few_words() -> None:
    def tell(line: bytes) -> tuple[str, str]:
        return describe_event(turnlog.decode(line).entry)

    files = b'{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"/a/b.py":"x","c.py":"y"}}}'
    assert tell(files) == ("b.py, c.py", "2 files kept")
    queued = b'{"type":"queue-operation","operation":"enqueue","content":"and this"}'
    assert tell(queued) == ("and this", "")
    retried = (
        b'{"type":"system","subtype":"api_error","error":{"code":"ECONNRESET"},"retryAttempt":2,"maxRetries":9}'
    )
    assert tell(retried) == ("ECONNRESET", "retry 2 of 9")
    failed = {"type": "hook_non_blocking_error", "hookEvent": "Stop", "command": "./a", "exitCode": 2}
    assert tell(json.dumps({"type": "attachment", "attachment": failed}).encode()) == ("./a", "exit 2")
    assert tell(b'{"type":"system","content":"a note"}') == ("a note", "")


def test_all_hook_lines_of_the_corpus_belong_to_deliveries_made_from_them(corpus: Path) -> None:
    """Each delivery comes a moment before its first line, as it would have."""
    counts = [0, 0]
    for path in sorted((corpus / "sessions").rglob("*.jsonl")):
        if b"hookEvent" not in path.read_bytes():
            continue
        lines: list[HookMention] = []
        for line in turnlog.read(path).lines:
            event, hook = read_event(line), read_hook_line(line.entry)
            at = time_of(line)
            if event is not None and event.hook is not None and hook is not None and at is not None:
                lines.append(HookMention(event.hook, hook.tool_use_id, at - 1000 * (hook.duration_ms or 0)))
        events = {
            (
                told.event,
                told.tool_use_id if (told.tool_use_id or "").startswith(("toolu_", "call_")) else told.at,
            ): told
            for told in reversed(lines)
        }
        deliveries = [
            HookMention(told.event, id if isinstance(id, str) else None, (told.at or 0) - 50_000, str(number))
            for number, ((_, id), told) in enumerate(events.items())
        ]
        found = match_lines(lines, deliveries)
        assert len(found) == len(lines), path
        for number, delivery in found.items():
            assert lines[number].event == deliveries[delivery].event
        counts[0] += len(lines)
        counts[1] += len(deliveries)
    assert counts[0] >= counts[1] >= 400

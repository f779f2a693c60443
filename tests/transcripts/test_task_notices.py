"""The news that background tasks ended."""

from __future__ import annotations

import json

import pytest

import turnlog
from turnlog.transcripts.calls import TaskNotice, find_notice


def told(text: str) -> TaskNotice | None:
    entry = {"type": "user", "sessionId": "s-1", "message": {"role": "user", "content": text}}
    return find_notice(turnlog.decode(json.dumps(entry)))


def notify(*parts: str) -> str:
    return "\n".join(("<task-notification>", *parts, "</task-notification>"))


def test_a_notice_has_a_summary_and_what_the_task_said() -> None:
    notice = told(
        notify(
            "<task-id>k1</task-id>",
            "<tool-use-id>c-1</tool-use-id>",
            "<status>completed</status>",
            '<summary>Agent "Look" completed</summary>',
            "<result>All\n\nwell.</result>",
            "<usage><total_tokens>8</total_tokens></usage>",
        )
    )

    assert notice is not None
    assert (notice.task_id, notice.tool_use_id, notice.status) == ("k1", "c-1", "completed")
    assert (notice.summary, notice.result) == ('Agent "Look" completed', "All\n\nwell.")


def test_tags_in_what_people_and_tasks_say_are_no_fields() -> None:
    notice = told(
        notify(
            "<task-id>k1</task-id>",
            '<summary>Agent "<status>odd</status>" failed</summary>',
            "<status>failed</status>",
            "<result>See <tool-use-id>c-9</tool-use-id> <result>two</result>, <summary>none</summary></result>",
        )
    )

    assert notice is not None
    assert (notice.status, notice.tool_use_id) == ("failed", None)
    assert notice.summary == 'Agent "<status>odd</status>" failed'
    assert notice.result is not None
    assert notice.result.startswith("See <tool-use-id>")
    assert notice.result.endswith("<summary>none</summary>")


def test_a_summary_in_the_answer_is_not_the_notices_own() -> None:
    notice = told(notify("<status>completed</status>", "<result><summary>Tea</summary> is well.</result>"))

    assert notice is not None
    assert (notice.summary, notice.result) == (None, "<summary>Tea</summary> is well.")


@pytest.mark.parametrize(
    "parts",
    [
        ("<task-id>k1</task-id>", "<summary>Monitor event</summary>", "<event>drip</event>"),
        ("<summary>Monitor: <status>completed</status></summary>",),
        ("<result><status>completed</status></result>",),
        ("<status> </status>",),
    ],
)
def test_events_are_no_ends(parts: tuple[str, ...]) -> None:
    assert told(notify(*parts)) is None


def test_a_notice_without_an_answer_has_none() -> None:
    notice = told(notify("<task-id>b1</task-id>", "<status>killed</status>", "<summary>cut off"))

    assert notice is not None
    assert (notice.summary, notice.result) == (None, None)


@pytest.mark.parametrize(("operation", "ends"), [("enqueue", True), ("popAll", False), ("remove", False)])
def test_what_entered_the_queue_tells_of_an_end_even_if_it_never_left(operation: str, ends: bool) -> None:
    content = notify("<task-id>k1</task-id>", "<status>completed</status>", "<result>Well.</result>")
    entry = {"type": "queue-operation", "operation": operation, "sessionId": "s-1", "content": content}
    notice = find_notice(turnlog.decode(json.dumps(entry)))

    assert (notice is not None) is ends
    assert notice is None or notice.result == "Well."


def test_the_stream_tells_of_an_end_in_fields() -> None:
    entry = {"type": "system", "subtype": "task_notification", "uuid": "v-1", "session_id": "s-1"}
    line = turnlog.decode(json.dumps({**entry, "task_id": "b1", "status": "completed", "summary": "Done."}))
    notice = find_notice(line)

    assert notice is not None
    assert (notice.task_id, notice.summary, notice.result) == ("b1", "Done.", None)


def test_unclosed_tags_take_time_in_proportion() -> None:
    assert told(notify(*["<summary><status><result>"] * 50_000)) is None

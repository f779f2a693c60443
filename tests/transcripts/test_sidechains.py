"""Spec 003's panel: what is said, and beside it what was done for it."""

from __future__ import annotations

from pathlib import Path

import turnlog
from turnlog.transcripts import Panel

DATA = Path(__file__).parents[1] / "data" / "transcripts"


def read(name: str) -> Panel:
    return turnlog.read(DATA / name / "session.jsonl").panel


def groups(panel: Panel) -> list[tuple[str, list[str]]]:
    return [(group.head.text or group.head.id, [call.name for call in group.calls]) for group in panel.groups]


def test_the_grouped_display_is_spec_003s() -> None:
    panel = read("spec-003-chain")
    assert [message.text for message in panel.main] == [
        "Update all test files",
        "I'll update the test files",
        "All test files have been updated",
    ]
    assert groups(panel) == [("I'll update the test files", ["Glob", "Read", "Edit", "Read", "Edit"])]


def test_old_documents_are_grouped_alike() -> None:
    assert groups(read("spec-003-old-parents")) == groups(read("spec-003-chain"))


def test_an_answer_that_says_something_stays_in_the_main_flow_with_its_calls_beside_it() -> None:
    panel = read("split-message")
    assert [message.id for message in panel.main] == ["u1", "a1", "a5"]
    assert groups(panel) == [("I will read both.", ["Read", "Read"])]


def test_work_that_begins_without_a_word_is_grouped_under_its_first_message() -> None:
    assert groups(read("turns")) == [("a1", ["Read", "Edit", "Read"])]


def test_a_prompt_ends_a_group() -> None:
    panel = read("roles")
    assert groups(panel) == [("Here it is.", ["Edit", "Bash"])]
    assert [message.id for message in panel.main] == ["c0", "u1", "a1", "a5"]


def test_agents_are_not_in_the_main_flow() -> None:
    panel = read("spec-004-delegation")
    assert [message.id for message in panel.main] == ["h1", "a1", "a4"]
    assert groups(panel) == [("Delegating to specialist", ["Task"])]

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

import golden
import strategies
import turnlog
from turnlog import Line
from turnlog.messages.attachments import HOOK_ATTACHMENTS
from turnlog.messages.tool_io.registry import INPUTS
from turnlog.transcripts.kinds import Category, MessageType, Role
from turnlog.transcripts.lines.content import (
    CATEGORIES,
    Author,
    author_of,
    find_category,
    is_known_tool,
    list_message_types,
    role_of,
    tool_category,
)
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, kind_of


def lines(name: str) -> list[Line]:
    return [turnlog.decode(line) for line in golden.lines(f"transcripts/categories/{name}")]


def told(line: Line) -> tuple[str, str | None, list[str]]:
    category = find_category(line)
    return role_of(line).value, category and category.value, [str(each) for each in list_message_types(line)]


SPEC_002 = {
    "u-1": ("user", None, ["user"]),
    "u-2": ("tool_result", None, ["tool_result"]),
    "u-3": ("system", "system", []),
    "a-1": ("assistant", None, ["thinking", "assistant"]),
    "a-2": ("tool_use", None, ["tool_use"]),
    "a-3": ("assistant", None, ["thinking"]),
    "a-4": ("assistant", None, []),
    "s-1": ("system", "system", ["system"]),
    "p-0": ("progress", "hook_progress", ["progress"]),
    "p-1": ("progress", "agent", ["progress"]),
    "p-2": ("progress", None, ["progress"]),
    "p-3": ("progress", None, ["progress"]),
    "p-4": ("progress", None, ["progress"]),
    "m-1": ("summary", None, ["summary"]),
    "q-1": ("system", "queue", ["system"]),
    "q-2": ("system", "queue", ["system"]),
    "f-1": ("system", "snapshot", ["system"]),
    "h-1": ("system", "hook", ["system"]),
    "r-1": ("system", "system", ["system"]),
    "k-1": ("system", "system", ["system"]),
}


def test_the_lines_of_spec_002_are_what_it_says() -> None:
    assert {golden.envelope(line).uuid: told(line) for line in lines("spec-002")} == SPEC_002


def test_newer_lines_have_a_place_too() -> None:
    assert [told(line) for line in lines("newer-types")] == [
        ("assistant", "error", ["error"]),
        ("system", "error", ["error"]),
        ("system", "error", ["error"]),
        ("system", "system", ["system"]),
        ("summary", None, ["summary"]),
        ("system", "hook", ["hook"]),
        ("user", None, ["user"]),
        ("system", "system", ["system"]),
        ("system", "snapshot", ["system"]),
        ("system", "system", ["system"]),
        ("assistant", None, ["assistant"]),
        ("tool_result", None, ["tool_result"]),
    ]


def test_the_enums_have_exactly_the_members_of_spec_002() -> None:
    assert [*Role] == ["user", "assistant", "tool_use", "tool_result", "system", "progress", "summary"]
    assert set(MessageType) == {*map(str, Role), "thinking", "error", "hook"}
    assert len(Category) == 10


@pytest.mark.parametrize(
    ("name", "category", "known"),
    [
        ("Skill", Category.SKILL, True),
        ("mcp__kettle__boil", Category.MCP, True),
        ("Task", Category.AGENT, True),
        ("Agent", Category.AGENT, True),
        ("web_search", Category.BUILTIN, True),
        ("StirTea", Category.BUILTIN, False),
        ("", Category.BUILTIN, False),
    ],
)
def test_tools_have_a_category_and_unknown_ones_are_flagged(name: str, category: Category, known: bool) -> None:
    assert (tool_category(name), is_known_tool(name)) == (category, known)


def test_every_declared_tool_is_known_and_most_are_built_in() -> None:
    others = {name: tool_category(name) for name in INPUTS if tool_category(name) is not Category.BUILTIN}

    assert all(map(is_known_tool, INPUTS))
    assert others == {"Skill": Category.SKILL, "Task": Category.AGENT, "Agent": Category.AGENT}


def test_the_tools_of_specs_000_002_and_004_are_known() -> None:
    names = ["Read", "Write", "Edit", "MultiEdit", "Bash", "BashOutput", "KillShell", "Grep", "Glob"]
    names += ["WebFetch", "WebSearch", "TodoWrite", "SlashCommand"]

    assert all(is_known_tool(name) and tool_category(name) is Category.BUILTIN for name in names)


def test_all_that_hooks_leave_behind_is_of_hooks() -> None:
    attached = {cls for cls, category in CATEGORIES.items() if category is Category.HOOK}

    assert set(HOOK_ATTACHMENTS) <= attached


LEGACY_ROLES = {
    "spec-000": "u u u a t a a a a a r r s s s s s s s u a",
    "spec-003-extracted": "t r t",
    "spec-003-document": "u a a u a a u m m t r t a a",
    "spec-003-api": "u a t r u a m",
    "spec-004": "u a r u u a s m s a u s",
}
LETTERS = dict(
    zip("uatrsm", ["user", "assistant", "tool_use", "tool_result", "system", "summary"], strict=True)
)


@pytest.mark.parametrize("dialect", LEGACY_ROLES)
def test_lines_of_older_dialects_have_the_same_roles(dialect: str) -> None:
    found = [role_of(turnlog.decode(line)).value for line in golden.legacy_lines(dialect)]

    assert found == [LETTERS[letter] for letter in LEGACY_ROLES[dialect].split()]


def test_errors_of_spec_000_are_errors() -> None:
    found = {
        golden.envelope(line).uuid: find_category(line)
        for line in map(turnlog.decode, golden.legacy_lines("spec-000"))
    }

    assert [uuid for uuid, category in found.items() if category is Category.ERROR] == ["m-08", "m-13"]


def test_an_extracted_call_that_cannot_be_read_is_still_a_call() -> None:
    line = turnlog.decode(b'{"type":"tool_use","uuid":"k_tool_0","content":"not JSON","isSidechain":true}')

    assert told(line) == ("tool_use", None, ["tool_use"])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"type": "result", "subtype": "success", "session_id": "s"}, ("system", "system", ["system"])),
        ({"type": "result", "subtype": "error_max_turns", "session_id": "s"}, ("system", "error", ["error"])),
        ({"type": "stream_event", "event": {"type": "ping"}}, ("progress", None, ["progress"])),
        ({"type": "tool_progress", "tool_use_id": "c-1"}, ("progress", None, ["progress"])),
        (
            {"type": "system", "subtype": "hook_progress", "hook_id": "h", "hook_name": "n"},
            ("progress", "hook_progress", ["progress"]),
        ),
        (
            {"type": "system", "subtype": "hook_started", "hook_id": "h", "hook_name": "n"},
            ("system", "hook", ["hook"]),
        ),
        ({"type": "system", "subtype": "init", "session_id": "s"}, ("system", "system", ["system"])),
        (
            {"type": "assistant", "session_id": "s", "error": "rate_limit", "message": {"content": "no"}},
            ("assistant", "error", ["error"]),
        ),
        ({"hook_event_name": "Stop", "session_id": "s"}, ("system", "hook", ["hook"])),
        (
            {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {}, "error": "no"},
            ("system", "error", ["error"]),
        ),
        ({"type": "keep_alive"}, ("system", "system", ["system"])),
    ],
    ids=lambda value: str(value.get("subtype", value.get("type", "hook"))) if isinstance(value, dict) else "",
)
def test_other_channels_have_roles_too(raw: dict[str, object], expected: object) -> None:
    assert told(turnlog.decode(json.dumps(raw))) == expected


def test_broken_lines_are_the_systems_and_shown() -> None:
    assert told(turnlog.decode(b"{")) == ("system", "system", ["system"])


AUTHORS = {
    "w-1": "human",
    "w-2": "claude",
    "w-3": "agent",
    "w-4": "claude",
    "w-5": "system",
    "w-6": "system",
    "w-7": "system",
    "w-8": "system",
    "w-9": "human",
    "w-10": "system",
    "w-11": "human",
    "w-12": "agent",
    "w-13": "agent",
    "w-14": "system",
    "w-15": "system",
    "w-16": "human",
    "w-17": "system",
    "w-18": "human",
    "w-19": "system",
    "w-20": "claude",
    "k-3_tool_0": "claude",
    "k-9": "agent",
    "v-1": "claude",
    "v-2": "human",
    "v-3": "system",
}


def test_who_speaks() -> None:
    assert {getattr(line.entry, "uuid", ""): author_of(line).value for line in lines("authors")} == AUTHORS


def test_in_a_sidechain_of_old_the_user_is_claude_and_the_assistant_its_agent() -> None:
    found = [turnlog.decode(line) for line in golden.legacy_lines("spec-000") + golden.legacy_lines("spec-004")]
    side = [line for line in found if golden.envelope(line).is_sidechain is True]

    assert [author_of(line) for line in side] == [Author.CLAUDE, Author.AGENT, Author.CLAUDE, Author.AGENT]


def test_what_no_model_said_is_the_programs() -> None:
    line = b'{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"No."}]}}'

    assert author_of(turnlog.decode(line)) is Author.SYSTEM


def test_a_message_without_content_says_nothing() -> None:
    assert told(turnlog.decode(b'{"type":"assistant","message":{"content":null}}')) == ("assistant", None, [])


def test_a_prompt_after_a_reminder_is_no_program_text() -> None:
    assert kind_of(" <system-reminder>x</system-reminder>\n") in PROGRAM_KINDS
    assert kind_of("<system-reminder>x</system-reminder> and tea") not in PROGRAM_KINDS


@given(strategies.lines)
def test_every_line_is_something(raw: bytes) -> None:
    line = turnlog.decode(raw)

    assert role_of(line) in Role
    assert author_of(line) in Author
    assert set(list_message_types(line)) <= set(MessageType)
    assert find_category(line) in (*Category, None)


def sessions(corpus: Path) -> Iterator[bytes]:
    for path in sorted((corpus / "sessions").rglob("*.jsonl")):
        yield from (line for line in path.read_bytes().split(b"\n") if line.strip())


def test_every_real_line_has_the_role_of_its_shape(corpus: Path) -> None:
    for raw in sessions(corpus):
        line = turnlog.decode(raw)
        role = role_of(line)
        if not isinstance(line.entry, turnlog.UnknownEntry):
            assert role in expected_roles(json.loads(raw))


def expected_roles(record: dict[str, object]) -> set[Role]:
    """Return what spec 002 allows for a line, told from its JSON alone."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    kinds = {block.get("type") for block in content} if isinstance(content, list) else set()
    match record["type"]:
        case "user" if "tool_result" in kinds:
            return {Role.TOOL_RESULT}
        case "user" if record.get("isCompactSummary"):
            return {Role.SUMMARY}
        case "user":
            return {Role.SYSTEM} if record.get("isMeta") else {Role.USER}
        case "assistant" if "tool_use" in kinds:
            return {Role.ASSISTANT} if "text" in kinds else {Role.TOOL_USE}
        case "assistant":
            return {Role.ASSISTANT}
        case "progress" | "summary" as kind:
            return {Role(kind)}
    return {Role.SYSTEM, Role.USER} if record["type"] == "attachment" else {Role.SYSTEM}

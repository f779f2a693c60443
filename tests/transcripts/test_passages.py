from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
import strategies
import turnlog
from turnlog.transcripts.hooks import build_delivery
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.lines.passage_readers import list_passages
from turnlog.transcripts.lines.passages import Passage, PassageKind, list_hook_passages, read_plainly


def passages(line: bytes | dict[str, Any]) -> list[tuple[object, ...]]:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    found = list_passages(turnlog.decode(raw))
    return [(str(each.kind), each.block, each.text, *(["error"] if each.is_error else [])) for each in found]


def user(content: object, **more: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def assistant(*blocks: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}, **more}


def attachment(**carried: object) -> dict[str, Any]:
    return {"type": "attachment", "attachment": carried}


def call(given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "Pour", "input": given}


def result(content: object, **more: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Boil the kettle", [("prompt", 0, "Boil the kettle")]),
        (
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            [("prompt", 0, "a"), ("prompt", 1, "b")],
        ),
        (" \n", []),
        (
            "<command-name>/brew</command-name>\n<command-message>brew</command-message>"
            "\n<command-args>green tea</command-args>",
            [("prompt", 0, "/brew green tea")],
        ),
        ("<bash-input>ls</bash-input>", [("prompt", 0, "<bash-input>ls</bash-input>")]),
        (
            "<local-command-stdout>$0.10</local-command-stdout>",
            [("notice", 0, "<local-command-stdout>$0.10</local-command-stdout>")],
        ),
        ("[Request interrupted by user]", [("notice", 0, "[Request interrupted by user]")]),
        (
            "This session is being continued from a previous conversation that …",
            [("summary", 0, "This session is being continued from a previous conversation that …")],
        ),
        ([result("hot")], [("tool-output", 0, "hot")]),
        ([result("dry", is_error=True)], [("tool-output", 0, "dry", "error")]),
        (
            [result("<tool_use_error>no</tool_use_error>")],
            [("tool-output", 0, "<tool_use_error>no</tool_use_error>", "error")],
        ),
        (
            [result([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
            [("tool-output", 0, "a\nb")],
        ),
        ([result(None)], []),
        (
            [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                result("x"),
            ],
            [("tool-output", 1, "x")],
        ),
        (
            [{"type": "document", "title": "Tea", "source": {"type": "base64", "data": "JVBERg=="}}],
            [("prompt", 0, "Tea")],
        ),
        ([{"type": "riddle", "words": ["what", {"is": "it"}]}], [("prompt", 0, "what\nit")]),
    ],
)
def test_what_stands_in_the_users_place(content: object, expected: list[tuple[object, ...]]) -> None:
    assert passages(user(content)) == expected


def test_what_the_program_put_in_the_users_mouth_is_a_notice() -> None:
    assert passages(user("Base directory", isMeta=True)) == [("notice", 0, "Base directory")]
    assert passages(user("We made tea", isCompactSummary=True)) == [("summary", 0, "We made tea")]


def test_an_answer_has_a_passage_for_each_block_that_says_something() -> None:
    line = assistant(
        {"type": "thinking", "thinking": "Which pot?", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "text", "text": "This one."},
        call({"pot": "blue", "cups": 2, "degrees": 80.50, "lid": True, "who": None, "more": [{"a": "x"}, "y"]}),
        {"type": "text", "text": "  "},
    )
    assert passages(line) == [
        ("thinking", 0, "Which pot?"),
        ("answer", 3, "This one."),
        ("tool-input", 4, "blue\n2\n80.5\nx\ny"),
    ]


def test_numbers_are_searched_as_they_are_written() -> None:
    line = golden.entry_lines("number-forms")[-1]
    assert passages(line) == [("tool-input", 0, "8e1\n0.50")]


def test_base64_in_an_input_is_not_searched() -> None:
    assert passages(assistant(call({"image": "QUJD" * 200, "name": "x"}))) == [("tool-input", 0, "x")]
    assert passages(assistant(call({"text": "long enough, but words " * 50})))[0][0] == "tool-input"


def test_an_input_that_cannot_be_decoded_is_text() -> None:
    deep = b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"x","input":%s}]}}' % (
        b"[" * 5000 + b"]" * 5000
    )
    [found] = passages(deep)
    assert found[0] in ("tool-input", "notice")
    assert "[[[[" in str(found[2])


def test_errors_of_the_api_are_notices() -> None:
    line = assistant({"type": "text", "text": "API Error: overloaded"}, isApiErrorMessage=True)
    assert passages(line) == [("notice", 0, "API Error: overloaded", "error")]
    [found] = passages(golden.entry_lines("system-api-error-new")[0])
    assert found[0] == "notice"
    assert "529 overloaded" in str(found[2])
    assert found[-1] == "error"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("meta-custom-title", [("title", 0, "Tea")]),
        ("meta-ai-title", [("title", 0, "Make green tea")]),
        ("meta-summary", [("title", 0, "Steeping green tea")]),
        ("meta-agent-name", [("title", 0, "brewer")]),
        ("meta-last-prompt", []),
        ("meta-saved-hook-context", [("hook", 0, "be brief")]),
        ("progress-hook", []),
        ("system-turn-duration", []),
        ("system-informational", [("notice", 0, "Kettle is on")]),
        ("system-away-summary", [("notice", 0, "The tea was made.")]),
        ("system-stop-hook-summary", [("hook", 0, "lint.sh failed\nwash the cup\nnot hot yet", "error")]),
        ("block-compaction", [("summary", 0, "We spoke of tea.")]),
        ("block-mcp-tool-use", [("tool-input", 0, "80")]),
        ("block-mcp-tool-result", [("tool-output", 0, "boiled")]),
        ("block-web-search-result", [("tool-output", 0, "https://example.com\nTea\n2 days")]),
        ("block-web-fetch-error", [("tool-output", 0, "unavailable\nnot now", "error")]),
        ("block-advisor-redacted-result", []),
        ("journal-failed", [("notice", 0, "no clay", "error")]),
        ("journal-result", []),
        ("meta-queue-operation", [("prompt", 0, "and milk")]),
    ],
)
def test_golden_lines(name: str, expected: list[tuple[object, ...]]) -> None:
    line = golden.entry_lines(name)[0]
    if name == "journal-failed":
        line = line.replace(json.dumps(json.loads(line)["error"]).encode(), b'"no clay"')
    assert passages(line) == expected


def test_attachments_that_people_see() -> None:
    assert passages(attachment(type="queued_command", prompt="and milk")) == [("prompt", 0, "and milk")]
    assert passages(attachment(type="queued_command", prompt="<task-notification>x</task-notification>")) == [
        ("notice", 0, "<task-notification>x</task-notification>")
    ]
    assert passages(attachment(type="file", filename="/tea.md", content="Steep it.")) == [
        ("notice", 0, "/tea.md\nSteep it.")
    ]
    assert passages(attachment(type="date", date="2026-03-01")) == []
    assert passages(
        attachment(type="hook_success", hookName="Stop", stdout="ok", content="ok", toolUseID="t")
    ) == [("hook", 0, "Stop\nok")]
    [blocked] = passages(attachment(type="hook_blocking_error", blockingError={"blockingError": "tests first"}))
    assert blocked == ("hook", 0, "tests first", "error")
    assert passages(attachment(type="novelty", text="unheard of")) == [("notice", 0, "unheard of")]


def test_older_dialects_say_the_same() -> None:
    found = {name: passages(line) for name, line in golden.all_legacy_lines().items()}
    said = [each for several in found.values() for each in several]
    for expected in (
        ("prompt", 0, "Please draw me a teapot"),
        ("tool-input", 0, "/tea/pot.txt\nc[_]\n\n1e1"),
        ("thinking", 0, "Spout left or right?"),
        ("notice", 0, "No clay left", "error"),
        ("tool-output", 0, "Error: no paper", "error"),
        ("tool-output", 0, '{"degrees": 80}'),
        ("title", 0, "Hot water"),
        ("summary", 0, "A poem about tea was written."),
    ):
        assert expected in said


def test_the_stream_says_the_same_once() -> None:
    assert passages(golden.lines("stream/assistant")[0]) == [("answer", 0, "Hello.")]
    assert passages(golden.lines("stream/user")[0]) == [("prompt", 0, "Say hello.")]
    assert passages(golden.lines("stream/result-success")[0]) == []
    assert all(passages(line) == [] for line in golden.lines("stream/events"))


def test_unknown_and_broken_lines_stay_visible() -> None:
    assert passages({"type": "novelty", "text": "unheard of"}) == [("notice", 0, "unheard of")]
    assert passages(b'{"type":"user","message') == [("notice", 0, '{"type":"user","message')]


def search(payload: bytes) -> list[Passage]:
    """Return what is searched of what a hook was given."""
    return list_hook_passages(build_delivery("1-a", 1, payload))


def test_what_hooks_are_told() -> None:
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s-1",
        "transcript_path": "/x.jsonl",
        "tool_name": "Bash",
        "tool_input": {"command": "make tea"},
    }
    expected = [Passage(PassageKind.HOOK, 0, "PreToolUse\nBash\nmake tea")]
    assert search(json.dumps(payload).encode()) == expected
    assert list_passages(turnlog.decode(json.dumps(payload))) == expected
    payload["hook_event_name"] = "PostToolUseFailure"
    assert search(json.dumps(payload).encode())[0].is_error
    assert search(b"{torn") == [Passage(PassageKind.HOOK, 0, "{torn")]
    assert search(b"") == search(b"{}") == []
    damaged = b'{"hook_event_name":[],"message":"\xff"}'
    assert search(damaged) == [Passage(PassageKind.HOOK, 0, damaged.decode(errors="replace"))]
    assert search(b'{"hook_event_name":["Stop"]}') == [Passage(PassageKind.HOOK, 0, "Stop")]


@given(strategies.lines | st.binary(max_size=40))
def test_any_line_is_read(line: bytes) -> None:
    for found in (list_passages(turnlog.decode(line)), search(line)):
        assert [each.block for each in found] == sorted({each.block for each in found})
        assert all(each.text.strip() for each in found)


def assert_plain_reading_agrees(raw: bytes) -> set[str]:
    """Hold what six small types say of a line against what all types say; return what the six can tell."""
    line, plain = turnlog.decode(raw), read_plainly(raw)
    if plain is None:
        return set()
    branch = getattr(line.entry, "git_branch", None)
    assert plain.git_branch == (branch if isinstance(branch, str) else None)
    told = {each.kind.value: plain.find_text(each.kind, each.block) for each in list_passages(line)}
    for each in list_passages(line):
        assert plain.find_text(each.kind, each.block) in (None, each.text), raw
    return {kind for kind, text in told.items() if text is not None}


def test_six_small_types_say_what_all_types_say() -> None:
    paths = [path for path in golden.DATA.rglob("*.jsonl") if "answers" not in path.parts]
    lines = [raw for path in paths for raw in path.read_bytes().split(b"\n") if raw.strip()]
    told = {kind for raw in lines for kind in assert_plain_reading_agrees(raw)}
    assert told == {kind.value for kind in PassageKind}


@pytest.mark.parametrize(
    ("line", "kind", "expected"),
    [
        (user("said <command-name>/x</command-name>"), "prompt", None),
        (user([{"type": "tool_result", "content": [{"type": "document"}]}]), "tool-output", None),
        (user([{"type": "text", "text": 1}]), "prompt", None),
        (user([{"type": "text", "text": "said"}]), "thinking", None),
        (user([{"type": "text", "text": "said"}]), "prompt", "said"),
    ],
)
def test_what_six_small_types_cannot_tell_is_left_to_the_others(
    line: dict[str, Any], kind: str, expected: str | None
) -> None:
    plain = read_plainly(json.dumps({"sessionId": "s", **line}).encode())
    assert (None if plain is None else plain.find_text(kind, 0)) == expected


def test_real_lines_are_read(corpus: Path) -> None:
    """Of what stands in real files, most lines of the conversation say something; progress says nothing."""
    kinds: set[PassageKind] = set()
    for path in sorted((corpus / "sessions").rglob("*.jsonl"))[:40]:
        for line in read_lines(path):
            found = list_passages(line)
            kinds.update(each.kind for each in found)
            assert len({each.block for each in found}) == len(found)
            assert_plain_reading_agrees(line.raw)
    assert kinds >= set(PassageKind) - {PassageKind.TITLE, PassageKind.HOOK, PassageKind.SUMMARY}

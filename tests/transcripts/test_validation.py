"""Validation as a whole: examples of the specs, any lines, long files, real sessions."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
import turnlog
from turnlog.messages import Dialect, Line, Position
from turnlog.transcripts import read_lines
from turnlog.transcripts.validation.rules import RULES, Finding, Severity
from turnlog.transcripts.validation.validator import Validator, validate
from validation_cases.base import lines, tell
from validation_cases.spec_000 import call, old, result, today
from validation_cases.spec_003 import api, caller, doc, tool_result, tool_use
from validation_cases.spec_004 import image, new

RULE = {rule.id: rule for rule in RULES}


def told(raws: Iterable[Any]) -> list[str]:
    return [tell(finding) for finding in validate(lines(list(raws)))]


def test_spec_000_examples_are_clean() -> None:
    linear = [
        old("user", 1, message="Please help me write a script"),
        old("user", 2, isSidechain=True, userType="external", message="Look for improvements"),
        old("assistant", 3, isSidechain=True, subtype="response"),
        old("assistant", 4, subtype="response"),
        call(5),
        result(6),
        old("system", 7, subtype="error", isError=True, message="Error: no permission"),
        old("system", 8, subtype="meta", isMeta=True),
        old("compact_system", 9, message="conversation_compacting"),
        old(
            "compact_system",
            10,
            message="conversation_compacted",
            metadata={"preservedMessages": 15, "totalMessages": 150, "compressionRatio": 0.1},
        ),
    ]
    assert told(linear) == []


def test_spec_000_parallel_calls_are_clean() -> None:
    calls = [old("user", 1), call(2), call(3), call(4)]
    assert told([*calls, *(result(at, parentUuid=f"m-{at - 3}") for at in (5, 6, 7))]) == []


def test_spec_000_results_that_only_follow_each_other_are_noted() -> None:
    assert told([old("user", 1), call(2), call(3), call(4), result(5), result(6), result(7)]) == [
        "5 note 003-4-result-parent: Expected the call on line 2 as parent, which the result answers "
        "according to its order, found the call on line 4 - at $.parentUuid"
    ]


def test_spec_000_edited_prompts_are_clean() -> None:
    original = [old("user", 1), old("assistant", 2), old("user", 3), old("assistant", 4)]
    edited = [old("user", 5, parentUuid="m-2"), old("assistant", 6)]
    assert told(original + edited) == []


def test_spec_003_flow_is_clean() -> None:
    flow = [
        doc("user", "u-1", None),
        doc("assistant", "a-1", "u-1", model="claude-opus-4-1"),
        caller("a-2", "a-1"),
        tool_use("a-2_tool_0", "a-2"),
        tool_result("a-2_result_0", "a-2_tool_0"),
        doc("assistant", "a-3", "a-2"),
        caller("a-4", "a-3"),
        tool_use("a-4_tool_0", "a-4"),
        tool_result("a-4_result_0", "a-4_tool_0"),
        doc("user", "u-2", "a-4"),
    ]
    assert told(flow) == []


def test_spec_003_messages_of_the_api_are_clean() -> None:
    flow = [
        doc("user", "u-1", None, cost_usd=None),
        doc("assistant", "a-1", "u-1"),
        tool_use("a-1_tool_0", "a-1"),
        tool_result("a-1_result_0", "a-1_tool_0"),
    ]
    assert told(map(api, flow)) == []


def test_spec_003_answer_as_the_spec_spells_it_gets_notes_at_most() -> None:
    # Its third example has neither a session nor a time, and reads as one of today's lines.
    bare = {key: value for key, value in caller("a-1", "u-1").items() if key in ("type", "uuid", "parentUuid")}
    block = {"type": "tool_use", "id": "t-1", "name": "Read", "input": {"file_path": "/tea"}}
    flow = [
        doc("user", "u-1", None),
        {**bare, "message": {"content": [block]}},
        tool_use("a-1_tool_0", "a-1"),
        tool_result("a-1_result_0", "a-1_tool_0"),
    ]
    assert told(flow) == ["2 note 000-F1-required-fields: Expected `sessionId` and `timestamp`, found nothing"]


def test_spec_004_examples_are_clean() -> None:
    block = {"type": "tool_use", "id": "t-1", "name": "Task", "input": {"subagent_type": "x", "prompt": "y"}}
    answer = {"type": "tool_result", "tool_use_id": "t-1", "content": "done", "is_error": False}
    flow = [
        new("human", 1, "Create a script"),
        new("assistant", 2, [{"type": "text", "text": "I'll do that."}, block]),
        new("human", 3, "Analyze this", isSidechain=True, userType="external"),
        new("assistant", 4, "Found 3 issues", isSidechain=True),
        new("tool_result", 5, [answer]),
        new("human", 6, [{"type": "text", "text": "Like this?"}, image()]),
        new("compact_prelude", 7, "Earlier", parentUuid=None),
        new("compact_recap", 8, "In short"),
    ]
    assert told(flow) == []


def test_an_untouched_session_of_today_is_clean() -> None:
    block = {"type": "tool_use", "id": "t-1", "name": "Read", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t-1", "content": "tea"}
    session = [
        {"type": "summary", "summary": "Tea", "leafUuid": "elsewhere"},
        {"type": "file-history-snapshot", "messageId": "m-1", "snapshot": {}, "isSnapshotUpdate": False},
        today("user", 1),
        today("assistant", 2, message={"role": "assistant", "content": [block]}),
        today("user", 3, message={"role": "user", "content": [answer]}),
        today("assistant", 4),
    ]
    assert told(session) == []


def test_findings_say_where() -> None:
    at = Position("tea.jsonl", 120)
    [finding] = validate([turnlog.decode(json.dumps(today("user", 1, cwd=5)), at=at)])
    assert finding.rule is RULE["line-wrong-type"]
    assert (finding.index, finding.number, finding.at, finding.path) == (0, 1, at, "$.cwd")
    assert (finding.severity, finding.dialect) == (Severity.WARNING, Dialect.CLAUDE_CODE)


def test_values_of_the_data_are_cut_short_and_escaped() -> None:
    whole, cut, wild = "a" * 60, "b" * 61, "\x1b]0;tea\x07\u202e"
    parents = enumerate((whole, cut, wild), 2)
    found = validate(lines([old("user", number, parentUuid=parent) for number, parent in parents]))
    shown = [finding.message.split("`")[1] for finding in found]
    assert shown == [whole, "b" * 60 + "…", "\\x1b]0;tea\\x07\\u202e"]


def test_the_severity_of_a_rule_is_its_gravest() -> None:
    assert RULE["000-1-unique-uuid"].severity is Severity.ERROR
    assert RULE["003-5-tool-children"].severity is Severity.WARNING
    assert RULE["001-4.8-init-first"].severity is Severity.NOTE


def test_a_torn_tail_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "tea.jsonl"
    path.write_bytes(b'{"type":"mode","mode":"plan"}\n{"type":"mo')
    [finding] = validate(read_lines(path))
    assert tell(finding) == (
        "2 note line-torn: Expected the end of the line, found the end of the file after 11 bytes"
    )
    assert finding.at == Position(str(path), 30)


def test_what_a_line_breaks_by_itself_is_told_at_once() -> None:
    validator = Validator()
    broken, orphan = lines([{"type": "omen"}, old("user", 1, parentUuid="m-0")])
    assert [finding.rule.id for finding in validator.add(broken)] == ["line-unknown-type"]
    assert validator.add(orphan) == []
    assert [finding.rule.id for finding in validator.finish()] == ["000-3-parent-exists"]


def test_a_line_that_comes_later_is_blamed_where_it_is_wrong() -> None:
    validator = Validator()
    child, parent = lines([old("user", 2), old("user", 1, isSidechain=True)])
    assert validator.add(child) == []
    [finding] = validator.add(parent)
    assert (finding.rule.id, finding.index) == ("000-6-sidechain", 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))
def test_rules_have_all_that_the_table_shows(rule: Any) -> None:
    assert rule.title
    assert rule.why.endswith(".")
    assert rule.severities
    assert rule.severity is rule.find_severity(next(d for d, s in rule.severities if s is rule.severity))
    assert rule.dialects == {dialect for dialect, _ in rule.severities}
    assert bool(rule.section) == bool(rule.spec) == rule.id.startswith(f"{rule.spec}-")


def test_rule_ids_are_unique() -> None:
    assert len(RULE) == len(RULES)


def test_every_numbered_rule_of_the_specs_is_in_the_table() -> None:
    numbers = {"000": "123456", "003": "12345", "004": "1234567"}
    for spec, expected in numbers.items():
        found = [rule.id.split("-")[1] for rule in RULES if rule.spec == spec]
        assert [number for number in found if number.isdigit()] == list(expected)
    assert [rule.id.split("-")[1] for rule in RULES if rule.id.startswith("003-C")] == ["C1", "C2", "C3", "C4"]


def test_every_section_of_spec_001_is_in_the_table() -> None:
    sections = {rule.id.split("-")[1] for rule in RULES if rule.spec == "001"}
    assert sections >= {"3", *(f"4.{n}" for n in range(1, 17)), "5.1", "5.2", "6.1", "6.2", "6.3", "7.2"}


def test_broken_rules_of_a_spec_are_errors_in_its_own_dialect_where_it_says_must() -> None:
    own = {"000": Dialect.SPEC_000, "003": Dialect.SPEC_003_DOCUMENT, "004": Dialect.SPEC_004}
    for rule in RULES:
        if rule.spec in own and rule.id.split("-")[1].isdigit() and rule.id != "003-5-tool-children":
            assert rule.find_severity(own[rule.spec]) is Severity.ERROR


def test_nothing_but_a_broken_line_is_an_error_in_files_of_today() -> None:
    errors = [rule.id for rule in RULES if rule.find_severity(Dialect.CLAUDE_CODE) is Severity.ERROR]
    assert errors == ["line-malformed", "line-missing-type", "000-4-structure"]


any_lines = st.lists(st.one_of(strategies.lines, strategies.damaged()), max_size=3)
names = st.sampled_from(["a", "b", "c", "a_tool_0", "a_result_0"])
tangled = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "tool_use", "tool_result", "human", "system"]),
        "uuid": names,
        "parentUuid": st.one_of(st.none(), names),
    },
    optional={
        "sessionId": st.sampled_from(["s", "t"]),
        "timestamp": st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-01T00:00:00Z", 5]),
        "isSidechain": st.booleans(),
        "content": st.just("tea"),
        "toolName": st.just("Read"),
        "subtype": st.sampled_from(["tool_use", "tool_result", "error"]),
        "message": st.sampled_from(
            [
                "tea",
                {"content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
                {"content": [{"type": "tool_result", "tool_use_id": "t"}]},
            ]
        ),
    },
)
tangles = st.lists(strategies.json_lines(tangled), max_size=10)


@given(st.one_of(any_lines, tangles))
def test_any_lines_can_be_validated(raws: list[bytes]) -> None:
    decoded = [turnlog.decode(raw) for raw in raws]
    findings = validate(decoded)
    counts = Counter(finding.index for finding in findings)
    assert all(counts[index] >= len(line.problems) for index, line in enumerate(decoded))
    for finding in findings:
        assert finding.message.isprintable()
        assert len(finding.message) < 1000
        assert finding.severity is finding.rule.find_severity(decoded[finding.index].dialect)
    assert findings == validate(decoded)
    assert [finding.index for finding in findings] == sorted(finding.index for finding in findings)


@given(st.one_of(any_lines, tangles))
def test_line_by_line_finds_the_same_as_at_once(raws: list[bytes]) -> None:
    decoded = [turnlog.decode(raw) for raw in raws]
    validator = Validator()
    found: list[Finding] = []
    for index, line in enumerate(decoded):
        new_ones = validator.add(line)
        assert all(finding.index <= index for finding in new_ones)
        found += new_ones
    found += validator.finish()
    assert Counter(map(tell, found)) == Counter(map(tell, validate(decoded)))


LENGTH = 100_000


LINE = (
    b'{"parentUuid":%s,"sessionId":"s","type":"user","message":{"content":"tea"},"uuid":"%d","timestamp":"%s"}'
)


def chain(order: Iterable[int], first_parent: bytes) -> Iterable[Line]:
    for number in order:
        parent = first_parent if number == 1 else b'"%d"' % (number - 1)
        yield turnlog.decode(LINE % (parent, number, b"2026-01-02T03:04:05Z"))


def test_a_long_chain_is_no_problem() -> None:
    assert validate(chain(range(LENGTH, 0, -1), b"null")) == []


def test_a_long_circle_is_found_once() -> None:
    [finding] = validate(chain(range(1, LENGTH + 1), b'"%d"' % LENGTH))
    assert (finding.rule.id, finding.index) == ("003-C1-no-cycles", 0)


def test_bodies_are_not_kept() -> None:
    validator = Validator()
    tracemalloc.start()
    try:
        for number in range(1, 200):
            block = {"type": "tool_use", "id": f"t-{number}", "name": "Write", "input": {"tea": "x" * 50_000}}
            content = [
                block,
                {"type": "tool_result", "tool_use_id": f"t-{number - 1}", "content": "y" * 50_000},
            ]
            validator.add(turnlog.decode(json.dumps(today("assistant", 1, message={"content": content}))))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2_000_000


def test_real_sessions_are_not_drowned_in_alarms(corpus: Path) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for path in sorted((corpus / "sessions").rglob("*")):
        if path.suffix in (".jsonl", ".json"):
            read = list(read_lines(path))
            total += len(read)
            counts.update((finding.severity, finding.rule.id) for finding in validate(read))
    # Reviewed: the malformed lines are comments that somebody put into three files, the picture that is none is
    # made up, too. All else is what real files do, and none of it is more than a note.
    assert dict(counts) == {
        ("error", "line-malformed"): 6,
        ("warning", "004-7-image-encoding"): 1,
        ("note", "000-3-parent-exists"): 53,
        ("note", "003-2-parent-in-session"): 2,
        ("note", "003-C3-paired"): 15,
        ("note", "003-C4-chronology"): 100,
        ("note", "004-4-tool-correlation"): 21,
    }
    assert total == 15_470


@pytest.mark.parametrize("channel", ["stream", "hooks"])
def test_what_the_program_sends_breaks_no_must(corpus: Path, channel: str) -> None:
    for path in sorted((corpus / channel).rglob("*")):
        if path.suffix in (".jsonl", ".json"):
            found = {f.rule.id for f in validate(read_lines(path)) if f.severity is Severity.ERROR}
            # Two files are logs that other programs wrote, with objects of their own in them.
            assert found <= {"line-malformed", "line-missing-type"}, path

"""Correcting stored tool messages: what changes, what stays, and what is said about it."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from golden import DATA
from stored_documents import NAMES, call_block, call_text, document, golden, joined, migrated, result_block
from turnlog.transcripts.call_builder import build_calls
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.migration import Correction, CorrectionKind, LeftReason, Migration, plan_migration

CALL, RESULT, FLAG = CorrectionKind.CALL_PARENT, CorrectionKind.RESULT_PARENT, CorrectionKind.SIDECHAIN


def pairs(data: bytes) -> set[tuple[str | None, str | None]]:
    """Return the calls and results that a reader puts together."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in")
        source.write_bytes(data)
        calls = build_calls(read_lines(source)).calls
    found = [(call, result) for call in calls for result in (call.result, *call.other_results) if result]
    return {(call.extracted_id, result.extracted_id) for call, result in found}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_the_wrong_values_changes(name: str) -> None:
    assert migrated(golden(name, "before").read_bytes())[0] == golden(name, "after").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_migrating_again_changes_nothing(name: str) -> None:
    after = golden(name, "after").read_bytes()
    again, report = migrated(after)

    assert again == after
    assert report.corrections == ()


@pytest.mark.parametrize("name", NAMES)
def test_readers_accept_both_structures(name: str) -> None:
    before, after = (pairs(golden(name, state).read_bytes()) for state in ("before", "after"))

    assert before <= after
    if name not in ("left", "ids-in-messages"):  # where the right parents tell more than readers knew
        assert before == after


@pytest.mark.parametrize(
    ("name", "documents", "tool_messages", "right", "counts"),
    [
        ("api", 3, (1, 1), 0, {CALL: 1, RESULT: 1, FLAG: 2}),
        ("array", 3, (1, 1), 0, {CALL: 1, RESULT: 1}),
        ("broken", 3, (1, 1), 0, {CALL: 1, RESULT: 1}),
        ("ids-in-messages", 10, (3, 3), 1, {CALL: 2, RESULT: 3}),
        ("left", 12, (5, 4), 2, {RESULT: 1, FLAG: 1}),
        ("line-endings", 3, (1, 1), 0, {CALL: 1, RESULT: 1}),
        ("mongoexport", 6, (2, 2), 0, {CALL: 2, RESULT: 2, FLAG: 1}),
        ("pretty", 3, (1, 1), 0, {CALL: 1, RESULT: 1, FLAG: 2}),
        ("right", 8, (2, 3), 5, {}),
        ("siblings", 7, (1, 1), 0, {CALL: 1, RESULT: 1, FLAG: 2}),
    ],
)
def test_the_report_counts(
    name: str, documents: int, tool_messages: tuple[int, int], right: int, counts: dict[CorrectionKind, int]
) -> None:
    report = plan_migration(golden(name, "before"))

    assert report.documents == documents
    assert (report.tool_uses, report.tool_results) == tool_messages
    assert report.right == right
    assert report.count_corrections() == counts
    assert report.changed == len(report.corrections)


def test_each_correction_says_what_where_and_from_which_parent() -> None:
    path = golden("siblings", "before")
    data, report = path.read_bytes(), plan_migration(path)
    second = report.corrections[1]

    assert second == Correction(
        at=turnlog.Position(str(path), data.index(b'{ "isSidechain"')),
        size=len(data.split(b"\n")[4]),
        uuid="a-2_result_0",
        kinds=(RESULT, FLAG),
        old_parent="a-1",
        parent="a-2_tool_0",
    )


def test_what_is_left_is_listed_with_its_reason_and_place() -> None:
    path = golden("left", "before")
    data, report = path.read_bytes(), plan_migration(path)

    assert [(leftover.uuid, leftover.reason) for leftover in report.left] == [
        ("gone_tool_0", LeftReason.CONTAINER_MISSING),
        ("a-1_tool_0", LeftReason.CONTAINER_MISSING),
        ("u-2_result_0", LeftReason.CALL_MISSING),
        ("u-3_result_0", LeftReason.AMBIGUOUS),
        ("a-2_result_1", LeftReason.CALL_MISSING),
        ("a-3_tool_0", LeftReason.CIRCLE),
    ]
    assert report.count_left() == {
        LeftReason.CONTAINER_MISSING: 2,
        LeftReason.CALL_MISSING: 2,
        LeftReason.AMBIGUOUS: 1,
        LeftReason.CIRCLE: 1,
    }
    for leftover in report.left:
        at = leftover.at
        assert turnlog.decode(data[at.offset :].split(b"\n")[0]).entry.uuid == leftover.uuid  # type: ignore[union-attr]
        assert at.source == str(path)


def test_broken_and_torn_lines_are_left_where_they_are() -> None:
    path = golden("broken", "before")
    data, report = path.read_bytes(), plan_migration(path)
    second = data.index(b"\n") + 1

    assert [(leftover.at.offset, leftover.reason) for leftover in report.left] == [
        (second, LeftReason.BROKEN),
        (data.index(b"2025-"), LeftReason.BROKEN),
        (data.index(b"exported"), LeftReason.BROKEN),
        (data.rindex(b"\n") + 1, LeftReason.TORN),
    ]


def test_what_is_left_is_in_the_order_of_the_file() -> None:
    lost = joined([document("tool_result", "r-1", "u-1")])
    _, report = migrated(b"broken\n" + lost + b"broken\n" + lost + b"torn")

    assert [each.reason.value for each in report.left] == [
        "broken",
        "call-missing",
        "broken",
        "call-missing",
        "torn",
    ]


def test_only_stored_tool_messages_are_ever_corrected(tmp_path: Path) -> None:
    folders = [
        path for path in (DATA / "entries", DATA / "stream", DATA / "transcripts" / "tools") if path.is_dir()
    ]
    files = [file for folder in folders for file in folder.glob("*.jsonl") if "spec-003" not in file.name]
    files += [DATA / "legacy" / f"spec-{number}.jsonl" for number in ("000", "004")]
    source = tmp_path / "in.jsonl"
    source.write_bytes(b"".join(file.read_bytes() for file in files))
    report = plan_migration(source)

    assert report.documents > 300
    assert (report.tool_uses, report.tool_results, report.corrections) == (0, 0, ())


@pytest.mark.parametrize("data", [b"", b"\n", b"[]", b"[\n]\n", b"\xef\xbb\xbf", b"not a document\n"])
def test_files_without_documents_are_copied(data: bytes) -> None:
    after, report = migrated(data)

    assert after == data
    assert (report.documents, report.corrections) == (0, ())


UUIDS = ["x", "y", "x_tool_0", "x_tool_1", "y_tool_0", "x_result_0", "x_result_1", "y_result_0", "r"]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Documents that name each other in every way, as lines or as an array, and broken lines among them."""
    identities = st.sampled_from(["c-1", "c-2"])
    calls = st.builds(call_block, identities)
    results = st.builds(result_block, identities)
    blocks = st.lists(st.one_of(calls, results, st.just({"type": "text", "text": "t"})), max_size=3)
    contents = st.one_of(
        st.just(call_text()),
        st.builds(lambda identity: call_text(id=identity), identities),
        st.builds(lambda identity: json.dumps(result_block(identity)), identities),
        blocks,
        st.none(),
    )
    documents = st.fixed_dictionaries(
        {"type": st.sampled_from(["assistant", "user", "tool_use", "tool_result", "tool_use", "tool_result"])},
        optional={
            "_id": st.just({"$oid": "65f1"}),
            "uuid": st.sampled_from(UUIDS),
            "parentUuid": st.one_of(st.none(), st.sampled_from(UUIDS)),
            "sessionId": st.sampled_from(["s-1", "s-2"]),
            "isSidechain": st.one_of(st.booleans(), st.none()),
            "content": contents,
            "messageData": st.builds(lambda content: {"content": content}, blocks),
            "timestamp": st.just({"$date": {"$numberLong": "1738573202000"}}),
            "extra": st.sampled_from([1e5, [{"parentUuid": "x"}]]),
        },
    )
    dumped = st.builds(
        lambda each, indent: json.dumps(each, indent=indent).encode(),
        documents,
        st.sampled_from([None, 1, "\t"]),
    )
    if draw(st.booleans()):
        return (
            b"[" + b",\n".join(draw(st.lists(dumped, max_size=9))) + draw(st.sampled_from([b"]", b"]\n", b""]))
        )
    broken = st.sampled_from(
        [b"", b"\0", b"no document", b'{"type":"tool_use",', b"\x80{}", b'{"type":"new"}{}']
    )
    lines = draw(st.lists(st.one_of(dumped, dumped, dumped, broken), max_size=9))
    ending = draw(st.sampled_from([b"\n", b"\r\n"]))
    return ending.join(lines) + draw(st.sampled_from([b"", ending]))


@given(files())
def test_any_file_is_migrated_once_and_keeps_all_but_its_wrong_values(data: bytes) -> None:
    once, first = migrated(data)
    again, second = migrated(once)

    assert again == once
    assert second.corrections == ()
    assert [(each.uuid, each.reason) for each in second.left] == [
        (each.uuid, each.reason) for each in first.left
    ]
    assert undone(once, data, first) == data


def undone(after: bytes, before: bytes, report: Migration) -> bytes:
    """Put the documents that were corrected back, after a look at how they differ."""
    pieces: list[bytes] = []
    read = at = 0
    for correction in report.corrections:
        start, end = correction.at.offset, correction.at.offset + correction.size
        pieces.append(after[at : at + start - read])
        at += start - read
        text = after[at:].decode("utf-8", "surrogateescape")
        new, length = json.JSONDecoder().raw_decode(text)
        changes = {"isSidechain": True} | (
            {} if correction.parent is None else {"parentUuid": correction.parent}
        )
        assert new == json.loads(before[start:end]) | changes
        pieces.append(before[start:end])
        read, at = end, at + len(text[:length].encode("utf-8", "surrogateescape"))
    return b"".join([*pieces, after[at:]])


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A session whose documents were stored with wrong parents, and the right ones."""
    told: list[dict[str, Any]] = []
    right: dict[str, str] = {}
    before = "u-0"
    for number in range(draw(st.integers(1, 3))):
        uuid, answer = f"a-{number}", f"u-{number + 1}"
        count = draw(st.integers(1, 3))
        identities = [f"c-{number}-{index}" for index in range(count)]
        by_assistant, with_ids = draw(st.booleans()), draw(st.booleans())
        blocks = [call_block(identity) for identity in identities]
        told.append(document("assistant", uuid, before, messageData={"content": blocks}))
        results = [result_block(identity) for identity in identities]
        told.append(document("user", answer, uuid, messageData={"content": results}))
        for index, identity in enumerate(identities):
            call = f"{uuid}_tool_{index}"
            result = f"{uuid if by_assistant else answer}_result_{index}"
            text = call_text(id=identity) if with_ids else call_text()
            flags = st.sampled_from([True, False, None])
            wrong = draw(st.sampled_from([before, uuid, None]))
            told.append(document("tool_use", call, wrong, content=text, isSidechain=draw(flags)))
            wrong = draw(st.sampled_from([before, uuid, call, None]))
            told.append(document("tool_result", result, wrong, content="80", isSidechain=draw(flags)))
            right |= {call: uuid, result: call}
        before = answer
    return told, right


@given(sessions(), st.randoms(use_true_random=False))
def test_every_tool_message_of_a_whole_session_gets_its_right_parent(
    session: tuple[list[dict[str, Any]], dict[str, str]], chance: random.Random
) -> None:
    documents, right = session
    chance.shuffle(documents)
    after, report = migrated(joined(documents))
    members = [json.loads(line) for line in after.splitlines()]
    tools = {each["uuid"]: each for each in members if each["type"].startswith("tool_")}

    assert report.left == ()
    assert {uuid: each["parentUuid"] for uuid, each in tools.items()} == right
    assert all(each["isSidechain"] is True for each in tools.values())


@given(sessions())
def test_readers_pair_the_same_calls_and_results_before_and_after(
    session: tuple[list[dict[str, Any]], dict[str, str]],
) -> None:
    data = joined(session[0])

    assert pairs(data) == pairs(migrated(data)[0])

"""Spec 000, parallel tools: a result answers the call that is its parent; where parents tell nothing, the n-th
result after n calls answers the n-th. Growing sessions, the archive and the API say the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from server_app import serving
from turnlog.ingest.pipeline import sync
from turnlog.messages import Line, Position
from turnlog.store.opening import open_store
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.session_files import locate_path
from turnlog.transcripts.validation.validator import validate

SIBLINGS, CHAINED = ("u", "u", "u"), ("u", "t0", "t1")
"""The parents of parallel calls: all follow the prompt, or each the one before it."""
FORMS = pytest.mark.parametrize("parents", [SIBLINGS, CHAINED], ids=["siblings", "chained"])
Record = dict[str, Any]


def record(kind: str, uuid: str, parent: str | None, **more: Any) -> Record:
    named = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s-000"}
    return named | {"timestamp": "2025-01-27T10:00:00Z"} | more


def calls(parents: Sequence[str]) -> list[Record]:
    more = {"subtype": "tool_use", "toolName": "Read", "toolArguments": {}}
    return [record("assistant", f"t{at}", parent, **more) for at, parent in enumerate(parents)]


def result(uuid: str, parent: str | None) -> Record:
    return record("system", uuid, parent, subtype="tool_result", message=f"text of {uuid}")


def decode(records: Sequence[Record]) -> list[Line]:
    return [turnlog.decode(json.dumps(each), at=Position("file", at)) for at, each in enumerate(records)]


def pair(records: Sequence[Record]) -> dict[str | None, str | None]:
    """Return which result each call has, line by line and at once."""
    lines = decode(records)
    grown, whole = Conversation([]), Conversation(lines)
    for line in lines:
        _ = grown.live_tree
        grown.extend([line])
    assert grown.calls == whole.calls
    assert [message.lines for message in grown.messages] == [message.lines for message in whole.messages]
    return {call.place.uuid: call.result.place.uuid if call.result else None for call in whole.calls}


@FORMS
def test_results_out_of_order_go_to_the_calls_that_are_their_parents(parents: Sequence[str]) -> None:
    assert pair([*calls(parents[:2]), result("r1", "t1"), result("r0", "t0")]) == {"t0": "r0", "t1": "r1"}
    three = [*calls(parents), result("r2", "t2"), result("r0", "t0"), result("r1", "t1")]
    assert pair(three) == {"t0": "r0", "t1": "r1", "t2": "r2"}


@FORMS
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_result_alone_answers_its_parent_and_leaves_the_other_calls_open(
    parents: Sequence[str], at: int
) -> None:
    assert pair([*calls(parents), result("r", f"t{at}")]) == {
        f"t{each}": "r" if each == at else None for each in range(3)
    }


@FORMS
def test_in_a_chain_of_results_the_order_decides(parents: Sequence[str]) -> None:
    chain = [*calls(parents), result("r0", "t2"), result("r1", "r0"), result("r2", "r1")]
    assert pair(chain) == {"t0": "r0", "t1": "r1", "t2": "r2"}
    assert pair(chain[:-1]) == {"t0": "r0", "t1": "r1", "t2": None}


def test_a_chain_may_lead_through_other_lines() -> None:
    chain = [
        *calls(CHAINED[:2]),
        result("r0", "t1"),
        record("system", "i", "r0", message="Still at it"),
        result("r1", "i"),
    ]
    assert pair(chain) == {"t0": "r0", "t1": "r1"}


@FORMS
@pytest.mark.parametrize("parent", ["t2", "u", None])
def test_where_all_results_have_the_same_parent_or_none_the_order_decides(
    parents: Sequence[str], parent: str | None
) -> None:
    results = [result(f"r{at}", parent) for at in range(3)]
    assert pair([*calls(parents), *results]) == {"t0": "r0", "t1": "r1", "t2": "r2"}


def test_a_result_that_names_its_call_takes_it_from_one_that_was_given_it_by_order() -> None:
    assert pair([*calls(CHAINED[:2]), result("lost", None), result("r0", "t0")]) == {"t0": "r0", "t1": "lost"}


def test_a_late_result_under_a_call_of_before_is_not_given_to_the_calls_of_now() -> None:
    later = record("assistant", "t9", "r1", subtype="tool_use", toolName="Read", toolArguments={})
    late = [*calls(CHAINED[:2]), result("r1", "t1"), later, result("r0", "t0")]
    assert pair(late) == {"t0": "r0", "t1": "r1", "t9": None}
    surplus = [*calls(CHAINED[:1]), result("r0", "t0"), later, result("again", "t0")]
    assert pair(surplus) == {"t0": "r0", "t9": None}


def test_an_error_under_a_call_counts_as_its_result_among_others() -> None:
    failed = record("system", "e", "t1", subtype="error", isError=True, message="No such file")
    assert pair([*calls(SIBLINGS[:2]), failed, result("r0", "t0")]) == {"t0": "r0", "t1": "e"}


@st.composite
def some_records(draw: st.DrawFn) -> list[Record]:
    """Calls, results, errors and other lines of few names, in any order, some of them twice."""
    uuids = st.sampled_from([f"x{number}" for number in range(8)])
    kinds: tuple[tuple[str, Record], ...] = (
        ("assistant", {"subtype": "tool_use", "toolName": "Read", "toolArguments": {}}),
        ("system", {"subtype": "tool_result", "message": "done"}),
        ("system", {"subtype": "error", "message": "no", "isError": True}),
        ("system", {"message": "hm"}),
    )
    picked = st.tuples(st.sampled_from((*kinds, *kinds[:2])), uuids, uuids | st.none())
    return [
        record(kind, uuid, parent, **more) for (kind, more), uuid, parent in draw(st.lists(picked, max_size=12))
    ]


@given(some_records())
def test_whatever_comes_it_is_the_same_line_by_line_as_at_once_and_no_result_is_lost(
    records: list[Record],
) -> None:
    pair(records)
    conversation = Conversation(decode(records))
    taken = [
        each for call in conversation.calls for each in (call.result, *call.other_results) if each is not None
    ]
    places = [id(each.place.line) for each in (*taken, *conversation.orphans)]
    assert len(set(places)) == len(places)
    assert sum(each.get("subtype") == "tool_result" for each in records) <= len(places)


def test_validate_says_where_the_order_decides_against_the_parent() -> None:
    start = [record("user", "u", None, message="Go on"), *calls(CHAINED[:2])]
    named = [*start, result("r1", "t1"), result("r0", "t0")]
    chain = [*start, result("r0", "t1"), result("r1", "r0")]

    assert validate(decode(named)) == []
    assert [(each.index, each.severity.value, each.message) for each in validate(decode(chain))] == [
        (
            3,
            "note",
            "Expected the call on line 2 as parent, which the result answers according to its order, "
            "found the call on line 3 - at $.parentUuid",
        )
    ]


def test_the_archive_and_the_api_say_the_same_of_a_session_that_grows(tmp_path: Path) -> None:
    start = [record("user", "u", None, message="Go on"), *calls(CHAINED[:2])]
    folder, place = tmp_path / "claude" / "projects" / "-p", tmp_path / "turnlog.db"
    folder.mkdir(parents=True)
    sessions = {
        "named": [*start, result("r1", "t1"), result("r0", "t0")],
        "chained": [*start, result("r0", "t1"), result("r1", "r0")],
        "alone": [*start, result("r1", "t1")],
    }
    with closing(open_store(place)) as store:
        for length in range(1, 6):
            for name, records in sessions.items():
                lines = [json.dumps(each | {"sessionId": name}) + "\n" for each in records[:length]]
                (folder / f"{name}.jsonl").write_text("".join(lines))
            sync(store, place, locate_path(folder).sessions, origin="here")
        with serving(tmp_path / "home", store=store) as api:
            for name, records in sessions.items():
                told = api.get(f"/api/sessions/{name}/calls?bodies=true").json["items"]
                shown = {each["uuid"]: each["result"] and each["result"]["text"] for each in told}
                texts = {
                    f"{uuid}_tool_0": found and f"text of {found}" for uuid, found in pair(records).items()
                }
                assert shown == texts

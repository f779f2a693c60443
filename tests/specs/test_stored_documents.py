"""Spec 003: a session as documents. What is exported is valid, and what was stored comes out as it went in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import turnlog
from command_line import invoke
from golden import DATA
from server_app import Served, serving
from turnlog.export.formats import Format, render_session
from turnlog.ingest.pipeline import sync
from turnlog.store.opening import open_store
from turnlog.transcripts import (
    build_calls,
    extract,
    list_dumped,
    locate_sessions,
    map_parents,
    read_lines,
    validate,
)
from turnlog.transcripts.queries.memory import query
from turnlog.transcripts.validation.rules import Severity

TRANSCRIPTS = sorted(path for path in (DATA / "transcripts").rglob("*.json*") if ".meta." not in path.name)
MOST_OF_CORPUS = 1 << 20
"""Bytes; of longer files enough is seen elsewhere."""


def document(kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    time = f"2025-08-05T10:00:{int(more.pop('second', 0)):02d}.000Z"
    said = {"uuid": uuid, "parentUuid": parent, "sessionId": "session-xyz", "type": kind, "timestamp": time}
    return {**said, **({"isSidechain": True} if kind.startswith("tool_") else {}), **more}


def call_block(id: str, name: str, **given: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def flow() -> list[dict[str, Any]]:
    """Spec 003, "Tool Operation Flow", as it is drawn there."""
    read = {"type": "tool_use", "name": "Read", "input": {"file_path": "/path/to/config.json"}}
    held = {"content": [{**read, "id": "tool-call-001"}]}
    return [
        {"type": "user", "uuid": "user-msg-123", "parentUuid": "previous-assistant-msg", "content": "Can you?"},
        {
            "type": "assistant",
            "uuid": "assistant-msg-456",
            "parentUuid": "user-msg-123",
            "content": "I'll read the config.json file for you.",
            "model": "claude-opus-4-1-20250805",
        },
        {
            "type": "assistant",
            "uuid": "assistant-msg-789",
            "parentUuid": "assistant-msg-456",
            "message": held,
        },
        {
            "type": "tool_use",
            "uuid": "assistant-msg-789_tool_0",
            "parentUuid": "assistant-msg-789",
            "sessionId": "session-xyz",
            "content": json.dumps(read),
            "isSidechain": True,
        },
        {
            "type": "tool_result",
            "uuid": "assistant-msg-789_result_0",
            "parentUuid": "assistant-msg-789_tool_0",
            "sessionId": "session-xyz",
            "content": '{"port": 3000}',
            "isSidechain": True,
        },
        {
            "type": "assistant",
            "uuid": "assistant-msg-101",
            "parentUuid": "assistant-msg-789",
            "content": "It has a port.",
        },
    ]


STEPS = [("Glob", "*.test.js"), ("Read", "test1.js"), ("Edit", "test1.js"), ("Read", "test2.js")]


def chain(*, stored: bool) -> list[dict[str, Any]]:
    """Spec 003, example 3: as documents with the calls taken out, or as lines that hold them."""
    found = [
        document("user", "u", None, content="Update all test files"),
        document("assistant", "a", "u", content="I'll update the test files"),
    ]
    above = "a"
    for number, (name, path) in enumerate(STEPS):
        uuid, second = f"a{number}", number + 1
        block = call_block(f"call-{number}", name, file_path=path)
        if stored:
            data = {"role": "assistant", "content": [{"type": "text", "text": f"Now {name}."}, block]}
            found += [
                document("assistant", uuid, above, second=second, content=f"Now {name}.", messageData=data),
                document("tool_use", f"{uuid}_tool_1", uuid, second=second, content=json.dumps(block)),
                document("tool_result", f"{uuid}_result_1", f"{uuid}_tool_1", second=second, content="Success"),
            ]
        else:
            result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": "Success"}
            text = {"type": "text", "text": f"Now {name}."}
            found += [
                document("assistant", uuid, above, second=second, message={"content": [text, block]}),
                document("user", f"r{number}", uuid, second=second, message={"content": [result]}),
            ]
        above = uuid if stored else f"r{number}"
    return [*found, document("assistant", "z", above, second=20, content="All test files have been updated")]


def write(path: Path, documents: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


def export(path: Path, *, camel: bool = True, session: str | None = None) -> list[dict[str, Any]]:
    read = turnlog.read(path, session=session)
    pieces = render_session(query(read), read.summary, Format.JSON, camel=camel)
    found: list[dict[str, Any]] = json.loads(b"".join(pieces))
    return found


def infer_state(documents: list[dict[str, Any]], folder: Path) -> list[str]:
    """Return the errors and warnings that `validate` finds."""
    path = folder / "exported.json"
    path.write_text(json.dumps(documents))
    findings = validate(read_lines(path))
    return [f"{each.severity} {each.message}" for each in findings if each.severity is not Severity.NOTE]


@pytest.mark.parametrize("camel", [True, False])
@pytest.mark.parametrize(
    "documents", [flow(), chain(stored=True), chain(stored=False)], ids=["flow", "stored", "lines"]
)
def test_the_examples_of_the_spec_are_valid_when_they_are_exported(
    tmp_path: Path, documents: list[dict[str, Any]], camel: bool
) -> None:
    found = export(write(tmp_path / "session-xyz.jsonl", documents), camel=camel)
    assert infer_state(found, tmp_path) == []
    ids = [each["_id"] for each in found]
    assert len(ids) == len(set(ids))


def test_the_commands_for_that_say_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "session-xyz.jsonl", chain(stored=True))
    target = tmp_path / "documents.json"
    assert invoke("export", path, "--format", "json", "--output", target).exit_code == 0
    judged = invoke("validate", target, "--json")
    assert judged.exit_code == 0, judged.output
    assert '"error"' not in judged.output
    assert '"warning"' not in judged.output


def test_a_message_that_holds_calls_is_an_assistants_with_its_text(tmp_path: Path) -> None:
    for stored in (True, False):
        found = {each["uuid"]: each for each in export(write(tmp_path / "s.jsonl", chain(stored=stored)))}
        assert (found["a0"]["type"], found["a0"]["content"]) == ("assistant", "Now Glob.")
        assert found["a0"]["isSidechain"] is True
    flowing = {each["uuid"]: each for each in export(write(tmp_path / "s.jsonl", flow()))}
    assert flowing["assistant-msg-789"]["type"] == "assistant"


def test_a_result_is_named_after_its_call(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", chain(stored=False))
    found = {each["uuid"]: each for each in export(path)}
    assert found["a2_result_1"]["parentUuid"] == "a2_tool_1"
    assert not [uuid for uuid in found if uuid.startswith("r")]
    lines = [*read_lines(path)]
    calls = build_calls(lines).calls
    parents = map_parents(calls)
    names = [each.uuid for line in lines for each in extract(line, parents) if each.type == "tool_result"]
    assert names == [call.result_id for call in calls] == [f"a{number}_result_1" for number in range(4)]


def test_a_result_without_a_call_is_named_after_its_own_line(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "elsewhere", "content": "80"}
    path = write(tmp_path / "s.jsonl", [document("user", "r", None, message={"content": [result]})])
    [taken] = [each for line in read_lines(path) for each in extract(line)]
    assert taken.uuid == "r_result_0"
    [alone] = export(path)
    assert (alone["uuid"], alone["type"], alone["messageData"]["content"]) == ("r", "user", [result])


STORED = document(
    "assistant",
    "a",
    "u",
    second=2,
    _id={"$oid": "66b0a0000000000000000001"},
    content="80 degrees.",
    model="claude-opus-4-1",
    costUsd=0.25,
    usage={"inputTokens": 100, "outputTokens": 7, "cacheReadInputTokens": 3, "serviceLevel": "best"},
    createdAt="2025-08-06T00:00:00Z",
    isSidechain=False,
    messageData={"role": "assistant", "content": [{"type": "text", "text": "80 degrees."}], "odd": [1]},
    cwd="/tea",
    gitBranch="main",
    tenant={"name": "kettle", "big": 12345678901234567890},
)


def test_a_stored_document_comes_out_with_all_that_it_has(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [document("user", "u", None, content="How hot?", rank=1e5), STORED])
    user, found = export(path)
    assert user["rank"] == 1e5
    assert found == {**STORED, "_id": "a"}
    assert infer_state([user, found], tmp_path) == []


def test_the_names_of_the_api_are_snake_case_and_come_back(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [document("user", "u", None, content="How hot?"), STORED])
    found = export(path, camel=False)
    assert found[1]["_id"] == "a"
    assert (found[1]["cost_usd"], found[1]["created_at"]) == (0.25, "2025-08-06T00:00:00Z")
    assert found[1]["usage"]["input_tokens"] == 100
    assert found[1]["parent_uuid_alias"] == found[1]["parent_uuid"] == "u"
    again = export(write(tmp_path / "t.jsonl", found))
    assert again[1] == {**STORED, "_id": "a"}


def test_numbers_and_dates_of_a_database_come_out_plain(tmp_path: Path) -> None:
    canonical = {
        **STORED,
        "timestamp": {"$date": {"$numberLong": "1754388002000"}},
        "createdAt": {"$date": "2025-08-06T00:00:00Z"},
        "costUsd": {"$numberDouble": "0.25"},
        "usage": {"inputTokens": {"$numberInt": "100"}, "outputTokens": {"$numberLong": "7"}},
    }
    path = write(tmp_path / "s.jsonl", [document("user", "u", None, content="How hot?"), canonical])
    assert [each.message for each in validate(read_lines(path)) if "ISO 8601" in each.message] == []
    found = export(path)[1]
    assert found["timestamp"] == "2025-08-05T10:00:02Z"
    assert (found["createdAt"], found["costUsd"]) == ("2025-08-06T00:00:00Z", 0.25)
    assert found["usage"] == {"inputTokens": 100, "outputTokens": 7}


def test_fields_of_computed_usage_are_camel_case_and_known(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7}
    data = {"model": "claude-opus-4-1", "content": [{"type": "text", "text": "80"}], "usage": usage}
    lines = [
        document("user", "u", None, message={"content": "How hot?"}),
        document("assistant", "a", "u", second=1, message=data),  # without an id
    ]
    found = export(write(tmp_path / "s.jsonl", lines))
    assert found[1]["usage"] == {"inputTokens": 5, "outputTokens": 6, "cacheReadInputTokens": 7}
    assert found[1]["costUsd"] > 0
    decoded = turnlog.decode(json.dumps(found[1]))
    assert decoded.problems == ()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: str(path.relative_to(DATA / "transcripts")))
def test_whatever_is_exported_is_valid(path: Path, tmp_path: Path) -> None:
    sessions: list[str | None] = [*list_dumped(path)]
    for camel, session in product((True, False), sessions or [None]):
        found = export(path, camel=camel, session=session)
        assert [each for each in infer_state(found, tmp_path) if each.startswith("error")] == []
        repeated = Counter(each["_id"] for each in found)
        assert max(repeated.values(), default=1) == 1


def test_whatever_is_exported_of_real_sessions_is_valid(corpus: Path, tmp_path: Path) -> None:
    paths = [path for path in sorted(corpus.rglob("*.jsonl")) if path.stat().st_size <= MOST_OF_CORPUS]
    for path in paths[::4]:
        found = export(path)
        assert [each for each in infer_state(found, tmp_path) if each.startswith("error")] == [], path.name
        assert len({each["_id"] for each in found}) == len(found)


def test_what_was_exported_is_the_same_when_it_is_exported_again(tmp_path: Path) -> None:
    for number, documents in enumerate((flow(), chain(stored=True), chain(stored=False))):
        first = export(write(tmp_path / f"{number}.jsonl", documents))
        assert export(write(tmp_path / f"{number}-again.jsonl", first)) == first


def test_parts_of_a_session_are_valid(tmp_path: Path) -> None:
    path = DATA / "transcripts" / "turns" / "session.jsonl"
    target = tmp_path / "part.json"
    assert invoke("export", path, "--format", "json", "--turns", "2", "--output", target).exit_code == 0
    found = json.loads(target.read_bytes())
    assert found
    assert [each for each in infer_state(found, tmp_path) if each.startswith("error")] == []


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server over four sessions: one has what was stored, two begin alike, one is the spec's flow."""
    folder = tmp_path / "claude" / "projects" / "-tea"
    folder.mkdir(parents=True)
    stored = [document("user", "u", None, content="How hot?"), STORED, *chain(stored=True)[2:]]
    write(folder / "stored.jsonl", [{**each, "sessionId": "stored"} for each in stored])
    write(folder / "session-xyz.jsonl", flow())
    for name in ("first", "fork"):
        lines = [
            {**document("user", "f1", None, message={"content": "Tea?"}), "sessionId": name},
            {**document("assistant", "f2", "f1", message={"content": "Yes."}), "sessionId": name},
            {**document("user", f"own-{name}", "f2", message={"content": name}), "sessionId": name},
        ]
        write(folder / f"{name}.jsonl", lines)
    place = tmp_path / "archive.db"
    with closing(open_store(place)) as store, serving(tmp_path / "home", store=store) as running:
        sync(store, place, locate_sessions([tmp_path / "claude"]).sessions, origin="test")
        yield running


def test_the_session_stands_before_a_uuid_that_two_sessions_have(served: Served) -> None:
    for name in ("first", "fork"):
        expected = [f"{name}:f1", f"{name}:f2", f"own-{name}"]
        answer = served.get(f"/api/export?id={name}&format=json&redact=false")
        assert [each["_id"] for each in answer.json] == expected
        items = served.get(f"/api/sessions/{name}/messages").json["items"]
        assert [each["_id"] for each in items] == expected


def test_the_api_says_what_was_stored(served: Served) -> None:
    items = {each["uuid"]: each for each in served.get("/api/sessions/stored/messages").json["items"]}
    assert items["a"]["_id"] == "a"
    assert items["a"]["cost_usd"] == 0.25
    assert items["a"]["usage"] == {
        "input_tokens": 100,
        "output_tokens": 7,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 0,
    }
    assert {items[uuid]["type"] for uuid in ("a", "a0", "a1")} == {"assistant"}


def test_the_type_of_a_message_that_only_calls_tools_is_assistant(served: Served) -> None:
    items = served.get("/api/sessions/session-xyz/messages").json["items"]
    [caller] = [each for each in items if each["uuid"] == "assistant-msg-789"]
    assert (caller["type"], caller["role"]) == ("assistant", "tool_use")

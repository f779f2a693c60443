"""From sessions to rows: every row says what the session says, and where its lines are."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

import turnlog
from golden import DATA
from ingest.memory_store import MemoryStore
from ingest.session_watch import ORIGIN, look_once
from turnlog.ingest.looks import look
from turnlog.ingest.pipeline import sync
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.identity import LOCAL, Place, name_source
from turnlog.store.opening import open_store
from turnlog.store.rows import AgentRow, CallRow, MessageRow
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.files.dumps import list_dumped
from turnlog.transcripts.files.locate import locate_path, locate_sessions
from turnlog.transcripts.summary.fold import Summary

PLACED = [(0, 0), (1, 1), (2, 1), (3, 2)]
"""Where the lines of `agents-meta` go: the third is a result."""
GOLDEN = [*(path for path in sorted((DATA / "transcripts").iterdir()) if path.is_dir()), DATA / "cli" / "tour"]


def look_at(folder: Path) -> tuple[DerivedRows, MemoryStore]:
    """Return the rows of the only session of a folder."""
    [store] = look_once(folder).values()
    assert store.derived is not None
    return store.derived, store


def golden_session(name: str, folder: Path) -> DerivedRows:
    shutil.copytree(DATA / "transcripts" / name, folder, dirs_exist_ok=True)
    return look_at(folder)[0]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_rows_say_what_the_session_says(golden: Path) -> None:
    for path in [files.path for files in locate_path(golden).sessions if files.path is not None]:
        if list_dumped(path):  # each of its sessions is derived by itself
            continue
        [files] = locate_path(path).sessions
        batch = look(files, None, None, owner="local", origin=ORIGIN, now_ns=1)
        assert batch is not None
        rows, session = batch.derived, turnlog.read(path)
        assert rows is not None
        assert [turn.cost or "0" for turn in rows.turns] == [format(turn.cost, "f") for turn in session.turns]
        assert [agent.id for agent in rows.agents] == [agent.id for agent in session.agents]
        assert msgspec.json.decode(rows.session.summary, type=Summary) == session.summary
        assert rows.session.title == (session.summary.title and session.summary.title.text)
        assert rows.session.problems == len(session.problems)
        conversations = [session.conversation]
        conversations += [Conversation(turnlog.read(agent.path).lines) for agent in files.agents if agent.path]
        for chapter, conversation in zip(rows.chapters, conversations, strict=True):
            expect_chapter(chapter, conversation)
        seen = [row for chapter in rows.chapters for row in chapter.sightings]
        assert {(row.message_id, row.output) for row in seen} >= {
            (each.message, each.tokens.output) for each in session.usage.list_messages()
        }


def expect_chapter(rows: ChapterRows, conversation: Conversation) -> None:
    """Expect all rows of a conversation, numbered from 0, and each to be of its chapter."""
    for kind in (rows.messages, rows.calls, rows.placements, rows.sightings):
        assert [(row.source, row.index) for row in kind] == [(rows.source, n) for n in range(len(kind))]
    assert [(row.id, row.role, row.rule) for row in rows.messages] == [
        (message.id, message.role, message.rule) for message in conversation.messages
    ]
    assert [[place.offset for place in row.lines[: row.own_lines]] for row in rows.messages] == [
        [line.at.offset for line in message.lines if line.at is not None] for message in conversation.messages
    ]
    assert [(row.id, row.name, row.state) for row in rows.calls] == [
        (call.id, call.name, call.state) for call in conversation.calls
    ]
    assert [row.result_block for row in rows.calls] == [
        None if call.result is None else call.result.place.index for call in conversation.calls
    ]
    assert [row.message for row in rows.placements] == [each.message for each in conversation.placements]
    assert [row.offset for row in rows.sightings] == sorted(row.offset for row in rows.sightings)


def test_each_file_of_lines_is_a_chapter(tmp_path: Path) -> None:
    rows = golden_session("agents-meta", tmp_path)
    messages = [row for chapter in rows.chapters for row in chapter.messages]
    main = name_source(ORIGIN, str(tmp_path / "s-1.jsonl"))
    agents = [
        name_source(ORIGIN, str(tmp_path / "s-1" / "subagents" / f"agent-{n}.jsonl"))
        for n in ("x0", "x1", "x2")
    ]
    assert [chapter.source for chapter in rows.chapters] == [main, *agents]
    assert [(row.source, row.index, row.id, row.agent_id) for row in messages] == [
        (main, 0, "u-1", None),
        (main, 1, "a-1", None),
        (main, 2, "a-2", None),
        (agents[0], 0, "x0-1", "x0"),
        (agents[0], 1, "x0-2", "x0"),
        (agents[0], 2, "x0-4", "x0"),
        (agents[1], 0, "x1-1", "x1"),
        (agents[1], 1, "x1-2", "x1"),
        (agents[1], 2, "x1-4", "x1"),
        (agents[2], 0, "x2-1", "x2"),
        (agents[2], 1, "x2-2", "x2"),
    ]
    assert [(row.turn, row.parent, row.active) for row in messages[:5]] == [
        (0, None, True),
        (0, 0, True),
        (0, 1, True),
        (None, None, True),
        (None, 0, True),
    ]
    assert messages[1] == MessageRow(
        index=1,
        id="a-1",
        source=main,
        lines=(Place(main, 0, 242), Place(main, 0, 735)),
        own_lines=1,
        rule="answer",
        role="assistant",
        types=("assistant",),
        author="claude",
        lane="main",
        is_sidechain=True,
        parent=0,
        turn=0,
        time=1772359202000000,
        model="claude-opus-4-1",
        calls=1,
        reached=1772359202000000,
    )
    assert rows.chapters[2].calls == (
        CallRow(
            index=0,
            source=agents[1],
            id="c-2",
            name="Agent",
            category="agent",
            state="resolved",
            at=Place(agents[1], 0, 257),
            block=0,
            message=1,
            result_at=Place(agents[1], 0, 735),
            result_block=0,
            started=1772359206000000,
            ended=1772359207000000,
            line=1,
            reached=1772359206000000,
        ),
    )
    assert [(row.index, row.message) for row in rows.chapters[0].placements] == PLACED
    assert rows.agents[0] == AgentRow(
        index=0,
        id="x0",
        state="done",
        depth=2,
        inline=False,
        background=False,
        file=agents[0],
        parent_id="x1",
        type="Explore",
        description="Look at the lid",
        call=0,
        call_source=agents[1],
        linked_by="meta",
    )


def test_calls_say_which_file_they_work_on_and_whether_it_changed(tmp_path: Path) -> None:
    blocks = [
        f'{{"type":"tool_use","id":"{n}","name":"{name}","input":{{{file}}}}}'
        for n, (name, file) in enumerate(
            [
                ("Read", '"file_path":"/a"'),
                ("Write", '"file_path":"/b","content":"x"'),
                ("Edit", '"file_path":"/c","old_string":"x","new_string":"y"'),
                ("Bash", '"command":"ls"'),
            ]
        )
    ]
    results = [
        f'{{"type":"tool_result","tool_use_id":"{n}","is_error":{x}}}' for n, x in ((1, "false"), (2, "true"))
    ]
    (tmp_path / "s.jsonl").write_text(
        '{"type":"user","uuid":"1","message":{"role":"user","content":"Write"}}\n'
        '{"type":"assistant","uuid":"2","parentUuid":"1",'
        f'"message":{{"role":"assistant","content":[{",".join(blocks)}]}}}}\n'
        '{"type":"user","uuid":"3","parentUuid":"2",'
        f'"message":{{"role":"user","content":[{",".join(results)}]}}}}\n'
    )
    rows, _ = look_at(tmp_path)
    assert [(call.name, call.state, call.path, call.changes_file) for call in rows.chapters[0].calls] == [
        ("Read", "unresolved", "/a", False),
        ("Write", "resolved", "/b", True),
        ("Edit", "failed", "/c", False),
        ("Bash", "unresolved", None, False),
    ]
    assert [(turn.prompt, turn.calls, turn.files_changed) for turn in rows.turns] == [(0, 4, 1)]


def test_money_is_exact_and_unknown_where_nothing_has_a_price(tmp_path: Path) -> None:
    line = (
        '{"type":"assistant","uuid":"a","sessionId":"s","timestamp":"2026-03-01T10:00:00Z",'
        '"message":{"id":"m","role":"assistant","model":"MODEL","content":[],"stop_reason":"end_turn",'
        '"usage":{"input_tokens":1,"output_tokens":3}}}\n'
    )
    for model, cost in (("claude-opus-4-1", "0.00024"), ("nobody-knows", None)):
        folder = tmp_path / model
        folder.mkdir()
        (folder / "s.jsonl").write_text(line.replace("MODEL", model))
        rows, _ = look_at(folder)
        assert rows.session.cost == cost
        [sighting] = rows.chapters[0].sightings
        assert (sighting.message_id, sighting.source, sighting.offset) == (
            "m",
            name_source(ORIGIN, str(folder / "s.jsonl")),
            0,
        )
        assert (sighting.input, sighting.output, sighting.model) == (1, 3, model)


def test_rows_of_real_sessions_point_at_their_lines(corpus: Path) -> None:
    for store in look_once(corpus / "sessions").values():
        rows = store.derived
        assert rows is not None
        starts = {key: {line.offset: line for line in lines} for key, lines in store.lines.items()}
        messages = {(row.source, row.index): row for each in rows.chapters for row in each.messages}
        for message in messages.values():
            first = message.lines[0]
            uuid = starts[first.source, first.generation][first.offset].uuid
            assert message.id == (uuid or f"@{first.offset}")
            assert all(place.offset in starts[place.source, place.generation] for place in message.lines)
        for call in (row for each in rows.chapters for row in each.calls):
            assert call.id is None or call.id.encode() in read_line(store, call.at)
            assert call.message is None or messages[call.source, call.message].calls > 0
        for placement in (row for each in rows.chapters for row in each.placements):
            line = store.lines[placement.source, store.sources[placement.source].generation][placement.index]
            at = Place(placement.source, store.sources[placement.source].generation, line.offset)
            if placement.message is not None:
                assert at in messages[placement.source, placement.message].lines


def read_line(store: MemoryStore, at: Place) -> bytes:
    [length] = [line.length for line in store.lines[at.source, at.generation] if line.offset == at.offset]
    return store.bytes[at.source, at.generation][at.offset : at.offset + length]


def test_counts_beyond_all_reason_are_kept_as_the_largest(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"type":"assistant","uuid":"a","sessionId":"s","message":{"id":"m","model":"claude-sonnet-4-5",'
        '"content":[],"usage":{"input_tokens":99999999999999999999999,"output_tokens":1}}}\n'
    )
    place = tmp_path / "home" / "turnlog.db"
    store = open_store(place)
    sync(store, place, locate_sessions([tmp_path]).sessions, origin="here")
    [session] = store.list_known(LOCAL)
    [sighting] = store.list_sightings(LOCAL, session.key)
    assert (sighting.input, sighting.output) == ((1 << 63) - 1, 1)
    store.close()

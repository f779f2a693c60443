"""From sessions to records: every record says what the session says, and where its lines are."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

import turnlog
from golden import DATA
from ingest.memory_store import MemoryStore
from ingest.session_watch import ORIGIN, look_once
from turnlog.ingest.pipeline import sync
from turnlog.ingest.session_scan import scan_session
from turnlog.store.model import LOCAL, name_source
from turnlog.store.opening import open_store
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.dumps import list_dumped
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.segments import AgentRecord, CallRecord, MessageRecord
from turnlog.transcripts.session_files import locate_path, locate_sessions
from turnlog.transcripts.summary import Summary

PLACED = [(0, 0), (1, 1), (2, 1), (3, 2)]
"""Where the lines of `agents-meta` go: the third is a result."""
GOLDEN = [*(path for path in sorted((DATA / "transcripts").iterdir()) if path.is_dir()), DATA / "cli" / "tour"]


def look_at(folder: Path) -> MemoryStore:
    """Return what there is of the only session of a folder."""
    [store] = look_once(folder).values()
    assert store.derived is not None
    return store


def golden_session(name: str, folder: Path) -> SessionRecords:
    shutil.copytree(DATA / "transcripts" / name, folder, dirs_exist_ok=True)
    return look_at(folder).open()


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_records_say_what_the_session_says(golden: Path) -> None:
    for path in [files.path for files in locate_path(golden).sessions if files.path is not None]:
        if list_dumped(path):  # each of its sessions is derived by itself
            continue
        [files] = locate_path(path).sessions
        store = MemoryStore()
        store.apply(scan_session(files, None, None, owner="local", origin=ORIGIN, now_ns=1, is_last=True).batch)
        records, session = store.open(), turnlog.read(path)
        assert store.derived is not None
        row = store.derived.session
        turns = records.list_turns()
        assert [turn.cost or "0" for turn in turns] == [format(turn.cost, "f") for turn in session.turns]
        assert [agent.id for agent in records.list_agents()] == [agent.id for agent in session.agents]
        assert msgspec.json.decode(row.summary, type=Summary) == session.summary
        assert row.title == (session.summary.title and session.summary.title.text)
        assert row.problems == len(session.problems)
        conversations = [session.conversation]
        conversations += [Conversation(turnlog.read(agent.path).lines) for agent in files.agents if agent.path]
        for chapter, conversation in zip(records.chapters, conversations, strict=True):
            expect_chapter(chapter, conversation)
        seen = [each for chapter in records.chapters for each in chapter.list_sightings()]
        assert {(each.message_id, each.output) for each in seen} >= {
            (each.message, each.tokens.output) for each in session.usage.list_messages()
        }


def expect_chapter(chapter: Chapter, conversation: Conversation) -> None:
    """Expect all records of a conversation, numbered from 0, and the heads of segments to say how many."""
    messages, calls = [*chapter.list_messages()], [*chapter.list_calls()]
    lines, sightings = [*chapter.list_lines()], [*chapter.list_sightings()]
    assert [each.index for each in messages] == [*range(chapter.count_messages)]
    assert [each.index for each in calls] == [*range(chapter.count_calls)]
    assert [each.number for each in lines] == [*range(chapter.count_lines)]
    assert [(each.offset, each.length) for each in lines] == [
        (line.at.offset, len(line.raw)) for line in conversation.lines if line.at is not None
    ]
    assert [(each.id, each.role, each.rule) for each in messages] == [
        (message.id, message.role, message.rule) for message in conversation.messages
    ]
    assert [[lines[at].offset for at in each.lines[: each.own_lines]] for each in messages] == [
        [line.at.offset for line in message.lines if line.at is not None] for message in conversation.messages
    ]
    assert [(each.id, each.name, each.state) for each in calls] == [
        (call.id, call.name, call.state) for call in conversation.calls
    ]
    assert [each.result_block for each in calls] == [
        None if call.result is None else call.result.place.index for call in conversation.calls
    ]
    assert [line.message for line in lines] == [each.message for each in conversation.placements]
    assert [each.offset for each in sightings] == sorted(each.offset for each in sightings)
    for head in chapter.heads:
        segment = chapter.load(head.number)
        assert (head.lines, head.messages, head.calls) == (
            len(segment.lines),
            len(segment.messages),
            len(segment.calls),
        )
        assert (head.events, head.sightings) == (len(segment.events), len(segment.sightings))
        assert head.hooks == sum(event.hook is not None for event in segment.events)
        assert head.problems == sum(line.problems > 0 for line in segment.lines)
        assert head.offset == segment.lines[0].offset


def test_each_file_of_lines_is_a_chapter(tmp_path: Path) -> None:
    session = golden_session("agents-meta", tmp_path)
    messages = [(chapter.source, each) for chapter in session.chapters for each in chapter.list_messages()]
    main = name_source(ORIGIN, str(tmp_path / "s-1.jsonl"))
    agents = [
        name_source(ORIGIN, str(tmp_path / "s-1" / "subagents" / f"agent-{n}.jsonl"))
        for n in ("x0", "x1", "x2")
    ]
    assert [chapter.source for chapter in session.chapters] == [main, *agents]
    assert [(source, each.index, each.id, each.agent_id) for source, each in messages] == [
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
    assert [(each.turn, each.parent, each.active) for _, each in messages[:5]] == [
        (0, None, True),
        (0, 0, True),
        (0, 1, True),
        (None, None, True),
        (None, 0, True),
    ]
    [chapter, _, second, _] = session.chapters
    assert messages[1][1] == MessageRecord(
        index=1,
        id="a-1",
        lines=(1, 2),
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
    assert [chapter.get_line(number).offset for number in (1, 2)] == [242, 735]
    assert [*second.list_calls()] == [
        CallRecord(
            index=0,
            id="c-2",
            name="Agent",
            category="agent",
            state="resolved",
            line=1,
            block=0,
            message=1,
            result_line=2,
            result_block=0,
            started=1772359206000000,
            ended=1772359207000000,
            reached=1772359206000000,
            answer="msg_x1-2",
        )
    ]
    assert [second.get_line(number).offset for number in (1, 2)] == [257, 735]
    assert [(line.number, line.message) for line in chapter.list_lines()] == PLACED
    assert session.list_agents()[0] == AgentRecord(
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
    session = look_at(tmp_path).open()
    [chapter] = session.chapters
    assert [(call.name, call.state, call.path, call.changes_file) for call in chapter.list_calls()] == [
        ("Read", "unresolved", "/a", False),
        ("Write", "resolved", "/b", True),
        ("Edit", "failed", "/c", False),
        ("Bash", "unresolved", None, False),
    ]
    assert [(turn.prompt, turn.calls, turn.files_changed) for turn in session.list_turns()] == [(0, 4, 1)]


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
        store = look_at(folder)
        assert store.derived is not None
        assert store.derived.session.cost == cost
        [chapter] = store.open().chapters
        [sighting] = chapter.list_sightings()
        assert store.derived.usage == ((name_source(ORIGIN, str(folder / "s.jsonl")), sighting),)
        assert (sighting.message_id, sighting.offset) == ("m", 0)
        assert (sighting.input, sighting.output, sighting.model) == (1, 3, model)


def test_records_of_real_sessions_point_at_their_lines(corpus: Path) -> None:
    for store in look_once(corpus / "sessions").values():
        for chapter in store.open().chapters:
            lines, messages = [*chapter.list_lines()], [*chapter.list_messages()]
            raw = chapter.read_raw(range(len(lines)))
            for message in messages:
                first = lines[message.lines[0]]
                assert message.id == (first.uuid or f"@{first.offset}")
                assert all(0 <= number < len(lines) for number in message.lines)
            for call in chapter.list_calls():
                assert call.id is None or call.id.encode() in raw[call.line]
                assert call.message is None or messages[call.message].calls > 0
            for line in lines:
                if line.message is not None:
                    assert line.number in messages[line.message].lines


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
    with store.open_session(LOCAL, session.key) as records:
        [chapter] = records.chapters
        [sighting] = chapter.list_sightings()
    assert (sighting.input, sighting.output) == ((1 << 63) - 1, 1)
    store.close()

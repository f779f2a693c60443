"""Real sessions with hook lines, and deliveries made from them: everything is told once."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from corpus_archive import CorpusArchive
from server_app import Served, serving
from turnlog.store.interface import MaintainedStore, find_known, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import Conversation, locate_path, read_lines, report_of
from turnlog.transcripts.actions import REPORTED
from turnlog.transcripts.hooks import HookDelivery
from turnlog.transcripts.segments import EventRecord

MOST = 25
"""Sessions that are looked at."""
APART = 5_000_000
"""Microseconds between two events that are about no call."""


def list_hook_lines(store: MaintainedStore, key: str) -> list[EventRecord]:
    with store.open_session(LOCAL, key) as session:
        rows = [row for chapter in session.chapters for row in chapter.list_events(hooks_only=True)]
    return [row for row in rows if row.time is not None]


def deliver(store: MaintainedStore, session: StoredSession) -> int:
    """Keep a delivery for each event that lines tell of, a moment before; return how many."""
    with store.open_session(LOCAL, session.key) as records:
        ids = {call.id for _, call in records.list_calls()}
    events: dict[object, HookDelivery] = {}
    last: dict[str, int] = {}
    for row in sorted(list_hook_lines(store, session.key), key=lambda row: row.time or 0):
        assert row.time is not None
        assert row.hook is not None
        call = row.tool_use_id if row.tool_use_id in ids else None
        if call is None and row.time - last.get(row.hook, 0) < APART:
            continue  # several lines of one event
        if call is None:
            last[row.hook] = row.time
        events.setdefault(
            (row.hook, call or row.time),
            HookDelivery(
                delivery_id=f"{session.key}-{len(events)}",
                received_ns=(row.time - 50_000) * 1000,
                payload=b"{}",
                session_id=session.row.session_id or "",
                event_name=row.hook,
                tool_use_id=call,
            ),
        )
    return store.add_deliveries(LOCAL, list(events.values()))


def gather(served: Served, path: str) -> list[Any]:
    found: list[Any] = []
    after: str | None = "-1"
    while after is not None:
        window = served.get(f"{path}?after={after}&limit=200").json
        found += window["items"]
        after = window["after"]
    return found


def count_notes(store: MaintainedStore, session: StoredSession) -> int:
    """Count the lines that are no messages, but say what happened, in all of the file."""
    known = find_known(store, LOCAL, session.key)
    assert known is not None
    [path] = [source.path for source in known.sources if source.source == session.key]
    conversation = Conversation(read_lines(Path(path)))
    placed = zip(conversation.lines, conversation.placements, strict=True)
    return sum(
        type(line.entry) in REPORTED and place.message is None and bool(report_of(line.entry))
        for line, place in placed
    )


def test_what_hooks_and_lines_tell_is_told_once(
    corpus: Path, corpus_archive: CorpusArchive, tmp_path: Path
) -> None:
    shutil.copyfile(corpus_archive.place, tmp_path / "turnlog.db")
    store = open_store(tmp_path / "turnlog.db")
    paths = [files.path for files in locate_path(corpus / "sessions").sessions if files.path is not None]
    hooked = [path for path in paths if b'"hookEvent"' in path.read_bytes()][:MOST]
    keys = {source.path: known.key for known in store.list_known(LOCAL) for source in known.sources}
    sessions = [each for path in hooked for each in find_sessions(store, LOCAL, keys[str(path)])]
    seen: Counter[str] = Counter()
    with serving(tmp_path / "home", store=store) as served:
        for session in sessions:
            path = f"/api/sessions/{session.key}"
            messages = gather(served, f"{path}/messages")
            plain = gather(served, f"{path}/timeline")
            told = [item["message"] for item in plain if item["kind"] == "message"]
            assert told == messages, "without deliveries all is as it was"
            notes = [item["note"]["line"] for item in plain if item["kind"] == "note"]
            assert notes == sorted(set(notes)), "each line is told once, in the order of the file"
            assert len(notes) == count_notes(store, session), "and none is left out"
            before = served.get(f"{path}/actions").json
            lines = len(list_hook_lines(store, session.key))
            delivered = deliver(store, session)
            told = gather(served, f"{path}/timeline")
            hooks = [item["hook"] for item in told if item["kind"] == "hook"]
            shown = [item["message"] for item in told if item["kind"] == "message"]
            assert len(hooks) == delivered
            assert all(hook["commands"] for hook in hooks)
            gone = [message for message in messages if message not in shown]
            assert all(message["rule"] in ("hook", "lone-progress") for message in gone)
            assert [each for each in messages if each in shown] == shown
            after = served.get(f"{path}/actions").json
            assert sum(after["counts"].values()) == sum(before["counts"].values()) - lines + delivered
            seen += Counter(sessions=1, hooks=delivered, gone=len(gone))
    store.close()
    assert seen["sessions"] >= 10
    assert seen["hooks"] >= 50
    assert seen["gone"] >= 10

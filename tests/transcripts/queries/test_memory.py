"""A session that was read from its files answers as an archived one does."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from golden import DATA
from turnlog.ingest.pipeline import sync
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_path
from turnlog.transcripts.queries.memory import query

FOLDER = DATA / "transcripts"


def test_every_question_is_answered_for_files(tmp_path: Path) -> None:
    asked = 0
    for folder in sorted(each for each in FOLDER.iterdir() if each.is_dir()):
        for files in locate_path(folder).sessions:
            if files.path is None or turnlog.transcripts.list_dumped(files.path):
                continue
            [files] = locate_path(files.path).sessions  # what lies beside it, as `read` finds it
            assert files.path is not None
            place = tmp_path / str(asked)
            store = open_store(place)
            sync(store, place, [files], origin="test")
            [stored] = store.list_sessions(LOCAL).sessions
            read = query(turnlog.read(files.path))
            with store.open_session(LOCAL, stored.key) as kept:
                assert len(read.chapters) == len(kept.chapters)
                main, other = read.main, kept.main
                assert main is not None
                assert other is not None
                assert list(main.list_messages()) == list(other.list_messages())
                assert list(main.list_calls()) == list(other.list_calls())
                assert list(main.list_lines()) == list(other.list_lines())
                assert list(main.list_events()) == list(other.list_events())
                assert list(main.list_sightings()) == list(other.list_sightings())
                assert read.list_turns() == kept.list_turns()
                named = [(each.id, each.state, each.call, each.file is None) for each in read.list_agents()]
                assert named == [
                    (each.id, each.state, each.call, each.file is None) for each in kept.list_agents()
                ]
                assert read.tally_actions() == kept.tally_actions()
                lines = range(main.count_lines)
                assert main.read_raw(lines) == other.read_raw(lines)
            store.close()
            asked += 1
    assert asked > 20


def test_what_is_not_there_is_a_key_error() -> None:
    files = locate_path(FOLDER / "turns").sessions
    path = next(each.path for each in files if each.path is not None)
    session = query(turnlog.read(path))
    assert session.main is not None
    with pytest.raises(KeyError):
        session.main.load(99)
    assert session.list_hooks_at([1]) == []
    assert session.find_chapter("nothing") is None

"""A session of the archive is the session that its files were."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from golden import DATA
from turnlog import read
from turnlog.cli.documents import build_document
from turnlog.ingest.archived import load_session
from turnlog.ingest.pipeline import sync
from turnlog.store.identity import LOCAL
from turnlog.store.sqlite import SqliteStore
from turnlog.transcripts.files.locate import locate_sessions

TOUR = DATA / "cli" / "tour"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "turnlog.db")
    yield store
    store.close()


def run(store: SqliteStore, tmp_path: Path) -> None:
    root = tmp_path / "claude"
    sync(
        store,
        tmp_path / "turnlog.db",
        locate_sessions([root]).sessions,
        origin="here",
        within=[root],
        workers=1,
    )


def test_it_is_what_reading_its_files_gave_though_they_are_gone(store: SqliteStore, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "-home-ada-tea"
    shutil.copytree(TOUR, folder)
    [transcript] = folder.glob("*.jsonl")
    expected = build_document(read(transcript), "conversation")
    run(store, tmp_path)
    shutil.rmtree(folder)
    run(store, tmp_path)
    [stored] = store.list_sessions(LOCAL).sessions
    assert stored.only_here
    session = load_session(store, LOCAL, stored.key)
    assert build_document(session, "conversation") == expected
    assert {line.at.source for line in session.lines if line.at is not None} == {str(transcript)}
    assert expected.agents


def test_a_session_that_is_not_there_is_a_key_error(store: SqliteStore) -> None:
    with pytest.raises(KeyError, match="nobody"):
        load_session(store, LOCAL, "nobody")

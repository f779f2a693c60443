"""Rows that follow older rules are derived again from the archive, wherever their files are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import pytest

from golden import DATA
from session_records import Records, list_messages, list_records
from turnlog.ingest.change_check import DERIVATION, SyncReport
from turnlog.ingest.pipeline import sync
from turnlog.ingest.session_scan import derive_again, scan_session
from turnlog.store.batch import ChapterBatch, SessionBatch
from turnlog.store.interface import KnownSession, MaintainedStore, Store, find_known
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.transcripts.segments import unpack_segment
from turnlog.transcripts.session_files import locate_path, locate_sessions


class Archive:
    """A store with two sessions, one with a sub-agent, and a way to make it older."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "home" / "turnlog.db"
        self.config = folder / "claude"
        self.project = self.config / "projects" / "-home-ada-tea"
        shutil.copytree(DATA / "cli" / "tour", self.project)
        shutil.copy(DATA / "transcripts" / "turns" / "session.jsonl", self.project / "s1.jsonl")
        self.store: MaintainedStore = open_store(self.path)

    def sync(self, workers: int | None = None, progress: list[tuple[int, int]] | None = None) -> SyncReport:
        found = locate_sessions([self.config]).sessions
        told = None if progress is None else lambda done, total: progress.append((done, total))
        return sync(
            self.store, self.path, found, origin="here", within=[self.config], workers=workers, on_progress=told
        )

    def age(self, where: str = "true") -> None:
        """Leave sessions as an older version of the program would, with fewer rows and other ones."""
        self.store.close()
        connection = apsw.Connection(os.fspath(self.path))
        connection.execute(f"UPDATE sessions SET derivation = 1 WHERE {where}")
        ids = f"(SELECT id FROM sessions WHERE {where})"
        connection.execute(
            f"DELETE FROM segments WHERE source IN (SELECT id FROM sources WHERE session IN {ids})"
        )
        connection.execute(f"DELETE FROM outlines WHERE kind = 'turns' AND session IN {ids}")
        connection.close()
        self.store = open_store(self.path)

    @property
    def answers(self) -> dict[str, Records]:
        """What it has of each session."""
        return {known.key: list_records(self.store, known.key) for known in self.store.list_known(LOCAL)}


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(tmp_path)
    archive.sync()
    yield archive
    archive.store.close()


def test_sessions_are_kept_with_the_rules_of_today(archive: Archive) -> None:
    assert {known.derivation for known in archive.store.list_known(LOCAL)} == {DERIVATION}


@pytest.mark.parametrize("workers", [1, 2])
def test_what_follows_older_rules_is_derived_again_and_told(archive: Archive, workers: int) -> None:
    before = archive.answers
    archive.age()
    assert archive.answers != before
    progress: list[tuple[int, int]] = []
    report = archive.sync(workers, progress)
    assert (report.sessions, report.added, report.changed, report.unchanged, report.rederived) == (
        2,
        0,
        0,
        0,
        2,
    )
    assert archive.answers == before
    assert progress[-1][0] == progress[-1][1] > 0
    assert {known.derivation for known in archive.store.list_known(LOCAL)} == {DERIVATION}
    report = archive.sync()
    assert (report.unchanged, report.rederived) == (2, 0)


def test_a_session_whose_files_are_gone_is_derived_again(archive: Archive) -> None:
    before = archive.answers
    shutil.rmtree(archive.project)
    archive.project.mkdir()
    assert archive.sync().gone == 2
    archive.age()
    report = archive.sync()
    assert (report.sessions, report.changed, report.gone, report.rederived) == (0, 0, 0, 2)
    assert archive.answers == before
    assert not any(source.present for known in archive.store.list_known(LOCAL) for source in known.sources)
    assert archive.sync().rederived == 0


def test_a_session_may_be_gone_and_outdated_at_once(archive: Archive) -> None:
    before = archive.answers
    archive.age()
    shutil.rmtree(archive.project)
    archive.project.mkdir()
    report = archive.sync()
    assert (report.gone, report.rederived) == (2, 2)
    assert archive.answers == before


def test_a_session_that_has_grown_since_is_changed_and_whole(archive: Archive) -> None:
    archive.age("session_id = 's1'")
    with (archive.project / "s1.jsonl").open("a") as file:
        file.write('{"type":"user","uuid":"u9","sessionId":"s1","message":{"content":"More"}}\n')
    report = archive.sync()
    assert (report.changed, report.unchanged, report.rederived) == (1, 1, 0)
    live = archive.answers
    archive.store.close()
    archive.path.unlink()
    archive.store = open_store(archive.path)
    archive.sync()
    assert archive.answers == live


def test_what_was_made_by_newer_rules_is_left_alone(archive: Archive) -> None:
    archive.store.close()
    connection = apsw.Connection(os.fspath(archive.path))
    connection.execute(f"UPDATE sessions SET derivation = {DERIVATION + 1}")
    connection.close()
    archive.store = open_store(archive.path)
    assert (archive.sync().rederived, archive.sync().unchanged) == (0, 2)


def test_a_large_session_is_derived_again_as_any_other(archive: Archive) -> None:
    for known in archive.store.list_known(LOCAL):
        [small, large] = [
            derive_again(known, archive.store.archive, owner="local", origin="here", now_ns=1, room=limit)
            for limit in (1 << 30, 0)
        ]
        assert small == large
        assert (small.derivation, small.base_revision) == (DERIVATION, known.revision)
        assert not any(source.frames for source in small.sources)


@pytest.mark.parametrize("left", [["s9.jsonl", "other.jsonl"], ["s9.jsonl"], ["other.jsonl"]])
def test_of_several_transcripts_one_is_read_and_the_others_are_emptied(
    archive: Archive, left: list[str]
) -> None:
    """A file that took another one's place may leave its session with two, of which either may be gone."""
    both = {"s9.jsonl": make_lines(2), "other.jsonl": make_lines(4)}
    for files in ({"s9.jsonl": make_lines(2)}, both, {name: both[name] for name in left}):
        known = find_known(archive.store, LOCAL, make_key("s9"))
        archive.store.apply([make_batch(files, session_id="s9", known=known)])
    known = find_known(archive.store, LOCAL, make_key("s9"))
    assert known is not None
    batch = derive_again(known, archive.store.archive, owner="local", origin="here", now_ns=1)
    assert batch.derived is not None
    read, emptied = batch.derived.chapters
    assert {read.source, emptied.source} == {source.source for source in known.sources}
    [segment] = read.segments
    assert segment.head.messages in (2, 4)
    assert emptied == ChapterBatch(emptied.source, 0)
    archive.store.apply([batch])
    messages = unpack_segment(segment.data).messages
    assert len(messages) == segment.head.messages
    assert list_messages(archive.store, known.key) == messages


class Beside:
    """A store into which another writer gets in before each first write."""

    def __init__(self, archive: Archive, name: str) -> None:
        self.archive = archive.store.archive
        self._archive = archive
        self._store: Store = archive.store
        self._name = name
        self.refused = 0

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        if not self.refused:
            self.refused = 1
            self._get_in()
        return self._store.apply(batches)

    def find_known(self, scope: object, key: str) -> KnownSession | None:
        return find_known(self._store, LOCAL, key)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def list_known(self, scope: object, origin: str | None = None) -> Iterator[KnownSession]:
        return self._store.list_known(LOCAL, origin)

    def _get_in(self) -> None:
        path = self._archive.project / self._name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"type":"user","uuid":"x1","sessionId":"s1","message":{"content":"By another"}}\n')
        for files in locate_path(self._archive.project).sessions:
            known = next((k for k in self._store.list_known(LOCAL) if is_of(k, files.path)), None)
            batch = scan_session(
                files, known, self.archive, owner="local", origin="here", now_ns=1, is_last=True
            ).batch
            if batch is not None and files.session_id == "s1":
                self._store.apply([batch])


def is_of(known: KnownSession, path: Path | None) -> bool:
    return any(source.path == os.fspath(path or "") for source in known.sources)


@pytest.mark.parametrize("is_known", [True, False])
def test_where_another_writer_was_faster_it_is_looked_at_again(tmp_path: Path, is_known: bool) -> None:
    """The other one has read on in another file: neither look is of what there is."""
    archive = Archive(tmp_path)
    if is_known:
        archive.sync()
        with (archive.project / "s1.jsonl").open("a") as file:
            file.write('{"type":"user","uuid":"u9","sessionId":"s1","message":{"content":"More"}}\n')
    beside = Beside(archive, "s1/subagents/agent-x.jsonl")
    found = locate_sessions([archive.config]).sessions
    sync(beside, archive.path, found, origin="here", within=[archive.config], workers=1)  # type: ignore[arg-type]
    assert beside.refused
    archive.sync()
    live = archive.answers
    archive.store.close()
    archive.path.unlink()
    archive.store = open_store(archive.path)
    archive.sync()
    assert archive.answers == live
    archive.store.close()

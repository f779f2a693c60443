"""From files to the store: what is new is written, once, and nothing is lost on the way."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from corpus_archive import ORIGIN, CorpusArchive
from session_records import list_records
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import ChangeKind, Store, find_sessions, read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_path, locate_sessions

TOUR = Path(__file__).parents[1] / "data" / "cli" / "tour"
TURNS = Path(__file__).parents[1] / "data" / "transcripts" / "turns" / "session.jsonl"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config dir with two sessions, one of them with a sub-agent."""
    project = tmp_path / "claude" / "projects" / "-home-ada-tea"
    shutil.copytree(TOUR, project)
    shutil.copy(TURNS, project / "s1.jsonl")
    return tmp_path / "claude"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "home" / "turnlog.db")
    yield store
    store.close()


def run(store: Store, config: Path, workers: int | None = None) -> SyncReport:
    return sync(
        store,
        config.parent / "home" / "turnlog.db",
        locate_sessions([config]).sessions,
        origin="here",
        within=[config],
        workers=workers,
    )


def dump(store: Store) -> dict[str, object]:
    """Return all that a store says of its sessions, but for when and how often."""
    found: dict[str, object] = {}
    for known in store.list_known(LOCAL):
        [stored] = find_sessions(store, LOCAL, known.key)
        found[known.key] = stored.row, list_records(store, known.key)
    return found


def read_back(store: Store) -> dict[str, bytes]:
    return {
        source.path: b"".join(read_all(store.archive, LOCAL, source.source, source.generation))
        for known in store.list_known(LOCAL)
        for source in known.sources
    }


def test_a_sync_keeps_every_file(store: Store, config: Path) -> None:
    report = run(store, config)
    assert (report.sessions, report.added, report.changed, report.unchanged) == (2, 2, 0, 0)
    files = {os.fspath(path): path.read_bytes() for path in config.rglob("*") if path.is_file()}
    assert read_back(store) == files
    assert report.bytes == sum(map(len, files.values()))


def test_a_second_sync_writes_nothing(store: Store, config: Path) -> None:
    run(store, config)
    before, last = store.writes, store.read_feed(LOCAL).last  # type: ignore[attr-defined]
    report = run(store, config)
    assert (report.added, report.changed, report.unchanged, report.bytes) == (0, 0, 2, 0)
    assert (store.writes, store.read_feed(LOCAL).last) == (before, last)  # type: ignore[attr-defined]


def test_appended_lines_change_one_session(store: Store, config: Path) -> None:
    run(store, config)
    path = config / "projects" / "-home-ada-tea" / "s1.jsonl"
    with path.open("a") as file:
        file.write(
            '{"type":"user","uuid":"u9","parentUuid":"a5","sessionId":"s1","message":{"content":"More"}}\n'
        )
    report = run(store, config)
    assert (report.added, report.changed, report.unchanged, report.lines) == (0, 1, 1, 1)
    assert read_back(store)[os.fspath(path)] == path.read_bytes()


def test_a_session_that_grows_line_by_line_ends_like_one_that_came_at_once(
    store: Store, config: Path, tmp_path: Path
) -> None:
    path = config / "projects" / "-home-ada-tea" / "s1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"")
    for line in lines:
        with path.open("ab") as file:
            file.write(line[:40])
        run(store, config)
        with path.open("ab") as file:
            file.write(line[40:])
        run(store, config)
    cold = open_store(tmp_path / "cold.db")
    run(cold, config)
    assert dump(store) == dump(cold)
    cold.close()


def test_other_processes_give_the_same(store: Store, config: Path, tmp_path: Path) -> None:
    run(store, config)
    shared = tmp_path / "shared" / "home"
    shutil.copytree(config, tmp_path / "shared" / "claude")
    other = open_store(shared / "turnlog.db")
    report = run(other, tmp_path / "shared" / "claude", workers=2)
    assert report.added == 2
    assert sorted(read_back(other).values()) == sorted(read_back(store).values())
    other.close()


def write_sessions(tmp_path: Path, count: int) -> tuple[Path, list[str]]:
    """Sync so many new sessions at once; return where they are kept, and what was asked of the database."""
    config, place = tmp_path / f"{count}" / "claude", tmp_path / f"{count}" / "home" / "turnlog.db"
    folder = config / "projects" / "-p"
    folder.mkdir(parents=True)
    for number in range(count):
        uuids = [None, *(f"{number}-{line}" for line in range(20))]
        prompts = [
            {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": uuid}}
            for parent, uuid in pairwise(uuids)
        ]
        lines = "".join(f"{json.dumps(prompt)}\n" for prompt in prompts)
        (folder / f"0000{number:04x}-0000-4000-8000-000000000000.jsonl").write_text(lines)
    asked: list[str] = []

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda told: asked.append(told["sql"]))

    apsw.connection_hooks.append(watch)
    try:
        store = open_store(place)
        asked.clear()
        assert sync(store, place, locate_sessions([config]).sessions, origin="here").added == count
        store.close()
    finally:
        apsw.connection_hooks.remove(watch)
    return place, asked


def test_each_new_session_takes_few_statements(tmp_path: Path) -> None:
    searched = ("cells", "text_runs", "vocabulary", "search_state")

    def count_more(folder: Path) -> int:
        few, many = (Counter(write_sessions(folder, count)[1]) for count in (2, 22))
        more = many - few
        return sum(count for query, count in more.items() if not any(name in query for name in searched))

    # A machine that is slow just then writes them in several transactions.
    assert min(count_more(tmp_path / f"{attempt}") for attempt in range(3)) <= 20 * 18


def test_texts_of_sessions_that_are_written_together_are_indexed_together(tmp_path: Path) -> None:
    place, _ = write_sessions(tmp_path, 12)
    with closing(apsw.Connection(os.fspath(place))) as connection:
        assert connection.execute("SELECT count(DISTINCT segid) FROM cells_idx").get == 1


def test_a_deleted_session_is_kept_and_said_to_be_only_here(store: Store, config: Path) -> None:
    run(store, config)
    kept = read_back(store)
    (config / "projects" / "-home-ada-tea" / "s1.jsonl").unlink()
    report = run(store, config)
    assert report.gone == 1
    assert read_back(store) == kept
    gone = [entry for entry in store.read_feed(LOCAL, 0).entries if entry.kind is ChangeKind.SESSION_GONE]
    assert len(gone) == 1
    assert run(store, config).gone == 0


def test_what_lies_outside_of_the_folders_is_not_gone(store: Store, config: Path, tmp_path: Path) -> None:
    run(store, config)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    report = sync(store, tmp_path / "home" / "turnlog.db", (), origin="here", within=[elsewhere])
    assert report.gone == 0


def test_a_moved_session_keeps_its_key(store: Store, config: Path) -> None:
    run(store, config)
    keys = {known.key for known in store.list_known(LOCAL)}
    old = config / "projects" / "-home-ada-tea" / "s1.jsonl"
    new = config / "projects" / "-home-ada-coffee" / "s1.jsonl"
    new.parent.mkdir()
    old.rename(new)
    report = run(store, config)
    assert (report.added, report.gone) == (0, 0)
    assert {known.key for known in store.list_known(LOCAL)} == keys
    assert os.fspath(new) in read_back(store)


def test_a_file_that_only_has_the_inode_of_another_is_one_of_its_own(store: Store, config: Path) -> None:
    run(store, config)
    old = config / "projects" / "-home-ada-tea" / "s1.jsonl"
    new = old.with_name("s2.jsonl")
    length = old.stat().st_size
    old.rename(new)
    new.write_bytes(b'{"type":"mode","mode":"other"}\n'.ljust(length, b" ") + b"\n")
    report = run(store, config)
    assert (report.added, report.gone) == (1, 1)


def test_a_copied_session_is_one_of_its_own(store: Store, config: Path) -> None:
    run(store, config)
    shutil.copy(config / "projects" / "-home-ada-tea" / "s1.jsonl", config / "projects" / "s1.jsonl")
    assert run(store, config).added == 1


def test_a_rewritten_file_starts_a_new_generation_and_keeps_the_old(store: Store, config: Path) -> None:
    run(store, config)
    path = config / "projects" / "-home-ada-tea" / "s1.jsonl"
    old = path.read_bytes()
    path.write_bytes(old.splitlines(keepends=True)[0])
    run(store, config)
    source = next(s for k in store.list_known(LOCAL) for s in k.sources if s.path == os.fspath(path))
    assert source.generation == 1
    assert b"".join(read_all(store.archive, LOCAL, source.source, 0)) == old
    assert b"".join(read_all(store.archive, LOCAL, source.source, 1)) == path.read_bytes()


def test_progress_is_told_in_bytes(store: Store, config: Path) -> None:
    told: list[tuple[int, int]] = []
    sync(
        store,
        config.parent / "home" / "turnlog.db",
        locate_sessions([config]).sessions,
        origin="here",
        on_progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1][0] == told[-1][1] > 0


def test_every_file_of_the_corpus_comes_back_byte_for_byte(
    corpus: Path, corpus_archive: CorpusArchive, tmp_path: Path, report: Callable[[str], None]
) -> None:
    place, first = tmp_path / "turnlog.db", corpus_archive.report
    shutil.copyfile(corpus_archive.place, place)
    store = open_store(place)
    writes = store.writes  # type: ignore[attr-defined]
    sync(store, place, locate_path(corpus / "sessions").sessions, origin=ORIGIN)
    assert store.writes == writes  # type: ignore[attr-defined]
    raw = 0
    for known in store.list_known(LOCAL):
        for source in known.sources:
            kept = sha256(b"".join(read_all(store.archive, LOCAL, source.source, source.generation)))
            original = Path(source.path).read_bytes()
            raw += len(original)
            assert kept.digest() == sha256(original).digest(), source.path
    store.close()
    size = place.stat().st_size
    report(f"{first.sessions} sessions, {raw / 1e6:.1f} MB raw, {size / raw:.2f} of it in the database")
    assert raw == first.bytes

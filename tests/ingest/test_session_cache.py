"""Sessions at hand: what is appended is all that is read, decoded and written, and the rows are the same."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from golden import DATA
from ingest.session_watch import list_files
from session_records import list_records
from turnlog.ingest.contents import Content
from turnlog.ingest.machine import list_forgotten
from turnlog.ingest.pipeline import sync
from turnlog.ingest.session_scan import SessionCache
from turnlog.ingest.verification import verify_session
from turnlog.messages import Line
from turnlog.store.catalogue.archive import CatalogueArchive
from turnlog.store.catalogue.database import Connection
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_line, make_lines
from turnlog.transcripts.dumps import list_dumped
from turnlog.transcripts.session_files import locate_sessions

GOLDEN = [
    path
    for path in sorted((DATA / "transcripts").iterdir())
    # A file that becomes a dump of several sessions keeps its first key: tests of dumps have that.
    if path.is_dir() and not any(map(list_dumped, path.iterdir()))
]


class Kept:
    """A store that is kept up with a config dir by one process, with sessions at hand."""

    def __init__(self, folder: Path, **options: float) -> None:
        self.config = folder / ".claude"
        self.project = self.config / "projects" / "-p"
        self.project.mkdir(parents=True)
        self.place = folder / "turnlog.db"
        self.engine = SqliteEngine(self.place)
        self.store = CatalogueStore(self.engine)
        self.now = 0.0
        self.cache = SessionCache(clock=lambda: self.now, **options)  # type: ignore[arg-type]

    def sync(self) -> None:
        sync(
            self.store,
            self.place,
            locate_sessions([self.config]).sessions,
            origin="here",
            cache=self.cache,
            forgotten=list_forgotten(self.store),
        )

    def append(self, data: bytes, name: str = "s") -> None:
        with (self.project / f"{name}.jsonl").open("ab") as file:
            file.write(data)
        self.sync()

    def verify(self) -> None:
        """Everything that is there follows from the bytes."""
        for session in list(self.store.list_known(LOCAL)):
            assert verify_session(self.store, LOCAL, session).disagreements == ()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path)
    yield kept
    kept.store.close()


class Counts:
    """How much was read from the archive, and how many lines were made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = self.lines = 0
        read, take = CatalogueArchive.read_spans, Content._take

        def count_read(
            archive: CatalogueArchive,
            connection: Connection,
            scope: Scope,
            source: str,
            generation: int,
            spans: Sequence[tuple[int, int]],
        ) -> list[bytes]:
            self.bytes += sum(length for _, length in spans)
            return read(archive, connection, scope, source, generation, spans)

        def count_lines(content: Content, lines: list[Line]) -> None:
            self.lines += len(lines)
            take(content, lines)

        monkeypatch.setattr(CatalogueArchive, "read_spans", count_read)
        monkeypatch.setattr(Content, "_take", count_lines)


def test_a_line_more_reads_and_writes_no_more_than_that_line(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.append(make_lines(3000))
    kept.append(make_line(3000))
    counts = Counts(monkeypatch)
    for number in range(3001, 3011):
        before = kept.store.writes
        kept.append(make_line(number))
        assert kept.store.writes - before < 80
    assert counts.lines == 10
    assert counts.bytes == 0
    monkeypatch.undo()
    kept.verify()


def make_turns(chance: random.Random) -> Iterator[bytes]:
    """Yield lines as sessions have them: prompts, calls, their results, answers; no id is like another."""

    def make_text(count: int) -> str:
        return " ".join(f"{chance.choice('abcdefgh')}{chance.randrange(5000)}" for _ in range(count))

    for number in count(step=4):
        ids = [f"{chance.getrandbits(128):032x}" for _ in range(7)]
        use = {"type": "tool_use", "id": ids[0], "name": "Bash", "input": {"command": make_text(8)}}
        result = {"type": "tool_result", "tool_use_id": ids[0], "content": make_text(100)}
        said = {"type": "text", "text": make_text(40)}
        for at, (kind, content) in enumerate(
            (("user", make_text(20)), ("assistant", [use]), ("user", [result]), ("assistant", [said]))
        ):
            line: dict[str, Any] = json.loads(make_line(number + at, type=kind, message_id=ids[1 + at // 2]))
            line |= {"uuid": ids[3 + at], "parentUuid": ids[2 + at] if at else None}
            line["message"]["content"] = content
            yield json.dumps(line).encode() + b"\n"


def test_a_line_more_of_a_long_session_writes_little(kept: Kept) -> None:
    turns = make_turns(random.Random(1))
    kept.append(b"".join(islice(turns, 20_000)))
    kept.append(next(turns))
    log = kept.place.with_name("turnlog.db-wal")
    with kept.engine.database.alone() as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    sizes = [0]
    for line in islice(turns, 100):
        kept.append(line)
        sizes.append(log.stat().st_size)
    written = sorted(after - before for before, after in pairwise(sizes))
    assert sum(written) / len(written) < 60 << 10
    assert written[89] < 80 << 10, "some write a segment as a whole, and few merge bytes or index what waits"
    kept.verify()


def test_of_a_torn_line_no_more_is_read_again_than_its_beginning(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.append(make_lines(300))
    line = make_line(300)
    kept.append(line[:40])
    counts = Counts(monkeypatch)
    kept.append(line[40:])
    assert (counts.lines, counts.bytes) == (1, 40)
    monkeypatch.undo()
    kept.verify()


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_line_by_line_the_store_gets_the_same_rows_as_at_once(golden: Path, kept: Kept, tmp_path: Path) -> None:
    chance = random.Random(golden.name)
    pieces = {path: data.splitlines(keepends=True) or [b""] for path, data in list_files(golden).items()}
    while pieces:
        path = chance.choice(sorted(pieces))
        target = kept.project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab") as file:
            file.write(pieces[path].pop(0))
        if not pieces[path]:
            del pieces[path]
        if chance.random() < 0.5 or not pieces:
            kept.sync()
    kept.verify()
    cold = open_store(tmp_path / "cold.db")
    sync(cold, tmp_path / "cold.db", locate_sessions([kept.config]).sessions, origin="here")
    for key in [session.key for session in cold.list_known(LOCAL)]:
        assert list_records(kept.store, key) == list_records(cold, key)
    cold.close()


def test_a_session_that_another_process_changed_is_read_anew(kept: Kept) -> None:
    kept.append(make_lines(20))
    kept.append(make_line(20))
    with (kept.project / "s.jsonl").open("ab") as file:
        file.write(make_line(21))
    other = open_store(kept.place)
    sync(other, kept.place, locate_sessions([kept.config]).sessions, origin="here")
    kept.append(make_line(22))
    kept.verify()
    [session] = other.list_known(LOCAL)
    assert session.sources[0].lines == 23
    other.close()


def test_a_session_that_is_rewritten_is_read_anew(kept: Kept) -> None:
    kept.append(make_lines(20))
    kept.append(make_line(20))
    (kept.project / "s.jsonl").write_bytes(make_lines(7, session_id="another"))
    kept.append(make_line(8, session_id="another"))
    kept.verify()
    [session] = kept.store.list_known(LOCAL)
    assert [(source.generation, source.lines) for source in session.sources] == [(1, 8)]


def test_a_session_that_is_forgotten_does_not_come_back(kept: Kept) -> None:
    kept.append(make_lines(20))
    kept.append(make_line(20))
    [session] = kept.store.list_known(LOCAL)
    kept.store.forget(LOCAL, [session.key])
    kept.append(make_line(21))
    assert list(kept.store.list_known(LOCAL)) == []
    kept.store.delete_tombstones(LOCAL, [session.key])
    kept.append(make_line(22))
    kept.verify()
    [session] = kept.store.list_known(LOCAL)
    assert session.sources[0].lines == 23


def test_a_new_agent_and_its_lines_reach_the_session(kept: Kept) -> None:
    golden = DATA / "transcripts" / "agents-background"
    kept.append(make_lines(20))
    kept.append(make_line(20))
    shutil.copytree(golden, kept.project, dirs_exist_ok=True)
    kept.sync()
    agent = next(kept.project.rglob("agent-*.jsonl"))
    for number in range(3):
        with agent.open("ab") as file:
            file.write(make_line(number, session_id="s-1"))
        kept.sync()
        kept.verify()


def test_only_so_much_is_held_and_not_for_ever(tmp_path: Path) -> None:
    one = Kept(tmp_path / "one")
    one.append(make_lines(20))
    one.store.close()
    kept = Kept(tmp_path / "several", most_bytes=3 * one.cache.weight, idle_seconds=60.0)
    for number in range(5):
        kept.append(make_lines(20, session_id=f"session-{number}"), f"s{number}")
    assert len(kept.cache) == 3
    kept.now = 50.0
    kept.append(make_line(21, session_id="session-4"), "s4")
    assert len(kept.cache) == 2
    kept.now = 100.0
    kept.cache.drop_idle()
    assert len(kept.cache) == 1
    kept.append(make_lines(400, session_id="large"), "large")
    assert len(kept.cache) == 1
    kept.verify()
    kept.store.close()

"""Steps that lead to the tables of today: done once, whole, by one process, and never by an older program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import apsw
import pytest

from turnlog.errors import NewerStoreError, OlderStoreError
from turnlog.store.catalogue.database import Connection, Migration, Steps
from turnlog.store.catalogue.sqlite import SqliteDatabase
from turnlog.store.catalogue.sqlite_engine import SQLITE_STEPS
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_lines

SPAWN = get_context("spawn")
NAMES = [(name,) for name in SQLITE_STEPS.names]


def add_wonders(connection: Connection) -> None:
    connection.execute("CREATE TABLE wonders (name text PRIMARY KEY)")


def take_steps(path: Path, *migrations: Migration) -> None:
    """Make a database as a program makes it that has such steps."""
    with closing(SqliteDatabase(path, Steps(SQLITE_STEPS.subject, migrations))) as database:
        database.make()


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute(query).fetchall()


def read_schema(path: Path) -> dict[object, object]:
    return dict(ask(path, "SELECT name, sql FROM sqlite_schema"))  # type: ignore[arg-type]


def read_folder(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("count", range(len(NAMES) + 1))
def test_every_earlier_version_is_brought_up_to_date(tmp_path: Path, count: int) -> None:
    path, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    take_steps(path, *SQLITE_STEPS.migrations[:count])
    open_store(fresh).close()
    with closing(open_store(path)) as store:
        store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
        assert len(store.list_sessions(LOCAL).sessions) == 1
    assert read_schema(path) == read_schema(fresh)


def test_what_an_earlier_version_kept_stays(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    take_steps(path, SQLITE_STEPS.migrations[0])
    columns = "seq, owner, kind, session, revision, at_ns"
    ask(path, f"INSERT INTO changes ({columns}) VALUES (7, 'local', 'session-added', x'6b', 1, 2)")
    with closing(open_store(path)) as store:
        assert [(entry.seq, entry.session) for entry in store.read_feed(LOCAL, 0).entries] == [(7, "k")]


def test_each_step_is_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    for _ in range(2):
        open_store(path).close()
    assert ask(path, "SELECT name FROM migrations ORDER BY rowid") == NAMES


@pytest.mark.parametrize("is_new", [False, True])
def test_a_step_that_fails_leaves_nothing_and_is_done_the_next_time(tmp_path: Path, is_new: bool) -> None:
    path = tmp_path / "turnlog.db"
    if not is_new:
        open_store(path).close()
    before = read_schema(path)

    def add_wonders_and_fail(connection: Connection) -> None:
        add_wonders(connection)
        raise RuntimeError("the power fails")

    with pytest.raises(RuntimeError):
        take_steps(path, *SQLITE_STEPS.migrations, add_wonders_and_fail)
    assert read_schema(path) == before
    take_steps(path, *SQLITE_STEPS.migrations, add_wonders)
    assert "wonders" in read_schema(path)
    assert ask(path, "SELECT name FROM migrations ORDER BY rowid") == [*NAMES, ("add_wonders",)]


def open_and_say(path: Path, start: Callable[[], object], say: Callable[[object], None]) -> None:
    start()
    with closing(open_store(path)) as store:
        say(store.read_feed(LOCAL).epoch)


def test_several_processes_that_open_a_new_file_make_its_tables_once(tmp_path: Path) -> None:
    for number in range(3):
        path = tmp_path / f"{number}.db"
        barrier, said = SPAWN.Barrier(4), SPAWN.SimpleQueue()
        processes = [SPAWN.Process(target=open_and_say, args=(path, barrier.wait, said.put)) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 4
        assert len({said.get() for _ in processes}) == 1
        assert ask(path, "SELECT name FROM migrations ORDER BY rowid") == NAMES


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_database_is_refused_unharmed(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "turnlog.db"
    with closing(open_store(path)) as store:
        store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
    take_steps(path, *SQLITE_STEPS.migrations, add_wonders)
    path.chmod(0o644)
    before = read_folder(tmp_path)
    with pytest.raises(NewerStoreError, match="add_wonders"):
        open_store(path, read_only=read_only)
    assert read_folder(tmp_path) == before
    assert path.stat().st_mode & 0o777 == 0o644


def test_what_a_newer_program_changed_meanwhile_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    batch = make_batch({"session-1.jsonl": make_lines(3)})
    with closing(open_store(path)) as store:
        take_steps(path, *SQLITE_STEPS.migrations, add_wonders)
        with pytest.raises(NewerStoreError, match="add_wonders"):
            store.apply([batch])
    assert ask(path, "SELECT count(*) FROM sessions") == [(0,)]


def test_an_older_database_is_not_changed_by_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    take_steps(path, SQLITE_STEPS.migrations[0])
    before = path.read_bytes()
    with pytest.raises(OlderStoreError, match="older version"):
        open_store(path, read_only=True)
    assert path.read_bytes() == before


def test_hook_events_are_the_table_of_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    open_store(path).close()
    connection = apsw.Connection(str(path))
    insert = """
    INSERT INTO hook_deliveries (owner, digest, delivery_id, received_ns, session_id, event_name,
        notification_type, tool_name, label, group_name, context, origin, payload)
    VALUES ('local', ?1, ?1, ?2, x'73', ?3, ?4, ?5, ?6, ?7, ?8, x'', x'7b7d')
    """
    connection.execute(insert, (b"1", 1_999_999_999, b"PreToolUse", None, b"Bash", b"ls", b"autonomous", b"{}"))
    connection.execute(insert, (b"2", 2_000_000_000, b"Notification", b"idle_prompt", None, None, None, None))
    connection.execute(insert, (b"3", 3_000_000_000, b"Notification", b"auth_success", None, None, None, None))
    connection.execute(insert, (b"4", 4_000_000_000, b"SessionEnd", None, None, None, None, None))
    columns = [row[1] for row in connection.execute("PRAGMA table_info(hook_events)")]
    expected = "id, session_id, timestamp, event_name, tool_name, label, group_name, context"
    assert ", ".join(columns) == expected
    assert connection.execute("SELECT * FROM hook_events ORDER BY id").fetchall() == [
        (1, "s", 1, "PreToolUse", "Bash", "ls", "autonomous", "{}"),
        (2, "s", 2, "Notification", None, "Notification", "autonomous", None),
    ]
    with pytest.raises(apsw.ConstraintError):
        connection.execute(insert, (b"1", 5, b"Stop", None, None, None, None, None))
    connection.close()


def test_hook_events_of_a_session_are_found_without_looking_at_all(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    open_store(path).close()
    query = "SELECT * FROM hook_events WHERE session_id = 's' ORDER BY timestamp"
    plan = " ".join(str(row[3]) for row in ask(path, f"EXPLAIN QUERY PLAN {query}"))
    assert "SEARCH hook_deliveries USING INDEX" in plan

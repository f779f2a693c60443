from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest
from turnlog.store.sqlite.connection import open_to_write
from turnlog.store.sqlite.migrations import MIGRATIONS, list_missing, migrate

from turnlog.errors import NewerStoreError, OlderStoreError
from turnlog.ingest.pipeline import SyncReport, sync
from turnlog.store.catalogue.sqlite import Options
from turnlog.store.identity import LOCAL
from turnlog.store.interface import find_sessions
from turnlog.store.maintenance import CaredStore
from turnlog.store.opening import open_store
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_lines
from turnlog.transcripts.files.locate import locate_path
from turnlog.transcripts.hooks.deliveries import DeliveryFilter
from turnlog.transcripts.records import LineRecord

KEPT = frozenset(
    {
        "words", "sources", "source_paths", "generations", "checkpoints", "frames", "tail_frames", "changes",
        "sessions", "summaries", "marks", "mark_operations", "hook_deliveries", "machines", "access",
    }
)  # fmt: skip
"""The tables that are not derived, or that lists show."""
DERIVED = ("open_session", "read_usage", "search", "find_sessions")


def make_version(path: Path, count: int) -> None:
    """Make a database as the program made it when it had so many migrations."""
    connection = open_to_write(path, Options())
    migrate(connection, MIGRATIONS[:count])
    connection.close()


def read_schema(path: Path) -> dict[str, str]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    schema = dict(connection.execute("SELECT name, sql FROM sqlite_schema"))
    connection.close()
    return schema


def read_folder(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("count", range(len(MIGRATIONS) + 1))
def test_every_earlier_version_is_brought_up_to_date(tmp_path: Path, count: int) -> None:
    path, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    make_version(path, count)
    open_store(fresh).close()
    store = open_store(path)
    store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
    assert len(store.list_sessions(LOCAL).sessions) == 1
    store.close()
    assert read_schema(path) == read_schema(fresh)


def test_what_an_earlier_version_kept_stays(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    make_version(path, 1)
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO changes VALUES (7, 'local', 'session-added', 'k', 1, 2)")
    connection.close()
    store = open_store(path)
    assert [entry.seq for entry in store.read_feed(LOCAL, 0).entries] == [7]
    store.close()


def make_former(path: Path, source: Path, count: int) -> None:
    """Make a database as it was when there were so many migrations, with the sessions of another one."""
    make_version(path, count)
    connection = apsw.Connection(str(path))
    connection.execute("ATTACH ? AS now", (str(source),))
    list_tables = "SELECT name FROM {}.sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
    tables = [{name for (name,) in connection.execute(list_tables.format(each))} for each in ("main", "now")]
    for table in sorted(KEPT & tables[0] & tables[1]):
        columns, own = (
            [row[1] for row in connection.execute(f"PRAGMA {each}.table_info({table})")]
            for each in ("now", "main")
        )
        names = ", ".join(name for name in columns if name in own)
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM now.{table}")
    # What was derived was another thing then; it follows from the bytes.
    connection.execute(
        "INSERT INTO main.turns (session, idx, revision, prompt) VALUES (1, 0, 1, 0)"
        if count == 3
        else "INSERT INTO main.turns (session, source, idx, revision, prompt) VALUES (1, 0, 0, 1, 0)"
    )
    connection.close()


def write_sessions(folder: Path) -> None:
    for name in ("one", "two"):
        agent = folder / name / "subagents" / "agent-a1.jsonl"
        agent.parent.mkdir(parents=True)
        agent.write_bytes(make_lines(4, session_id=name, agent_id="a1"))
        (folder / f"{name}.jsonl").write_bytes(make_lines(6, session_id=name))


def sync_all(store: CaredStore, place: Path, folder: Path) -> SyncReport:
    return sync(store, place, locate_path(folder).sessions, origin="here", within=[folder], workers=1)


@pytest.mark.parametrize("step", ["group_by_chapter", "keep_segments"])
def test_what_was_derived_otherwise_is_derived_again_by_the_next_sync(tmp_path: Path, step: str) -> None:
    folder = tmp_path / "projects" / "-work"
    write_sessions(folder)
    cold, former = tmp_path / "cold.db", tmp_path / "former.db"
    store = open_store(cold)
    sync_all(store, cold, folder)
    expected = collect_answers(store, LOCAL)
    store.close()
    names = [migration.__name__ for migration in MIGRATIONS]
    make_former(former, cold, names.index(step))
    shutil.rmtree(folder / "two")  # one is there as it was, one is gone
    (folder / "two.jsonl").unlink()
    store = open_store(former)
    meanwhile = collect_answers(store, LOCAL)
    assert meanwhile["read_all"] == expected["read_all"]
    assert [found.derivation for found in store.list_known(LOCAL)] == [0, 0]
    assert {found.row.title for found in find_sessions(store, LOCAL, "")} == {"line 0"}
    assert not any(isinstance(each, LineRecord) for each in meanwhile["open_session"])
    assert store.list_flaws(LOCAL) == []
    report = sync_all(store, former, folder)
    assert (report.sessions, report.rederived, report.gone) == (1, 2, 1)
    after = collect_answers(store, LOCAL)
    for name in DERIVED:
        assert len(after[name]) == len(expected[name]) > 0, name
    assert after["open_session"] == expected["open_session"]
    assert after["read_usage"] == expected["read_usage"]
    assert after["read_all"] == expected["read_all"]
    assert store.list_flaws(LOCAL) == []
    assert sync_all(store, former, folder).rederived == 0
    store.close()


def test_each_step_is_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    for _ in range(2):
        open_store(path).close()
    connection = apsw.Connection(str(path))
    names = [name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY rowid")]
    assert names == [migration.__name__ for migration in MIGRATIONS]
    assert list_missing(connection) == []
    connection.close()


def test_a_step_that_fails_leaves_nothing_and_is_done_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    make_version(path, 1)
    before = read_schema(path)
    connection = open_to_write(path, Options())

    def create_hook_tables(connection: apsw.Connection) -> None:
        MIGRATIONS[1](connection)
        raise RuntimeError("the power fails")

    with pytest.raises(RuntimeError):
        migrate(connection, (MIGRATIONS[0], create_hook_tables))
    connection.close()
    assert read_schema(path) == before
    open_store(path).close()
    assert "hook_deliveries" in read_schema(path)


def test_a_step_that_another_process_did_meanwhile_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    slow = open_to_write(path, Options())
    assert len(list_missing(slow)) == len(MIGRATIONS)
    open_store(path).close()
    migrate(slow)
    assert list_missing(slow) == []
    slow.close()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_database_is_refused_unharmed(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "turnlog.db"
    store = open_store(path)
    store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
    store.close()
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO migrations (name, applied_ns) VALUES ('add_wonders', 1)")
    connection.close()
    path.chmod(0o644)
    before = read_folder(tmp_path)
    with pytest.raises(NewerStoreError, match="add_wonders"):
        open_store(path, read_only=read_only)
    assert read_folder(tmp_path) == before
    assert path.stat().st_mode & 0o777 == 0o644


def test_an_older_database_is_not_changed_by_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    make_version(path, 1)
    before = path.read_bytes()
    with pytest.raises(OlderStoreError, match="older version"):
        open_store(path, read_only=True)
    assert path.read_bytes() == before


def test_hook_events_are_the_table_of_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    open_store(path).close()
    connection = apsw.Connection(str(path))
    insert = """
    INSERT INTO hook_deliveries (owner, delivery_id, received_ns, session_id, event_name, notification_type,
        tool_name, label, group_name, context, payload) VALUES ('local', ?, ?, 's', ?, ?, ?, ?, ?, ?, x'7b7d')
    """
    connection.execute(insert, ("1", 1_999_999_999, "PreToolUse", None, "Bash", "ls", "autonomous", "{}"))
    connection.execute(insert, ("2", 2_000_000_000, "Notification", "idle_prompt", None, None, None, None))
    connection.execute(insert, ("3", 3_000_000_000, "Notification", "auth_success", None, None, None, None))
    connection.execute(insert, ("4", 4_000_000_000, "SessionEnd", None, None, None, None, None))
    columns = [row[1] for row in connection.execute("PRAGMA table_info(hook_events)")]
    expected = "id, session_id, timestamp, event_name, tool_name, label, group_name, context"
    assert ", ".join(columns) == expected
    assert connection.execute("SELECT * FROM hook_events ORDER BY id").fetchall() == [
        (1, "s", 1, "PreToolUse", "Bash", "ls", "autonomous", "{}"),
        (2, "s", 2, "Notification", None, "Notification", "autonomous", None),
    ]
    with pytest.raises(apsw.ConstraintError):
        connection.execute(insert, ("1", 5, "Stop", None, None, None, None, None))
    query = "SELECT * FROM hook_events WHERE session_id = 's' ORDER BY timestamp"
    plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}"))
    assert "hook_deliveries_by_session" in plan
    connection.close()


def test_what_hooks_delivered_before_is_linked_to_its_calls(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    names = [migration.__name__ for migration in MIGRATIONS]
    make_version(path, names.index("link_hooks_to_calls"))
    payloads = {
        "1": b'{"tool_use_id":"toolu_1","agent_id":"a1"}',
        "2": b'{"tool_use_id":7,"agent_id":""}',
        "3": b"\xff no JSON",
    }
    connection = apsw.Connection(str(path))
    for name, payload in payloads.items():
        connection.execute(
            "INSERT INTO hook_deliveries (owner, delivery_id, received_ns, session_id, event_name, payload) "
            "VALUES ('local', ?, 1, 's', 'PreToolUse', ?)",
            (name, payload),
        )
    connection.close()
    store = open_store(path)
    own = DeliveryFilter(session_id="s")
    found = [(each.delivery_id, each.tool_use_id, each.agent_id) for each in store.list_deliveries(LOCAL, own)]
    assert found == [("1", "toolu_1", "a1"), ("2", None, None), ("3", None, None)]
    about = DeliveryFilter(session_id="s", tool_use_ids=["toolu_1"])
    assert [each.delivery_id for each in store.list_deliveries(LOCAL, about)] == ["1"]
    store.close()

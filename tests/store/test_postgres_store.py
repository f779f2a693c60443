"""A store on a server: restarts, many writers at once, months, and views for those who see a part."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
from msgspec.structs import replace

from contracts.people import ADA, BOB, keep_of
from postgres_server import make_archive, make_database, start_server
from turnlog.errors import CursorError, LostStoreError, NewerStoreError, OlderStoreError, StoreError
from turnlog.store.catalogue.schema import UNSEEN, ViewerTerms, list_views
from turnlog.store.interface import MaintainedStore, Store, find_known
from turnlog.store.lists import Cursor, MarkChange, SessionFilter, SessionOrder, encode_cursor
from turnlog.store.model import ARCHIVE_SCHEMA, LOCAL, Place, Scope, ServerPlace, Viewer, Visibility
from turnlog.store.opening import find_holder, open_lease, open_store
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.checks import collect_answers, keep, list_records, read_bytes
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.segments import SEGMENT

FILES = {"session-1.jsonl": make_lines(4)}
SEEN = f"{ARCHIVE_SCHEMA}_seen"
FILE_TEXTS = {"cells", "new_cells", "text_runs", "vocabulary", "search_state"}
"""The tables of search that only a file has."""


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return ServerPlace(make_archive(), tmp_path)


@pytest.fixture
def store(place: ServerPlace) -> Iterator[MaintainedStore]:
    with closing(open_store(place)) as opened:
        yield opened


def execute(address: str, statement: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(address, autocommit=True, options=f"-c search_path={ARCHIVE_SCHEMA},public") as driver:
        cursor = driver.execute(statement.encode(), values or None)
        return list(cursor.fetchall()) if cursor.description else []


def dump(address: str) -> list[tuple[object, ...]]:
    """Return all rows of all tables."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1"
    tables = [str(name) for (name,) in execute(address, query, ARCHIVE_SCHEMA)]
    return [(table, *execute(address, f"SELECT * FROM {table}")) for table in tables]


def deliver(name: str, session_id: str = "session-1", origin: str = "") -> HookDelivery:
    return HookDelivery(
        delivery_id=name,
        received_ns=1_767_312_000_000_000_000,
        payload=b'{"hook_event_name":"Notification","message":"somebody waits"}',
        session_id=session_id,
        event_name="Notification",
        origin=origin,
    )


def grow(store: Store, name: str, count: int) -> str:
    """Bring a session to so many lines, and return its key."""
    return keep(store, {f"{name}.jsonl": make_lines(count, session_id=name)}, session_id=name).key


# Servers that restart, and connections that break.


def test_a_server_that_restarts_between_calls_is_not_noticed(store: MaintainedStore) -> None:
    key = keep(store, FILES).key
    before = collect_answers(store, LOCAL)
    with store.open_session(LOCAL, key), store.open_session(ADA, key):
        pass  # several connections lie idle, all of which break
    start_server().restart()
    assert collect_answers(store, LOCAL) == before
    with store.open_session(LOCAL, key), store.open_session(ADA, key):
        pass
    start_server().restart("immediate")
    grow(store, "session-1", 6)
    assert read_bytes(store, LOCAL, key, 0) == make_lines(6)


def test_a_session_that_is_open_while_the_server_restarts_ends_with_a_sentence(store: MaintainedStore) -> None:
    key = keep(store, FILES).key

    def ask() -> None:
        with store.open_session(LOCAL, key) as session:
            start_server().restart()
            session.count_turns()

    with pytest.raises(LostStoreError, match="cannot be reached"):
        ask()
    with store.open_session(LOCAL, key) as session:
        assert session.count_turns() == 2


def test_batches_are_applied_once_though_the_server_restarts_meanwhile(store: MaintainedStore) -> None:
    begun = Event()

    def restart() -> None:
        begun.wait()
        start_server().restart()

    thread = Thread(target=restart)
    thread.start()
    for count in range(1, 13):
        grow(store, "session-1", count)
        begun.set()
    thread.join()
    known = find_known(store, LOCAL, make_key())
    assert known is not None
    assert known.revision == len(store.read_feed(LOCAL, 0).entries) == 12
    assert store.list_flaws(LOCAL) == []


class CuttingProxy:
    """Stands between programs and the server, and once cuts a connection off when it commits."""

    def __init__(self, folder: Path, target: Path, *, reaches: bool) -> None:
        """Take where it listens, where the server does, and whether the commit still reaches that."""
        self.address = f"postgresql://postgres@/{{}}?host={folder}"
        self.cuts = 0
        self.is_armed = False
        self._reaches = reaches
        self._target = target / ".s.PGSQL.5432"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.fspath(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._passing: list[Thread] = []
        self._accepting = Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        with self._listener:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._accepting.join()
        for each in self._passing:
            each.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._passing.append(Thread(target=self._pass, args=self._listener.accept()[:1], daemon=True))
                self._passing[-1].start()

    def _pass(self, client: socket.socket) -> None:
        """Pass on what either says, until one of them has nothing to say any more."""
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(os.fspath(self._target))
            is_ending = False
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(1 << 16)
                    if source is client and self.is_armed and data.endswith(b"COMMIT\0"):
                        self.is_armed, is_ending = False, True
                        self.cuts += 1
                        if not self._reaches:
                            return
                    elif not data or is_ending:
                        return  # the server says that it has committed
                    (server if source is client else client).sendall(data)


@contextmanager
def cutting(folder: Path, *, reaches: bool) -> Iterator[tuple[CuttingProxy, ServerPlace]]:
    """Yield a proxy, and an archive behind it."""
    server = start_server()
    with closing(CuttingProxy(folder, server.folder, reaches=reaches)) as proxy:
        yield proxy, ServerPlace(proxy.address.format(server.create(server.archive)), folder)


@pytest.mark.parametrize("reaches", [True, False], ids=["committed", "lost"])
def test_what_changes_nothing_twice_is_written_once_though_a_commit_was_lost(
    tmp_path: Path, reaches: bool
) -> None:
    with cutting(tmp_path, reaches=reaches) as (proxy, place), closing(open_store(place)) as store:
        proxy.is_armed = True
        keep(store, FILES)
        assert proxy.cuts == 1
        [known] = store.list_known(LOCAL)
        assert (known.revision, len(store.read_feed(LOCAL, 0).entries)) == (1, 1)
        proxy.is_armed = True
        store.add_deliveries(LOCAL, [deliver("d1")])
        assert (proxy.cuts, store.count_deliveries(LOCAL)) == (2, 1)
        assert len(store.read_feed(LOCAL, 0).entries) == 2


@pytest.mark.parametrize("reaches", [True, False], ids=["committed", "lost"])
def test_for_all_else_it_is_told_that_a_commit_may_or_may_not_have_succeeded(
    tmp_path: Path, reaches: bool
) -> None:
    with cutting(tmp_path, reaches=reaches) as (proxy, place), closing(open_store(place)) as store:
        key = keep(store, FILES).key
        proxy.is_armed = True
        with pytest.raises(LostStoreError, match="may or may not have succeeded"):
            store.mark(LOCAL, [key], MarkChange(starred=True))
        assert proxy.cuts == 1
        [session] = store.list_sessions(LOCAL).sessions
        assert session.marks.starred is reaches


def test_listening_goes_on_when_the_server_restarts(store: MaintainedStore) -> None:
    listener = store.listen()
    assert listener is not None
    with closing(listener):
        assert listener.wait(0)
        start_server().restart()
        while not listener.wait(1):
            pass
        keep(store, FILES)
        assert listener.wait(60)


def test_of_many_threads_all_are_answered(store: MaintainedStore) -> None:
    """There are fewer connections than that."""
    key, count = keep(store, FILES).key, 40
    begun = threading.Barrier(count)

    def ask() -> int:
        begun.wait()
        with store.open_session(LOCAL, key) as session:
            return session.count_turns()

    with ThreadPoolExecutor(count) as pool:
        assert [each.result() for each in [pool.submit(ask) for _ in range(count)]] == [2] * count


# What is there already, and what can't be kept.


def test_a_database_of_a_newer_version_is_refused_and_not_touched(place: ServerPlace) -> None:
    with closing(open_store(place)) as store:
        keep(store, FILES)
        execute(place.address, "INSERT INTO migrations VALUES ('fly_to_the_moon', 1)")
        before = dump(place.address)
        with pytest.raises(NewerStoreError, match="fly_to_the_moon"):
            grow(store, "session-1", 6)
    for read_only in (False, True):
        with pytest.raises(NewerStoreError, match="fly_to_the_moon"):
            open_store(place, read_only=read_only)
    assert dump(place.address) == before


def test_a_step_that_only_adds_does_not_keep_older_programs_out(place: ServerPlace) -> None:
    execute(
        place.address, "INSERT INTO migrations VALUES ('fly_to_the_moon', 1, 1); CREATE TABLE moons (n int)"
    )
    with closing(open_store(place)) as store:
        keep(store, FILES)
    with closing(open_store(place, read_only=True)) as store:
        assert len(list(store.list_known(ADA))) == 0
        assert len(list(store.list_known(LOCAL))) == 1


def test_who_only_reads_makes_no_tables(place: ServerPlace) -> None:
    empty = ServerPlace(make_database(), place.home)
    with pytest.raises(OlderStoreError, match="`turnlog sync` makes them"):
        open_store(empty, read_only=True)
    query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'turnlog%%'"
    assert execute(empty.address, query) == []
    execute(place.address, "DELETE FROM migrations WHERE name = 'create_text_tables'")
    with pytest.raises(OlderStoreError):
        open_store(place, read_only=True)


def test_who_only_reads_does_not_write(place: ServerPlace) -> None:
    with closing(open_store(place)) as store:
        key = keep(store, FILES).key
    with closing(open_store(place, read_only=True)) as reader:
        assert read_bytes(reader, LOCAL, key, 0) == make_lines(4)
        with pytest.raises(StoreError, match="open for reading only"):
            reader.apply([])


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    place = ServerPlace(make_database(), tmp_path)
    execute(place.address, "CREATE TABLE public.sessions (id text); CREATE TABLE public.migrations (name text)")
    execute(place.address, "INSERT INTO public.migrations VALUES ('theirs')")
    with closing(open_store(place)) as store:
        keep(store, FILES)
    assert execute(place.address, "SELECT count(*) FROM public.sessions") == [(0,)]
    assert execute(place.address, "SELECT name FROM public.migrations") == [("theirs",)]


def test_tables_are_made_once_by_all_who_open_a_database_at_once(tmp_path: Path) -> None:
    place = ServerPlace(make_database(), tmp_path)
    with ThreadPoolExecutor(4) as pool:
        for opened in [pool.submit(open_store, place) for _ in range(4)]:
            opened.result().close()
    names = execute(place.address, "SELECT name FROM migrations ORDER BY applied_ns")
    assert names == [("create_tables",), ("create_text_tables",)]


def test_values_that_no_column_can_hold_are_refused_and_what_is_there_stays(store: MaintainedStore) -> None:
    keep(store, FILES)
    before = collect_answers(store, LOCAL)
    files = {"session-2.jsonl": make_lines(2)}
    with pytest.raises(StoreError, match="cannot hold such a value"):
        store.apply([make_batch(files, session_id="session-2", seen_ns=1 << 70)])
    assert collect_answers(store, LOCAL) == before


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d", ""])
def test_names_that_no_column_can_hold_name_nothing(store: MaintainedStore, name: str) -> None:
    keep(store, FILES)
    assert find_known(store, LOCAL, name) is None
    assert list(store.list_known(LOCAL, name)) == []
    assert store.archive.list_generations(LOCAL, name) == []
    assert store.mark(LOCAL, [name], MarkChange(starred=True)) == []
    assert store.set_visibility(LOCAL, [name], Visibility.TEAM) == []
    assert store.forget(LOCAL, [name], dry_run=True).sessions == store.forget(LOCAL, [name]).sessions == 0
    assert store.delete_tombstones(LOCAL, [name]) == 0
    assert store.read_usage(LOCAL).find_answers([name]) == []
    assert store.list_deliveries(LOCAL, DeliveryFilter(delivery_ids=[name], session_id=name)) == []
    with store.open_session(LOCAL, name) as session:
        assert [*session.files] == []
    with pytest.raises(KeyError):
        store.archive.read(LOCAL, Place(name, 0, 0), 1)
    with pytest.raises(StoreError):
        store.rewrite(LOCAL, name, 1, None)


@pytest.mark.parametrize(
    ("order", "value"),
    [
        (SessionOrder.NEWEST, "text"),
        (SessionOrder.NEWEST, 1.5),
        (SessionOrder.TITLE, 5),
        (SessionOrder.COST, "5"),
        (SessionOrder.TOKENS, "a\0b"),
    ],
)
def test_a_cursor_with_a_value_of_another_kind_is_refused(
    store: MaintainedStore, order: SessionOrder, value: str | float
) -> None:
    keep(store, FILES)
    cursor = encode_cursor(Cursor(order, value, make_key()))
    with pytest.raises(CursorError, match=f"a list by {order}"):
        store.list_sessions(LOCAL, order=order, cursor=cursor)


def test_times_that_do_not_fit_into_nanoseconds_do_no_harm(store: MaintainedStore) -> None:
    key, far = keep(store, FILES).key, 1 << 62
    store.add_deliveries(LOCAL, [replace(deliver("d1"), received_ns=far)])
    with store.open_session(LOCAL, key, hooks="session-1") as session:
        assert [action.point.at for action in session.list_actions()][-1] == far // 1000
    for since in (-far, far):
        asked = SessionFilter(since=since, until=since + 1)
        assert store.list_sessions(LOCAL, asked).sessions == ()


def test_who_owns_a_database_needs_no_other_rights(tmp_path: Path) -> None:
    server = start_server()
    server.execute("CREATE ROLE ada LOGIN")
    name = server.create()
    server.execute(f"ALTER DATABASE {name} OWNER TO ada")
    place = ServerPlace(server.address(name).replace("postgres@", "ada@"), tmp_path)
    with closing(open_store(place)) as store:
        key = keep(store, FILES).key
        assert store.list_flaws(LOCAL) == []
        assert store.forget(LOCAL, [key]).scrubbed


def test_a_store_that_is_closed_says_so(place: ServerPlace) -> None:
    store = open_store(place)
    store.close()
    store.close()
    for ask in (
        lambda: store.read_feed(LOCAL),
        lambda: store.apply([]),
        lambda: store.archive.read(LOCAL, Place("x", 0, 0), 1),
    ):
        with pytest.raises(StoreError, match="closed"):
            ask()


# Many writers at once, and readers beside them.

WRITERS = 20
ROUNDS = 3
PROCESS = """
import sys
from pathlib import Path
from turnlog.store.opening import open_store
from turnlog.store.model import ServerPlace
from turnlog.testing.builders import make_lines
from turnlog.testing.checks import keep

address, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = open_store(ServerPlace(address, Path()))
for count in range(1, rounds + 1):
    keep(store, {f"{name}.jsonl": make_lines(count, session_id=name)}, session_id=name)
store.close()
"""


def run_at_once(place: ServerPlace, works: list[Callable[[MaintainedStore], object]]) -> None:
    """Do each in a thread of its own, through a store of its own; what goes wrong in one is raised."""
    stores = [open_store(place) for _ in works]
    begun = threading.Barrier(len(works))

    def run(work: Callable[[MaintainedStore], object], store: MaintainedStore) -> None:
        begun.wait()
        work(store)

    with ThreadPoolExecutor(len(works)) as pool:
        under_way = [pool.submit(run, work, store) for work, store in zip(works, stores, strict=True)]
    for store in stores:
        store.close()
    for each in under_way:
        each.result()


def count_deadlocks(address: str) -> object:
    query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    return execute(address, query)[0][0]


def test_nothing_of_what_many_write_is_lost_and_a_reader_sees_each_change_once_and_in_order(
    place: ServerPlace,
) -> None:
    done = Event()
    seen: list[int] = []

    def follow(reader: MaintainedStore) -> None:
        while True:
            is_last = done.is_set()
            found = reader.read_feed(LOCAL, seen[-1] if seen else 0, 3).entries
            seen.extend(entry.seq for entry in found)
            if is_last and not found:
                return

    def write(store: MaintainedStore, number: int) -> None:
        for count in range(1, ROUNDS + 1):
            grow(store, f"session-{number}", count)
            store.add_deliveries(LOCAL, [deliver(f"d-{number}-{count}", f"hooked-{number}")])

    with closing(open_store(place)) as reader:
        following = Thread(target=follow, args=(reader,))
        following.start()
        try:
            run_at_once(place, [partial(write, number=at) for at in range(WRITERS)])
        finally:
            done.set()
            following.join()
        everything = [entry.seq for entry in reader.read_feed(LOCAL, 0).entries]
        assert seen == everything == sorted(set(everything))
        assert len(everything) == WRITERS * ROUNDS * 2
        for number in range(WRITERS):
            name = f"session-{number}"
            assert read_bytes(reader, LOCAL, make_key(name), 0) == make_lines(ROUNDS, session_id=name)
        assert reader.list_flaws(LOCAL) == []
    assert count_deadlocks(place.address) == 0


def test_writers_of_sessions_that_tell_of_the_same_answers_count_each_once(place: ServerPlace) -> None:
    def write(store: MaintainedStore, number: int) -> None:
        lines = [
            make_line(at, type="assistant", session_id=f"s{number}", message_id=f"m{at}") for at in range(30)
        ]
        for count in (10, 20, 30):
            keep(store, {f"s{number}.jsonl": b"".join(lines[:count])}, session_id=f"s{number}")

    run_at_once(place, [partial(write, number=at) for at in range(8)])
    with closing(open_store(place)) as store:
        usage = store.read_usage(LOCAL)
        assert len(usage.list_answers()) == 30
        assert list_differences(usage, RecountedUsage(store, LOCAL)) == []
        assert store.list_flaws(LOCAL) == []


def test_rules_that_change_while_others_write_hold_for_all(place: ServerPlace) -> None:
    def write(store: MaintainedStore, number: int) -> None:
        for count in range(1, ROUNDS + 1):
            grow(store, f"session-{number}", count)

    def rule(store: MaintainedStore) -> None:
        for visibility in (Visibility.TEAM, Visibility.PRIVATE, None, Visibility.TEAM):
            store.set_rule(LOCAL, "*", visibility)

    run_at_once(place, [rule, *(partial(write, number=at) for at in range(6))])
    with closing(open_store(place)) as store:
        access = store.list_access(LOCAL)
        assert [each.visibility for each in access] == [Visibility.TEAM] * 6
        assert store.list_flaws(LOCAL) == []


def test_of_writers_of_one_session_all_but_one_are_refused(place: ServerPlace, store: MaintainedStore) -> None:
    grow(store, "session-1", 1)
    known = find_known(store, LOCAL, make_key())
    refused: list[StoreError] = []

    def write(own: MaintainedStore, count: int) -> None:
        try:
            own.apply([make_batch({"session-1.jsonl": make_lines(count)}, known=known)])
        except StoreError as error:
            refused.append(error)

    run_at_once(place, [partial(write, count=at + 2) for at in range(4)])
    assert len(refused) == 3
    assert all("another writer was faster" in str(error) for error in refused)
    after = find_known(store, LOCAL, make_key())
    assert after is not None
    assert after.revision == 2
    assert store.list_flaws(LOCAL) == []


def test_writers_of_one_new_session_make_one(place: ServerPlace, store: MaintainedStore) -> None:
    batch = make_batch(FILES)
    run_at_once(place, [lambda own: own.apply([batch]) for _ in range(4)])
    [known] = store.list_known(LOCAL)
    assert (known.revision, len(store.read_feed(LOCAL, 0).entries)) == (1, 1)
    assert read_bytes(store, LOCAL, batch.key, 0) == make_lines(4)


def test_a_delivery_that_comes_to_several_at_once_is_kept_once(
    place: ServerPlace, store: MaintainedStore
) -> None:
    deliveries = [deliver(f"d{number}") for number in range(5)]
    added: list[int] = []
    run_at_once(place, [lambda own: added.append(own.add_deliveries(LOCAL, deliveries)) for _ in range(4)])
    assert sum(added) == store.count_deliveries(LOCAL) == len(store.read_feed(LOCAL, 0).entries) == 5


def test_a_session_that_is_forgotten_while_others_write_it_stays_forgotten(
    place: ServerPlace, store: MaintainedStore
) -> None:
    key = grow(store, "session-1", 1)
    known = find_known(store, LOCAL, key)

    def write(own: MaintainedStore, count: int) -> None:
        with suppress(StoreError):  # somebody was faster
            own.apply([make_batch({"session-1.jsonl": make_lines(count)}, known=known)])
        own.add_deliveries(LOCAL, [deliver(f"d{count}")])

    run_at_once(
        place, [*(partial(write, count=at + 2) for at in range(3)), lambda own: own.forget(LOCAL, [key])]
    )
    assert list(store.list_known(LOCAL)) == []
    assert store.count_deliveries(LOCAL, "session-1") == 0
    assert store.list_flaws(LOCAL) == []


@contextmanager
def feed_locked(place: ServerPlace) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Yield a transaction of a writer that is about to tell of what it has written."""
    with psycopg.connect(place.address, options=f"-c search_path={ARCHIVE_SCHEMA}") as driver:
        driver.execute("SELECT pg_advisory_xact_lock(hashtextextended('turnlog feed', 0))")
        yield driver


def wait_until_blocked(place: ServerPlace) -> None:
    """Wait until somebody waits for a lock in a database."""
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while not execute(place.address, query):
        pass


def test_a_delivery_to_a_session_that_is_forgotten_meanwhile_is_not_kept(
    place: ServerPlace, store: MaintainedStore
) -> None:
    deliveries = [deliver("d1", "session-1"), deliver("d2", "session-2")]
    with ThreadPoolExecutor(1) as pool:
        with feed_locked(place) as driver:
            waiting = pool.submit(store.add_deliveries, LOCAL, deliveries)
            wait_until_blocked(place)
            driver.execute("INSERT INTO tombstones VALUES ('local', 'key', 'session-1', 1, NULL, '')")
        assert waiting.result() == 1
    assert [each.delivery_id for each in store.list_deliveries(LOCAL)] == ["d2"]
    assert [each.session for each in store.read_feed(LOCAL, 0).entries] == ["session-2"]


def test_who_waits_for_another_writer_of_the_session_then_sees_what_that_one_wrote(
    place: ServerPlace, store: MaintainedStore
) -> None:
    batch = keep(store, FILES)
    assert batch.derived is not None
    one, two = (
        replace(
            batch,
            sources=(),
            base_revision=1,
            derived=replace(batch.derived, session=replace(batch.derived.session, title=title)),
        )
        for title in ("one", "two")
    )
    with closing(open_store(place)) as other, ThreadPoolExecutor(2) as pool:
        with feed_locked(place):
            first = pool.submit(store.apply, [one])
            wait_until_blocked(place)
            second = pool.submit(other.apply, [two])
            query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while execute(place.address, query) != [(2,)]:
                pass
        first.result()
        with pytest.raises(StoreError, match="another writer was faster"):
            second.result()
    [session] = store.list_sessions(LOCAL).sessions
    assert (session.revision, session.row.title) == (2, "one")


def test_marks_of_several_processes_come_one_behind_the_other(
    place: ServerPlace, store: MaintainedStore
) -> None:
    key = grow(store, "session-1", 2)

    def mark(own: MaintainedStore, number: int) -> None:
        for at in range(3):
            assert own.mark(LOCAL, [key], MarkChange(tags=(f"t{number}-{at}",)))

    run_at_once(place, [partial(mark, number=number) for number in range(3)])
    assert len(store.list_facets(LOCAL).tags) == 9
    for left in range(8, -1, -1):
        [undone] = store.undo_mark(LOCAL)
        assert len(undone.after.tags) == left
    assert store.undo_mark(LOCAL) == []
    seqs = [entry.seq for entry in store.read_feed(LOCAL, 0).entries]
    assert seqs == sorted(set(seqs))
    assert len(seqs) == 19


def test_processes_write_at_once(place: ServerPlace, store: MaintainedStore) -> None:
    programs = [
        subprocess.Popen([sys.executable, "-c", PROCESS, place.address, f"session-{number}", "3"])
        for number in range(2)
    ]
    assert [program.wait() for program in programs] == [0, 0]
    assert len(store.read_feed(LOCAL, 0).entries) == 6
    assert [known.revision for known in store.list_known(LOCAL)] == [3, 3]


def test_listeners_are_told_of_what_others_write(place: ServerPlace, store: MaintainedStore) -> None:
    with closing(open_store(place)) as other:
        listener = other.listen()
        assert listener is not None
        with closing(listener):
            assert listener.wait(0), "what happened before may have been missed"
            assert not listener.wait(0)
            keep(store, FILES)
            assert listener.wait(60)
            assert not listener.wait(0)
            store.apply([])
            assert not listener.wait(0)


def test_each_machine_has_one_writer_and_others_have_theirs(place: ServerPlace) -> None:
    with open_lease(place, "one", seconds=0.3) as first, open_lease(place, "one") as second:
        assert find_holder(place, "one") is None
        assert first.take()
        assert not second.take()
        assert find_holder(place, "one") == first.holder
        with open_lease(place, "other") as another:
            assert another.take()
        assert first.renew()
        assert second.take(5), "the first one expires"
        assert not first.renew()
        first.release()
        assert find_holder(place, "one") == second.holder, "only one's own can be let go of"
    assert find_holder(place, "one") is None


def test_of_many_who_want_to_write_one_may(place: ServerPlace) -> None:
    leases = [open_lease(place, "one") for _ in range(6)]
    with ThreadPoolExecutor(len(leases)) as pool:
        assert sorted(pool.map(lambda lease: lease.take(), leases)) == [False] * 5 + [True]
    for lease in leases:
        lease.close()


# Months.

MONTHLY = ["frames", "segment_data", "texts"]


def list_months(place: ServerPlace, table: str) -> list[str]:
    query = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass ORDER BY 1"
    return [str(name).removeprefix(f"{table}_") for (name,) in execute(place.address, query, table)]


def set_month(place: ServerPlace, month: int) -> None:
    """Let it be another month, counted from 2000 on."""
    execute(
        place.address,
        "CREATE OR REPLACE FUNCTION month_of(moment timestamptz) RETURNS bigint LANGUAGE sql STABLE "
        f"AS 'SELECT {month}::bigint'",
    )


def name_month(month: int) -> str:
    return f"{2000 + month // 12}{month % 12 + 1:02}"


def test_what_there_is_much_of_lies_in_partitions(place: ServerPlace, store: MaintainedStore) -> None:
    query = (
        "SELECT relname::text FROM pg_class WHERE relkind = 'p' AND relnamespace = %s::regnamespace ORDER BY 1"
    )
    assert [name for (name,) in execute(place.address, query, ARCHIVE_SCHEMA)] == MONTHLY
    [(month,)] = execute(place.address, "SELECT month_of(now())")
    assert isinstance(month, int)
    names = {name_month(month), name_month(month + 1)}
    assert {each for table in MONTHLY for each in list_months(place, table)} == {*names, "hooks"}
    keep(store, FILES)
    assert execute(place.address, "SELECT id >> 36 FROM sources UNION SELECT id >> 36 FROM generations") == [
        (month,)
    ]


def test_a_month_that_is_missing_is_made_and_files_stay_in_theirs(
    place: ServerPlace, store: MaintainedStore
) -> None:
    full = make_line(0, text="x" * 300_000)
    set_month(place, 330)  # July 2027
    first = keep(store, {"session-1.jsonl": full}).key
    set_month(place, 335)
    keep(store, {"session-1.jsonl": full + make_line(1, text="y" * 300_000)})
    keep(store, {"session-2.jsonl": full + full}, session_id="session-2")
    for table in ("frames", "segment_data"):
        months = list_months(place, table)
        assert {"202707", "202708", "202712", "202801"} <= {*months}
    query = "SELECT DISTINCT tableoid::regclass::text, f.generation >> 36 FROM {} AS f ORDER BY 1"
    frames = execute(place.address, query.format("frames"))
    assert frames == [("frames_202707", 330), ("frames_202712", 335)]
    own = "SELECT DISTINCT tableoid::regclass::text FROM texts ORDER BY 1"
    assert execute(place.address, own) == [("texts_202707",), ("texts_202712",)]
    assert read_bytes(store, LOCAL, first, 0) == full + make_line(1, text="y" * 300_000)
    assert len(store.read_feed(LOCAL, 0).entries) == 3
    assert store.list_flaws(LOCAL) == []


def test_writers_that_need_a_new_month_at_once_make_it_once(place: ServerPlace, store: MaintainedStore) -> None:
    set_month(place, 330)
    run_at_once(place, [partial(grow, name=f"session-{at}", count=4) for at in range(6)])
    assert len(list(store.list_known(LOCAL))) == len(store.read_feed(LOCAL, 0).entries) == 6
    assert {"202707", "202708"} <= {*list_months(place, "frames")}
    assert store.list_flaws(LOCAL) == []


@pytest.mark.parametrize("scope", [LOCAL, ADA], ids=["everything", "of a person"])
def test_of_all_months_only_that_of_the_session_is_looked_at(place: ServerPlace, scope: Scope) -> None:
    files = {name: make_line(0, session_id=name, text="x" * 300_000) for name in ("s1", "s2", "s3")}
    with closing(open_store(place)) as store:
        store.save_machine(LOCAL, "here", person="ada")
        for month, (name, line) in zip((330, 332, 334), files.items(), strict=True):
            set_month(place, month)
            keep(store, {f"{name}.jsonl": line}, session_id=name)
    wait_alone(place)
    before = count_scans(place)
    with closing(open_store(place, read_only=True)) as store:
        [known] = [each for each in store.list_known(scope) if each.session_id == "s2"]
        assert list_records(store, scope, known)
        assert read_bytes(store, scope, known.key, 0) == files["s2"]
    wait_alone(place)
    after = count_scans(place)
    scanned = {name for name, count in after.items() if count != before.get(name, 0)}
    assert scanned == {"frames_202709", "segment_data_202709"}


@pytest.mark.parametrize("scope", [LOCAL, ADA], ids=["everything", "of a person"])
def test_of_a_long_session_only_the_window_is_looked_at(place: ServerPlace, scope: Scope) -> None:
    with closing(open_store(place)) as store:
        store.save_machine(LOCAL, "here", person="ada")
        key = keep(store, {"session-1.jsonl": make_lines(20 * SEGMENT)}).key
    wait_alone(place)
    query = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_user_tables"
    query += " WHERE relname ~ '^(segment_data|frames)_2'"
    [(before,)] = execute(place.address, query)
    with closing(open_store(place, read_only=True)) as store, store.open_session(scope, key) as session:
        assert session.main is not None
        window = session.main.list_after(10 * SEGMENT, 20)
        assert len(window) == 20
        session.main.list_calls_of(window)
        assert len(session.main.read_raw(each.lines[0] for each in window)) == 20
    wait_alone(place)
    [(after,)] = execute(place.address, query)
    assert isinstance(before, Decimal)
    assert isinstance(after, Decimal)
    assert 0 < after - before <= 4


def count_scans(place: ServerPlace) -> dict[object, object]:
    query = "SELECT relname::text, seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname ~ %s"
    return dict(execute(place.address, query, "^(frames|segment_data|texts)_2"))  # type: ignore[arg-type]


def wait_alone(place: ServerPlace) -> None:
    """Wait until all connections have ended, and what they did was counted."""
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    query += " AND backend_type = 'client backend'"
    while execute(place.address, query):
        pass


# Views for those who do not see everything.


@pytest.fixture
def shared(store: MaintainedStore) -> MaintainedStore:
    """A store with a session of Ada's and one of Bob's, each with what a hook told."""
    for person in ("ada", "bob"):
        keep_of(store, person, person)
        store.add_deliveries(LOCAL, [deliver(f"d-{person}", person, f"machine-of-{person}")])
    return store


def list_ids(store: MaintainedStore, scope: Scope) -> list[str]:
    return sorted(str(each.row.session_id) for each in store.list_sessions(scope).sessions)


def test_of_every_table_it_is_decided_who_sees_what_is_in_it(place: ServerPlace) -> None:
    open_store(place).close()
    query = """
    SELECT relname::text FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')
    AND NOT relispartition
    """
    tables = {name for (name,) in execute(place.address, query, ARCHIVE_SCHEMA)}
    viewed = {*list_views(ViewerTerms("owner", "person", "team", "key", "tables.", "views."))}
    assert tables == viewed | UNSEEN - FILE_TEXTS
    views = {
        name for (name,) in execute(place.address, "SELECT viewname FROM pg_views WHERE schemaname = %s", SEEN)
    }
    assert views == {*viewed, "hook_events"}


def test_who_does_not_say_who_looks_sees_nothing(shared: MaintainedStore, place: ServerPlace) -> None:
    query = "SELECT viewname::text FROM pg_views WHERE schemaname = %s"
    views = [name for (name,) in execute(place.address, query, SEEN)]
    assert len(views) > 10
    assert [name for name in views if execute(place.address, f"SELECT 1 FROM {SEEN}.{name} LIMIT 1")] == []


def test_who_looked_is_forgotten_with_the_transaction(shared: MaintainedStore) -> None:
    for scope, ids in ((ADA, ["ada"]), (LOCAL, ["ada", "bob"]), (BOB, ["bob"]), (LOCAL, ["ada", "bob"])):
        assert list_ids(shared, scope) == ids
        assert shared.count_deliveries(scope) == len(ids)


@pytest.mark.parametrize("name", ["it's", "a; DROP TABLE sessions", "zero\0", "half\ud800", "", "a\\'b"])
def test_any_name_may_look(shared: MaintainedStore, name: str) -> None:
    assert list_ids(shared, Scope(LOCAL.owner, Viewer(person=name, session=name))) == []
    assert list_ids(shared, ADA) == ["ada"]


def test_views_follow_their_tables(shared: MaintainedStore, place: ServerPlace) -> None:
    execute(place.address, "ALTER TABLE sessions ADD COLUMN mood text")
    with pytest.raises(OlderStoreError):
        open_store(place, read_only=True)
    with closing(open_store(place)) as other:
        assert list_ids(other, ADA) == ["ada"]
    execute(place.address, f"SELECT mood FROM {SEEN}.sessions")
    with closing(open_store(place, read_only=True)) as reader:
        assert list_ids(reader, ADA) == ["ada"]


def test_views_that_are_lost_are_made_again(shared: MaintainedStore, place: ServerPlace) -> None:
    execute(place.address, f"DROP SCHEMA {SEEN} CASCADE")
    with closing(open_store(place)) as other:
        assert list_ids(other, ADA) == ["ada"]
    assert list_ids(shared, BOB) == ["bob"]

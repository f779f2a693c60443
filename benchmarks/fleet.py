"""What does a fleet give: PostgreSQL for what must be true, a bucket for bytes, ClickHouse for what scans?

All of it runs here: PostgreSQL without waiting for the disk, OpenStack Swift as the bucket, ClickHouse's engine
as a server in a process of its own. Real sessions are scaled (`scaled`) and synced, and from these all else is
multiplied within the engines: rows of sums for reports of usage, texts with the files that they are of for
searches. Bytes are not: copies refer to the blobs of what they were copied from.

`--write` puts what was measured into docs/scale.json, from which `scale.py` computes. A missed goal is a
finding, not a failure: the exit status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psycopg
from msgspec import Struct
from msgspec.structs import replace

import scaled
import search
from clickhouse_server import ClickHouseServer
from postgres_server import PostgresServer
from s3_server import S3Server
from turnlog.ingest.pipeline import sync
from turnlog.store.clickhouse import MONTH, TEXTS, USAGE, ClickHouse
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import ARCHIVE_SCHEMA, LOCAL, BlobPlace, IndexPlace, ServerPlace
from turnlog.store.opening import measure_blobs, open_store
from turnlog.store.s3_blobs import S3Blobs
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import SearchOrder
from turnlog.store.usage_report import NO_SLOT, Grouping, UsageQuery, UsageReport, build_report
from turnlog.transcripts import locate_path, locate_sessions
from turnlog.transcripts.queries.threads import decode_lines

RECORD = Path(__file__).parent.parent / "docs" / "scale.json"
ANSWERS = 100_000_000
MESSAGES = 1_000_000
MEGABYTES = 400
"""How much is synced, before it is multiplied."""
ROUNDS = 3
DAYS = 730
"""Over how many days copies are spread."""
DAY_US, DAY_SLOTS = 86_400_000_000, 96
WINDOWS, WINDOW = 200, 100
SEED = 12
APPENDED, APPENDED_LINES = 100, 4
REPORTS = {Grouping.DAILY: 3.5, Grouping.MONTHLY: 3.5, Grouping.MODEL: 3.5, Grouping.PROJECT: None}
GOAL_P50, GOAL_P95, GOAL_REQUESTS = 100.0, 400.0, 2
_AWAY = IndexPlace("clickhouse://127.0.0.1:1/nothing")
_AT_ONCE = 2_000_000
"""How many rows are copied at once, about."""


class Row(Struct, frozen=True):
    """One figure."""

    name: str
    """As docs/scale.json has it."""
    work: str
    value: float
    unit: str
    most: float | None = None
    """What it is to be at most."""

    def __str__(self) -> str:
        value = f"{self.value:,.{0 if self.value >= 1000 else 1 if self.value >= 20 else 2}f}"
        told = (
            ""
            if self.most is None
            else f"at most {self.most:g}: {'met' if self.value <= self.most else 'MISSED'}"
        )
        return f"  {self.work:<52}{value:>16} {self.unit:<6} {told}".rstrip()


class Fleet:
    """The parts that run here."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        """Start them all."""
        self.folder = folder
        self.postgres = PostgresServer()
        stack.callback(self.postgres.remove)
        self.storage = S3Server()
        stack.callback(self.storage.remove)
        self.storage.start()
        self.server = ClickHouseServer(folder / "clickhouse")
        stack.callback(self.server.kill)
        self.server.start()
        self.index = stack.enter_context(closing(ClickHouse(self.server.address)))
        self.team = ServerPlace(self.postgres.address(self.postgres.create()), folder / "team")
        self.place = ServerPlace(
            self.postgres.address(self.postgres.create()),
            folder / "fleet",
            blobs=BlobPlace(self.storage.build_address()),
            index=IndexPlace(self.server.address),
        )

    def measure_index(self, table: str) -> tuple[int, int]:
        """Return how many rows a table of the index has, and how many bytes, when all is merged."""
        self.index.command(f"OPTIMIZE TABLE @{table} FINAL")
        query = (
            "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts "
            "WHERE active AND database = 'turnlog' AND table = {table:String}"
        )
        [(rows, size)] = self.index.query(query, {"table": table})
        return rows, size

    def ask(self, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of a statement on the fleet's archive."""
        path = f"-c search_path={ARCHIVE_SCHEMA}"
        with psycopg.connect(self.place.address, autocommit=True, options=path) as connection:
            cursor = connection.execute(statement.encode())
            return [*cursor.fetchall()] if cursor.description else []

    def count_work(self) -> tuple[int, int, int]:
        """Return how many commits, rows and bytes of its log the database has written so far."""
        # What a session has done is told when it has nothing to do for a while.
        time.sleep(1.5)
        query = """
        SELECT xact_commit, tup_inserted + tup_updated + tup_deleted, pg_current_wal_lsn() - '0/0'
        FROM pg_stat_database WHERE datname = current_database()
        """
        [row] = self.postgres.execute(query, _name(self.place))
        commits, rows, log = (int(str(cell)) for cell in row)
        return commits, rows, log

    def measure_database(self, place: ServerPlace) -> int:
        """Return how many bytes the database of an archive takes."""
        name = _name(place)
        self.postgres.execute("VACUUM (FULL, ANALYZE)", name)
        [(size,)] = self.postgres.execute(f"SELECT pg_database_size('{name}')")
        return int(str(size))


def _name(place: ServerPlace) -> str:
    """Return what the database of an archive is called."""
    return place.address.partition("@/")[2].partition("?")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure a fleet.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--answers", type=int, default=ANSWERS, help="how many reports are of")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="how many are searched")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES, help="how much is synced")
    parser.add_argument("--only", default="", help="measure only groups whose names match this pattern")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    groups: dict[str, Callable[[Fleet], Iterator[Row]]] = {
        "usage": lambda fleet: measure_usage(fleet, options.folder, options.answers),
        "archive": lambda fleet: measure_archive(fleet, paths, options.megabytes, options.messages),
    }
    rows: list[Row] = []
    for group, measure in groups.items():
        if re.search(options.only, group):
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                for row in measure(Fleet(stack, folder)):
                    print(row, flush=True)
                    rows.append(row)
    if options.write:
        figures = {row.name: round(row.value, 3) for row in rows}
        about = {"at": datetime.now(UTC).date().isoformat(), "cores": os.cpu_count() or 1}
        known = msgspec.json.decode(RECORD.read_bytes()) if RECORD.exists() else {}
        found = dict(sorted({**known, **about, **figures}.items()))
        RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    return 0


def measure_usage(fleet: Fleet, folder: Path, answers: int) -> Iterator[Row]:
    """Report what many answers come to, of which there are sums in the index."""
    with closing(open_store(fleet.place)) as store:
        sync(store, fleet.place, locate_path(folder).sessions, origin="bench")
        store.maintain(Maintenance.FILL)
        once = report(store, Grouping.MODEL).total
        copies = max(answers // once.messages - 1, 0)
        multiply_usage(fleet.index, copies)
        rows, size = fleet.measure_index(USAGE.name)
        yield Row("usage_answers", "answers", float(once.messages * (copies + 1)), "")
        yield Row("usage_sessions", "their sessions, a row each in ClickHouse", float(rows), "")
        yield Row("usage_row_bytes", "such a row", size / rows, "bytes")
        for by, goal in REPORTS.items():
            times, spent = [], fleet.server.measure_cpu()
            for _ in range(ROUNDS):
                started = time.perf_counter()
                total = report(store, by).total
                times.append(time.perf_counter() - started)
                assert total.messages == once.messages * (copies + 1), total
                assert total.cost_usd == once.cost_usd * (copies + 1), total
            spent = (fleet.server.measure_cpu() - spent) / ROUNDS
            yield Row(f"usage_{by.value}_s", f"usage by {by.value}", statistics.median(times), "s", goal)
            yield Row(f"usage_{by.value}_cpu_s", "  of which ClickHouse, on one core", spent, "s")


def report(store: MaintainedStore, by: Grouping) -> UsageReport:
    """Return a report as the server builds it."""
    query = UsageQuery(zone=UTC, zone_name="UTC", now=datetime.now(UTC), by=by, most=1000)
    return build_report(store.read_usage(LOCAL), query)


def multiply_usage(index: ClickHouse, copies: int) -> None:
    """Add copies of all sessions' sums, on other days; each has the figures of what it was copied from."""
    day = f"intDiv((copy) * {DAYS}, {copies + 1})"
    changed = {
        "session": "session + copy * most",
        "session_id": "arrayMap(id -> concat(id, '-', toString(copy)), session_id)",
        "slot": f"arrayMap(slot -> if(slot = {NO_SLOT}, slot, slot + {DAY_SLOTS} * {day}), slot)",
        "first": f"arrayMap(time -> time + {DAY_US} * {day}, first)",
        "last": f"arrayMap(time -> time + {DAY_US} * {day}, last)",
    }
    _multiply(
        index, USAGE.name, list(USAGE.columns), changed, "(SELECT max(session) + 1 FROM @usage) AS most", copies
    )


def _multiply(
    index: ClickHouse, table: str, columns: Sequence[str], changed: dict[str, str], given: str, copies: int
) -> None:
    """Add copies of all rows of a table, in pieces."""
    index.command(f"CREATE TABLE @once ENGINE = Memory AS SELECT * FROM @{table} FINAL")
    [(rows,)] = index.query("SELECT count() FROM @once")
    step = max(_AT_ONCE // max(rows, 1), 1)
    listed = ", ".join(f"{changed.get(name, name)} AS new_{name}" for name in columns)
    for first in range(1, copies + 1, step):
        count = min(step, copies + 1 - first)
        index.command(
            f"INSERT INTO @{table} ({', '.join(columns)}) WITH {given} SELECT {listed} FROM @once "
            f"CROSS JOIN (SELECT toInt64(number + {first}) AS copy FROM numbers({count})) AS n"
        )
    index.command("DROP TABLE @once")


def measure_archive(fleet: Fleet, paths: Sequence[Path], megabytes: int, messages: int) -> Iterator[Row]:
    """Sync sessions; look at what that takes, at windows of conversations, and search many messages."""
    home = fleet.folder / "home"
    scaled.lay_out(paths, home, sum(path.stat().st_size for path in paths))
    with closing(open_store(fleet.team)) as team:
        sync(team, fleet.team, locate_sessions([home / ".claude"]).sessions, origin="bench")
        choice, keys = random.Random(SEED), [known.key for known in team.list_known(LOCAL)]
        windows = [_draw_window(team, choice.choice(keys), choice) for _ in range(WINDOWS)]
    raw = scaled.lay_out(paths, home, megabytes * 1_000_000)  # the same, and more
    before = fleet.measure_database(fleet.place)
    yield from _measure_ingest(fleet, home, raw)
    with closing(open_store(fleet.place)) as store:
        count = _count_messages(fleet)
        yield from _measure_storage(fleet, before, count, raw)
        yield from _measure_windows(fleet, windows)
        yield from _measure_appends(fleet, store, home)
        copies = max(-(-messages // count) - 1, 0)
        multiply_files(fleet, copies)
        yield Row("searched_messages", "messages searched", float(count * (copies + 1)), "")
        yield from _measure_search(fleet, store, paths)


def _measure_ingest(fleet: Fleet, home: Path, raw: int) -> Iterator[Row]:
    """Sync all sessions, and then fill the index."""
    megabytes, before, begun = raw / 1e6, _measure_cpu(fleet), fleet.count_work()
    # While the index is away, all else goes on.
    with closing(open_store(replace(fleet.place, index=_AWAY))) as store:
        started = time.perf_counter()
        sync(store, fleet.place, locate_sessions([home / ".claude"]).sessions, origin="bench", workers=0)
        synced = time.perf_counter() - started
    between, written = _measure_cpu(fleet), fleet.count_work()
    with closing(open_store(fleet.place)) as store:
        started = time.perf_counter()
        assert store.maintain(Maintenance.FILL)
        filled = time.perf_counter() - started
    after = _measure_cpu(fleet)
    yield Row("raw_mb", "synced", megabytes, "MB")
    yield Row("ingest_mb_s", "ingest into PostgreSQL and the bucket, one process", megabytes / synced, "MB/s")
    messages = _count_messages(fleet)
    yield Row("ingest_rows", "  rows in PostgreSQL, for each message", (written[1] - begun[1]) / messages, "")
    yield Row("ingest_log_bytes", "  and bytes of its log", (written[2] - begun[2]) / messages, "bytes")
    yield Row("fill_mb_s", "the index filled from that, one process", megabytes / filled, "MB/s")
    for name, what in (("turnlog", "turnlog"), ("postgres", "PostgreSQL"), ("clickhouse", "ClickHouse")):
        one, two = between[name] - before[name], after[name] - between[name]
        yield Row(f"ingest_{name}_cpu_ms", f"  CPU for 1 MB: {what}", one / megabytes * 1000, "ms")
        yield Row(
            f"fill_{name}_cpu_ms", f"  and when the index is filled: {what}", two / megabytes * 1000, "ms"
        )


def _measure_cpu(fleet: Fleet) -> dict[str, float]:
    """Return how many seconds of a core each part has used so far."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    pid = int((fleet.postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return {
        "turnlog": sum(used.ru_utime + used.ru_stime for used in own),
        "postgres": sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"),  # with those that have ended
        "clickhouse": fleet.server.measure_cpu(),
    }


def _count_messages(fleet: Fleet) -> int:
    [(count,)] = fleet.ask("SELECT sum(messages)::bigint FROM segments")
    return int(str(count))


def _measure_storage(fleet: Fleet, before: int, messages: int, raw: int) -> Iterator[Row]:
    [(sessions,)] = fleet.ask("SELECT count(*) FROM sessions")
    database = fleet.measure_database(fleet.place) - before
    texts, text_bytes = fleet.measure_index(TEXTS.name)
    _, usage_bytes = fleet.measure_index(USAGE.name)
    yield Row("messages", "messages", float(messages), "")
    yield Row("sessions", "sessions", float(str(sessions)), "")
    yield Row("message_raw_bytes", "a message, raw", raw / messages, "bytes")
    yield Row("message_database_bytes", "  in PostgreSQL", database / messages, "bytes")
    yield Row("message_blob_bytes", "  in the bucket", measure_blobs(fleet.place) / messages, "bytes")
    yield Row("message_index_bytes", "  in ClickHouse", (text_bytes + usage_bytes) / messages, "bytes")
    yield Row("message_texts", "  texts of it there", texts / messages, "")
    query = """
    SELECT c.relname, sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
    GROUP BY 1 ORDER BY 2 DESC LIMIT 8
    """
    for table, size in fleet.ask(query):
        yield Row(f"table_{table}_bytes", f"    {table}", int(str(size)) / messages, "bytes")


Window = tuple[str, int]
"""A session's key, and which message is the first."""


def _draw_window(store: MaintainedStore, key: str, choice: random.Random) -> Window:
    with store.open_session(LOCAL, key) as session:
        size = 0 if session.main is None else session.main.count_messages
    return key, choice.randrange(max(size - WINDOW, 1))


def _read_window(store: MaintainedStore, window: Window) -> float:
    """Return how many milliseconds it takes to read some messages with their lines."""
    key, first = window
    started = time.perf_counter()
    with store.open_session(LOCAL, key) as session:
        if session.main is not None:
            messages = session.main.list_after(first - 1, WINDOW)
            decode_lines(session.main, (message.lines[0] for message in messages))
    return (time.perf_counter() - started) * 1000


def _measure_windows(fleet: Fleet, windows: Sequence[Window]) -> Iterator[Row]:
    for name, what, place in (("team", "PostgreSQL alone", fleet.team), ("fleet", "a fleet", fleet.place)):
        with closing(open_store(place)) as store:
            times = [_read_window(store, window) for _ in range(2) for window in windows][len(windows) :]
        yield Row(f"window_{name}_p50_ms", f"a window, warm, p50, {what}", statistics.median(times), "ms")
        yield Row(f"window_{name}_p95_ms", "  p95", _find_p95(times), "ms")
    times, requests = [], []
    for window in windows:
        with closing(open_store(fleet.place)) as store, counting_requests() as counted:
            times.append(_read_window(store, window))
            requests.append(counted["get"])
    yield Row("window_cold_p50_ms", "a window, cold, p50", statistics.median(times), "ms")
    yield Row("window_cold_p95_ms", "  p95", _find_p95(times), "ms")
    yield Row("window_requests_p50", "  requests to the bucket, p50", statistics.median(requests), "")
    yield Row("window_requests_p95", "  p95", _find_p95(requests), "")
    yield Row("window_requests_most", "  most", float(max(requests)), "", GOAL_REQUESTS)


@contextmanager
def counting_requests() -> Iterator[Counter[str]]:
    """Count what is asked of the bucket."""
    counted: Counter[str] = Counter()
    get = S3Blobs.get

    def count(blobs: S3Blobs, name: str) -> bytes:
        counted["get"] += 1
        return get(blobs, name)

    S3Blobs.get = count  # type: ignore[method-assign, assignment]
    try:
        yield counted
    finally:
        S3Blobs.get = get  # type: ignore[method-assign]


def _measure_appends(fleet: Fleet, store: MaintainedStore, home: Path) -> Iterator[Row]:
    """Append to some sessions, as machines that push do, and look at what one such write costs."""
    files = sorted(home.rglob("*.jsonl"))[:APPENDED]
    for path in files:  # so that what a machine's first look costs is no part of it
        _append(path, 1)
        sync(store, fleet.place, locate_path(path).sessions, origin="bench", workers=0)
    store.maintain(Maintenance.FILL)
    before, started = fleet.count_work(), time.perf_counter()
    for path in files:
        _append(path, APPENDED_LINES)
        sync(store, fleet.place, locate_path(path).sessions, origin="bench", workers=0)
    seconds, after = time.perf_counter() - started, fleet.count_work()
    commits, rows, log = (two - one for one, two in zip(before, after, strict=True))
    yield Row("write_ms", f"a write of {APPENDED_LINES} lines", seconds / len(files) * 1000, "ms")
    yield Row("write_rows", "  rows in PostgreSQL", rows / len(files), "")
    yield Row("write_commits", "  commits", commits / len(files), "")
    yield Row("write_log_bytes", "  of its log", log / len(files), "bytes")
    started = time.perf_counter()
    store.maintain(Maintenance.FILL)
    yield Row(
        "write_fill_ms", "  until it is searched", (time.perf_counter() - started) / len(files) * 1000, "ms"
    )


def _append(path: Path, count: int) -> None:
    line = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "one line more"}}
    with path.open("ab") as file:
        file.write((msgspec.json.encode(line) + b"\n") * count)


def multiply_files(fleet: Fleet, copies: int) -> None:
    """Add copies of all files: what PostgreSQL knows of them, and their texts, each with a word of its own."""
    numbers = "SELECT id FROM sources UNION ALL SELECT id FROM generations"
    [(sessions, files)] = fleet.ask(
        f"SELECT max(id) + 1, (SELECT max(id) % {MONTH} + 1 FROM ({numbers}) AS f) FROM sessions"
    )
    of_session, of_file = f"copy * {sessions}", f"copy * {files}"
    day = f"(copy * {DAYS} / {copies + 1})"
    changed = {
        "sessions": {
            "id": f"id + {of_session}",
            "key": "key || '-' || copy",
            **{name: f"{name} - {DAY_US} * {day}" for name in ("first_time", "last_time")},
        },
        "sources": {
            "id": f"id + {of_file}",
            "source": "source || '-' || copy",
            "session": f"session + {of_session}",
            "newest": f"newest + {of_file}",
        },
        "generations": {"id": f"id + {of_file}", "source": f"source + {of_file}"},
        **{name: {"generation": f"generation + {of_file}"} for name in ("frames", "tail_frames")},
        **{name: {"source": f"source + {of_file}"} for name in ("segments", "segment_data")},
    }
    statements = ["SET session_replication_role = replica"]  # blobs are not counted
    for table, cells in changed.items():
        names = [str(name) for (name,) in fleet.ask(_COLUMNS.format(table=table))]
        listed = ", ".join(cells.get(name, f"a.{name}") for name in names)
        statements.append(
            f"INSERT INTO {table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE SELECT {listed} "
            f"FROM (SELECT * FROM {table}) AS a CROSS JOIN generate_series(1::bigint, {copies}) AS copy"
        )
    fleet.ask("; ".join(statements))
    fleet.ask("ANALYZE")
    own = "concat('copy', toString(copy))"
    _multiply(
        fleet.index,
        TEXTS.name,
        list(TEXTS.columns),
        {
            "time": f"if(time = 0, 0, time - {DAY_US} * intDiv(copy * {DAYS}, {copies + 1}))",
            "generation": f"generation + {of_file}",
            "words": f"arraySort(arrayPushBack(words, {own}))",
            "counts": "if(empty(counts), counts, "
            f"arraySort((count, word) -> word, arrayPushBack(counts, 1), arrayPushBack(words, {own})))",
        },
        "1 AS one",
        copies,
    )


_COLUMNS = """
SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND attgenerated = ''
"""


def _measure_search(fleet: Fleet, store: MaintainedStore, paths: Sequence[Path]) -> Iterator[Row]:
    questions = [*search.draw_questions([*paths], fleet.folder)]
    store.search(LOCAL, parse_query("warm"))
    taken: dict[str, list[float]] = {}
    slowest: list[tuple[float, str]] = []
    spent, own = fleet.server.measure_cpu(), list[float]()
    for kind, text in questions:
        with counting_requests() as counted:
            started, used = time.perf_counter(), time.process_time()
            hits = len(store.search(LOCAL, parse_query(text)).hits)
            own.append((time.process_time() - used) * 1000)
            taken.setdefault(kind, []).append((time.perf_counter() - started) * 1000)
        slowest.append((taken[kind][-1], f"{kind} {text[:50]!r}, {hits} hits, {counted['get']} requests"))
    spent = (fleet.server.measure_cpu() - spent) / len(questions) * 1000
    every = [each for times in taken.values() for each in times]
    yield Row("search_p50_ms", f"search, {len(every)} questions, p50", statistics.median(every), "ms", GOAL_P50)
    yield Row("search_p95_ms", "  p95", _find_p95(every), "ms", GOAL_P95)
    yield Row("search_clickhouse_cpu_ms", "  of which ClickHouse, on one core, mean", spent, "ms")
    yield Row("search_cpu_p50_ms", "  and turnlog, p50", statistics.median(own), "ms")
    yield Row("search_cpu_p95_ms", "  p95", _find_p95(own), "ms")
    for kind, times in taken.items():
        print(f"    {kind:<14} p50 {statistics.median(times):7.1f} ms, p95 {_find_p95(times):7.1f} ms")
    for milliseconds, what in sorted(slowest, reverse=True)[:8]:
        print(f"    slowest: {milliseconds:7.1f} ms  {what}")
    ranked = []
    for kind, text in questions:
        if kind == "word":
            started = time.perf_counter()
            store.search(LOCAL, parse_query(text), order=SearchOrder.RELEVANCE)
            ranked.append((time.perf_counter() - started) * 1000)
    yield Row("ranked_p50_ms", "by relevance, words, p50", statistics.median(ranked), "ms")
    yield Row("ranked_p95_ms", "  p95", _find_p95(ranked), "ms")


def _find_p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    raise SystemExit(main())

"""What taking in sessions costs on ClickHouse's engine, in this process: what `scale.py` computes from."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from engines import count_messages
from scale import Measured
from search import draw_questions, lay_out
from turnlog.ingest.pipeline import sync
from turnlog.store.care import CaredStore
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.schema import TABLES
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace
from turnlog.store.search.parsing import parse_query
from turnlog.store.usage.report import Grouping
from turnlog.transcripts import locate_sessions
from usage_scaled import measure as measure_usage

__all__ = ["measure"]

COMMITS = 3
"""Of the control database, for a write: begun, committed, finished."""
USAGE_MESSAGES = 10_000_000
DAILY = f"{Grouping.DAILY.value} (UTC)"
SEED = 12
QUESTIONS = 120


def measure(folder: Path) -> Measured:
    """Keep all sessions below a folder, and return what that took."""
    paths = sorted(folder.rglob("*.jsonl"))
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        questions = [text for _, text in draw_questions(paths, work)]
        chosen = random.Random(SEED).sample(questions, min(QUESTIONS, len(questions)))
        raw = lay_out(paths, work / "home", 0)
        place = ServerPlace(f"chdb://{work}/engine", work / "archive")
        with closing(open_store(place)) as store, closing(Engine(place.address)) as engine:
            seconds, cpu = time.perf_counter(), time.process_time()
            sync(store, place, locate_sessions([work / "home"]).sessions, origin="bench", workers=0)
            seconds, cpu = time.perf_counter() - seconds, time.process_time() - cpu
            searches = [_time_search(store, text) for text in chosen]
            messages, sessions = count_messages(store), len(list(store.list_known(LOCAL)))
            inserts = _count_inserts(store, place, work / "home")
            rows = _measure_rows(engine)
        control, empty = _measure_control(place), _measure_empty(work)
        usage = measure_usage(folder, USAGE_MESSAGES)
        return Measured(
            raw_bytes=raw,
            messages=messages,
            sessions=sessions,
            row_bytes=rows,
            blob_bytes=_measure_files(place.home / "blobs"),
            control_bytes=control - empty,
            ingest_cpu_seconds=round(cpu, 2),
            ingest_seconds=round(seconds, 2),
            inserts_per_write=inserts,
            commits_per_write=COMMITS,
            usage_seconds=round(usage[DAILY][0], 3),
            usage_messages=round(usage["answers"][0]),
            usage_cores=os.cpu_count() or 1,
            list_seconds=round(usage["100 newest sessions"][0], 3),
            list_sessions=round(usage["sessions"][0]),
            search_p50_ms=round(statistics.median(searches), 1),
            search_p95_ms=round(statistics.quantiles(searches, n=20)[-1], 1),
            search_messages=messages,
            at=datetime.now(UTC).date().isoformat(),
        )


def _time_search(store: CaredStore, text: str) -> float:
    query = parse_query(text)
    start = time.perf_counter()
    store.search(LOCAL, query)
    return (time.perf_counter() - start) * 1000


def _count_inserts(store: CaredStore, place: ServerPlace, home: Path) -> int:
    """Return how many inserts a line more in one session costs."""
    path = min(home.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    with path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"1","message":{"role":"user","content":"one line more"}}\n')
    assert isinstance(store, ClickHouseStore)
    before = store.inserts
    sync(store, place, locate_sessions([home]).sessions, origin="bench", workers=0)
    return store.inserts - before


def _measure_rows(engine: Engine) -> int:
    """Return how many bytes all tables take once their parts are merged."""
    for (table,) in engine.query("SELECT name FROM system.tables WHERE database = currentDatabase()"):
        if table.decode() in {each.name for each in TABLES}:
            engine.command(f"OPTIMIZE TABLE {table.decode()} FINAL")
    [(size,)] = engine.query(
        "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()"
    )
    return int(size)


def _measure_control(place: ServerPlace) -> int:
    """Return how many bytes the control database of a store takes that is closed."""
    return (place.home / "control.db").stat().st_size


def _measure_empty(work: Path) -> int:
    """Return how many bytes a control database takes before there is anything."""
    place = ServerPlace(f"chdb://{work}/engine?database=empty", work / "empty")
    open_store(place).close()
    return _measure_control(place)


def _measure_files(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
